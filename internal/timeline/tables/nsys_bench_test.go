package tables

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"lacuna/internal/timeline/facts"
	"lacuna/internal/timeline/model"
)

// synthetic is a capture of n kernels with twice as many calls, on two threads and devices, in ranges of
// two levels, as NVIDIA's tables see captures of training loops.
func synthetic(n int) *model.Trace {
	t := &model.Trace{Processes: make([]model.Process, 1), Threads: make([]model.Thread, 2)}
	random := rand.New(rand.NewPCG(9, 10))
	var kernels, apis, ranges []model.StringID
	for i := range 60 {
		kernels = append(kernels, t.Strings.Intern(fmt.Sprintf("void kernel_%d<float, (int)4>(float *)", i)))
	}
	for _, name := range []string{"cudaLaunchKernel_v7000", "cuLaunchKernel", "cudaMemcpyAsync_v3020"} {
		apis = append(apis, t.Strings.Intern(name))
	}
	for i := range 200 {
		ranges = append(ranges, t.Strings.Intern(fmt.Sprintf("aten::op_%d", i)))
	}
	k, c, r := &t.Kernels, &t.Calls, &t.Ranges
	for i := range n {
		start, thread := int64(i)*5000, model.ThreadRow(i%2)
		if i%8 < 2 {
			addRange(r, start-20, 8*5000-1000, thread, ranges[i/8%len(ranges)])
		}
		addRange(r, start-10, 4000, thread, ranges[i%len(ranges)])
		for j := range int64(2) {
			c.StartNs = append(c.StartNs, start+1500*j)
			c.DurNs = append(c.DurNs, 500+random.Int64N(800))
			c.Thread = append(c.Thread, thread)
			c.Name = append(c.Name, apis[random.IntN(len(apis))])
			c.Corr = append(c.Corr, uint32(2*i)+uint32(j)+1)
		}
		k.StartNs = append(k.StartNs, start+1000+random.Int64N(50_000))
		k.DurNs = append(k.DurNs, 1000+random.Int64N(9000))
		k.Device = append(k.Device, uint32(thread))
		k.Process = append(k.Process, 0)
		k.Corr = append(k.Corr, uint32(2*i)+1)
		k.Name = append(k.Name, kernels[random.IntN(len(kernels))])
	}
	t.Finish()
	return t
}

func addRange(r *model.Ranges, startNs, durNs int64, thread model.ThreadRow, name model.StringID) {
	r.StartNs, r.DurNs = append(r.StartNs, startNs), append(r.DurNs, durNs)
	r.Thread, r.Name = append(r.Thread, thread), append(r.Name, name)
	r.Kind = append(r.Kind, model.RangePushPop)
}

// BenchmarkFill is every part of a table but reading and printing: facts are computed anew each time.
func BenchmarkFill(b *testing.B) {
	for _, n := range []int{160_000, 1_600_000} {
		trace := synthetic(n)
		for _, table := range []*Table{&cudaGPUKernSum, &cudaAPISum, &cudaKernExecSum, &nvtxSum, &nvtxGPUProjSum,
			&nvtxKernSum} {
			b.Run(fmt.Sprintf("table=%s/kernels=%d", table.Name, n), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					out := &Rows{Columns: table.Columns}
					if err := table.Fill([]*facts.Facts{facts.Of(trace)}, nil, out); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "kernels/s")
			})
		}
	}
}
