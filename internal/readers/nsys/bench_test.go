package nsys

import (
	"path/filepath"
	"testing"

	"lacuna/internal/reader"
	"lacuna/internal/timeline/model"
	"lacuna/tools/synth"
)

func BenchmarkRead(b *testing.B) {
	const kernels = 200_000
	path := filepath.Join(b.TempDir(), "x.sqlite")
	if err := synth.Nsys(path, kernels); err != nil {
		b.Fatal(err)
	}
	for _, bb := range []struct {
		name string
		need model.Parts
	}{
		{"Kernels", model.PartKernels},
		{"LaunchConfig", model.PartKernels | model.PartLaunchConfig},
		{"Calls", model.PartCalls},
		{"KernelsAndCalls", model.PartKernels | model.PartCalls},
		{"All", 0},
	} {
		b.Run(bb.name, func(b *testing.B) {
			b.ReportAllocs()
			var events int64
			for b.Loop() {
				trace, err := readFile(path, reader.Options{Need: bb.need})
				if err != nil {
					b.Fatal(err)
				}
				events += trace.Info.Events
			}
			b.ReportMetric(float64(events)/b.Elapsed().Seconds(), "events/s")
		})
	}
}
