package ncu

import (
	"context"
	"fmt"
	"testing"

	"lacuna/internal/base/golden"
	"lacuna/internal/reader"
)

// BenchmarkRead reads made reports: launches with as many metrics and instances as a full set collects.
func BenchmarkRead(b *testing.B) {
	for _, size := range []shape{{launches: 2, metrics: 2200, instances: 40_000, text: 2 << 20},
		{launches: 200, metrics: 2200, instances: 40_000, text: 2 << 20}} {
		b.Run(fmt.Sprintf("launches=%d", size.launches), func(b *testing.B) {
			data := made(size)
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := reader.OpenProfile(context.Background(), "x.ncu-rep", []*reader.Format{&Format},
					reader.Options{Data: data}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkInstances unpacks every instance of such a report.
func BenchmarkInstances(b *testing.B) {
	r, err := reader.OpenProfile(context.Background(), "x.ncu-rep", []*reader.Format{&Format},
		reader.Options{Data: made(shape{launches: 2, metrics: 2200, instances: 40_000})})
	if err != nil {
		b.Fatal(err)
	}
	n := 0
	for b.Loop() {
		n = 0
		for _, l := range r.Launches {
			for i := range l.Metrics {
				for range l.Metrics[i].Instances() {
					n++
				}
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/instance")
}

// BenchmarkReal reads the largest report of the corpus as it lies.
func BenchmarkReal(b *testing.B) {
	for _, name := range []string{"layernorm", "thread_divergence"} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				open(b, golden.Corpus(b)+"/kernel/"+name+"/report.ncu-rep.zst")
			}
		})
	}
}
