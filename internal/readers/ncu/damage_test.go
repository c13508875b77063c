package ncu

import (
	"math/rand/v2"
	"os"
	"testing"

	"github.com/klauspost/compress/zstd"

	"lacuna/internal/timeline/model"
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

// A packed report that is cut off gives what could be unpacked.
func TestCutPacked(t *testing.T) {
	z, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	packed := z.EncodeAll(made(shape{launches: 40, metrics: 200, instances: 4000, text: 1000}), nil)
	part := 0
	for i := range 50 {
		r, err := read1(packed[:len(packed)*(50+i)/100])
		if err != nil {
			continue
		}
		if r.Losses.Count(model.LossTruncated) != 1 || len(r.Warnings) == 0 {
			t.Errorf("%d launches, losses %v, warnings %q", len(r.Launches), r.Losses.All(), r.Warnings)
		}
		if n := len(r.Launches); n > 0 && n < 40 {
			part++
		}
		walk(t, r)
	}
	if part == 0 {
		t.Error("no cut gave a part of the launches")
	}
}
