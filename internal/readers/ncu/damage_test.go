package ncu

import (
	"fmt"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/klauspost/compress/zstd"

	"lacuna/internal/model"
)

// plain is a real report, unpacked.
func plain(t *testing.T) []byte {
	t.Helper()
	packed, err := os.ReadFile(small)
	if err != nil {
		t.Fatal(err)
	}
	z, err := zstd.NewReader(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	data, err := z.DecodeAll(packed, nil)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// Bits that are turned in a real report end in an error or in losses that are told, and never in what cannot be walked.
func TestFlipped(t *testing.T) {
	data := plain(t)
	rng := rand.New(rand.NewPCG(1, 2))
	read := 0
	for i := range 40 {
		bad := append([]byte(nil), data...)
		for range 40 {
			bad[rng.IntN(len(bad))] ^= 1 << rng.IntN(8)
		}
		if i%2 == 0 { // in the text of the module nothing is noticed: turn where the structure is
			for range 10 {
				bad[rng.IntN(4096)] ^= 1 << rng.IntN(8)
			}
		}
		r, err := read1(bad)
		if err != nil {
			continue
		}
		read++
		walk(t, r)
	}
	if read == 0 {
		t.Error("no damaged report was read")
	}
}

// A real report that is cut off gives the launches before the cut and says where that is.
func TestCutReal(t *testing.T) {
	data := plain(t)
	for i := range 11 {
		t.Run(fmt.Sprintf("%d of 11", i), func(t *testing.T) {
			r, err := read1(data[:len(data)*i/11])
			if err != nil {
				return
			}
			walk(t, r)
			if r.Losses.Count(model.LossTruncated) != 1 || len(r.Warnings) == 0 {
				t.Errorf("%d launches, losses %v, warnings %q", len(r.Launches), r.Losses.All(), r.Warnings)
			}
		})
	}
	packed, err := os.ReadFile(small)
	if err != nil {
		t.Fatal(err)
	}
	r, err := read1(packed[:len(packed)*99/100])
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Launches) == 0 || r.Losses.Count(model.LossTruncated) != 1 {
		t.Errorf("a packed report that is cut: %d launches, losses %v", len(r.Launches), r.Losses.All())
	}
}
