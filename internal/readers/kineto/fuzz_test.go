package kineto

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"lacuna/internal/base/golden"
	"lacuna/internal/reader"
	"lacuna/internal/timeline/evtext"
	"lacuna/internal/timeline/model"
)

// captures is the traces of testdata, unpacked, by name.
func captures(t testing.TB) map[string][]byte {
	t.Helper()
	paths, _ := filepath.Glob("testdata/*.json.gz")
	if len(paths) == 0 {
		t.Fatal("no captures in testdata")
	}
	out := make(map[string][]byte)
	for _, path := range paths {
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		z, err := gzip.NewReader(f)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(z)
		if err != nil {
			t.Fatal(err)
		}
		out[strings.TrimSuffix(filepath.Base(path), ".json.gz")] = text
	}
	return out
}

// What is read of each small capture is kept as text, for a reviewer to read.
func TestCaptures(t *testing.T) {
	for name, text := range captures(t) {
		t.Run(name, func(t *testing.T) {
			trace, err := openBlocks(t, text, blockBytes)
			if err != nil {
				t.Fatal(err)
			}
			var out strings.Builder
			if err := evtext.Write(&out, trace); err != nil {
				t.Fatal(err)
			}
			golden.File(t, "testdata/"+name+".txt", out.String())
		})
	}
}

// Any bytes are read without a panic, within the model's promises, with memory in proportion.
func FuzzRead(f *testing.F) {
	for _, text := range captures(f) {
		f.Add(text[:min(len(text), 6000)], uint16(500))
	}
	f.Add(file(launch, kernel), uint16(20))
	f.Add([]byte(`[`+kernel+`,`+launch+`]`), uint16(1))
	f.Add([]byte(`{"traceEvents":[{"a":[}, {"ph":"X"}, [{"ph":"M","name":"process_name","args":{"name":"x"}}], "}, {\""]}`), uint16(3))
	f.Add([]byte(`{"traceEvents":[],"deviceProperties":[{}],"distributedInfo":{"rank":-1},"INFO":["a"],"traceEvents":[5]}`), uint16(3))
	f.Fuzz(func(t *testing.T, text []byte, block uint16) {
		size := int(block)%5000 + 1
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		in := stream{bytes.NewReader(text), "fuzz.json", int64(len(text)), func() int64 { return int64(len(text)) }}
		trace, err := readStream(context.Background(), in, reader.Options{}, size)
		runtime.ReadMemStats(&after)
		if used, most := after.TotalAlloc-before.TotalAlloc, uint64(4<<20+1000*len(text)); used > most {
			t.Errorf("%d bytes allocated for %d bytes of input", used, len(text))
		}
		if err != nil {
			return
		}
		check(t, trace)
		in.Reader = bytes.NewReader(text)
		kernels, err := readStream(context.Background(), in, reader.Options{Need: model.PartKernels}, 1<<20)
		// What is passed over is looked at less closely: with broken events, the two may differ.
		if trace.Losses.Count(model.LossTruncated)+trace.Losses.Count(model.LossBadEvent) > 0 {
			return
		}
		if err != nil || kernels.Kernels.Len() != trace.Kernels.Len() {
			t.Fatalf("read as a whole %d kernels; kernels alone: %v", trace.Kernels.Len(), err)
		}
		check(t, kernels)
	})
}
