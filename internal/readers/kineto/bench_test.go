package kineto

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"lacuna/internal/reader"
	"lacuna/internal/timeline/model"
	"lacuna/tools/synth"
)

// synthetic is a generated trace of about size bytes.
func synthetic(tb testing.TB, size int64) []byte {
	var text bytes.Buffer
	if err := synth.Kineto(&text, size); err != nil {
		tb.Fatal(err)
	}
	return text.Bytes()
}

func TestSynthetic(t *testing.T) {
	path := filepath.Join(t.TempDir(), "trace.json")
	if err := os.WriteFile(path, synthetic(t, 5<<20), 0o644); err != nil {
		t.Fatal(err)
	}
	trace := open(t, path, 0)
	if n := trace.Kernels.Len(); n < 1000 || n != trace.Ops.Len() || n != trace.Calls.Len() {
		t.Errorf("%d kernels, %d calls, %d ops", n, trace.Calls.Len(), trace.Ops.Len())
	}
	if losses := trace.Losses.All(); len(losses) > 0 || len(trace.Warnings) > 0 {
		t.Errorf("%v %v", losses, trace.Warnings)
	}
}

var benchParts = []struct {
	name string
	need model.Parts
}{{"kernels", model.PartKernels}, {"all", 0}}

// BenchmarkRead reads a whole file with as many parsers as there are cores.
func BenchmarkRead(b *testing.B) {
	text := synthetic(b, 128<<20)
	path := filepath.Join(b.TempDir(), "trace.json")
	if err := os.WriteFile(path, text, 0o644); err != nil {
		b.Fatal(err)
	}
	for _, parts := range benchParts {
		b.Run("parts="+parts.name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := reader.Open(context.Background(), path, []*reader.Format{&Format},
					reader.Options{Need: parts.need}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkParser is one parser on one core, without reading, merging and sorting.
func BenchmarkParser(b *testing.B) {
	text := synthetic(b, 32<<20)
	text = text[bytes.Index(text, []byte(`"traceEvents": [`))+len(`"traceEvents": [`):]
	for _, parts := range benchParts {
		b.Run("parts="+parts.name, func(b *testing.B) {
			p, out := newParser(0, newWant(reader.Options{Need: parts.need})), &part{}
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				if end := p.run(text, 0, out); end.state != closed {
					b.Fatal(end)
				}
			}
		})
	}
}
