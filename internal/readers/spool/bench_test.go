package spool

import (
	"runtime"
	"testing"

	raw "lacuna/internal/capture/spool"
	"lacuna/internal/reader"
	"lacuna/internal/timeline/model"
)

// many is a capture of n kernels and 2n calls, of which half are the driver's inside the runtime's.
func many(b testing.TB, n int) []byte {
	l := newLoop(b, 40, nil)
	names := []raw.Text{l.Text(gemm), l.Text("triton_poi_fused_add_0"), l.Text("_Z6reducePf")}
	outer, inner := l.Text("cudaLaunchKernel_v7000"), l.Text("cuLaunchKernel")
	for i := range n {
		at, corr := int64(i)*10_000, uint32(i+1)
		l.row(raw.Call{Start: l.gpu(at + 100), End: l.gpu(at + 4000), Tid: 40, Corr: corr, Name: inner, Driver: 1},
			raw.Call{Start: l.gpu(at), End: l.gpu(at + 5000), Tid: 40, Corr: corr, Name: outer})
		l.row(raw.Kernel{Start: l.gpu(at + 6000), End: l.gpu(at + 15000), Context: 1, Stream: 7, Corr: corr,
			Name: names[i%3], GridX: 1, BlockX: 32})
	}
	return l.end()
}

func BenchmarkRead(b *testing.B) {
	const kernels = 200_000
	file := many(b, kernels)
	for _, bb := range []struct {
		name string
		need model.Parts
	}{{"kernels", model.PartKernels}, {"calls", model.PartCalls}, {"all", 0}} {
		b.Run("need="+bb.name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(file)))
			for b.Loop() {
				if _, err := tryRead(file, reader.Options{Need: bb.need}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(3*kernels*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
		})
	}
}

// TestMemory reads a large capture: what is allocated is a small multiple of the rows' own bytes.
func TestMemory(t *testing.T) {
	const kernels = 100_000
	file := many(t, kernels)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := tryRead(file, reader.Options{}); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if plain := uint64(kernels * (119 + 2*33)); after.TotalAlloc-before.TotalAlloc > 8*plain {
		t.Errorf("%d bytes allocated for %d bytes of rows", after.TotalAlloc-before.TotalAlloc, plain)
	}
}
