package kernelreport

import (
	"fmt"

	"lacuna/internal/kernel/profile"
	"lacuna/internal/runs/measure"
)

// Measures is what a kernel report says of a run, in the names of package measure: each kernel's duration in every one
// of its launches, and the counters that a gate looks at in the launch of median time.
func Measures(p *profile.Report) (*measure.Run, error) {
	r, err := Build([]*profile.Report{p}, Options{Launch: -1})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p.Path, err)
	}
	run := &measure.Run{Name: p.Path, Program: p.Session.Executable, Started: p.Session.Created, Tool: p.Tool,
		Profile: p.Path,
		Machine: measure.Machine{Host: p.Session.Target.Name, GPU: r.Device.Name, GPUs: 1}}
	for _, v := range p.Session.Versions {
		switch v.Name {
		case "CUDA Version":
			run.Machine.CUDA = v.Value
		case "Display Driver Version":
			run.Machine.Driver = v.Value
		}
	}
	names := make(map[string]int)
	for i := range r.Kernels {
		k := &r.Kernels[i]
		name := "kernel:" + k.Name
		if names[name]++; names[name] > 1 { // another size of the same function
			name = fmt.Sprintf("%s grid %v block %v", name, k.Grid, k.Block)
		}
		addKernel(run, name, k, p)
	}
	run.Sort()
	return run, nil
}

func addKernel(run *measure.Run, name string, k *Kernel, p *profile.Report) {
	add := func(what, unit string, better measure.Better, samples ...float64) {
		if len(samples) > 0 {
			run.Measures = append(run.Measures, measure.Measure{Name: name + what, Unit: unit, Better: better,
				Samples: samples})
		}
	}
	one := func(what, unit string, better measure.Better, x *float64) {
		if x != nil {
			add(what, unit, better, *x)
		}
	}
	launches := make(map[int]*profile.Launch)
	for _, l := range p.Launches {
		launches[l.ID] = l
	}
	var us []float64
	for _, id := range k.Launches {
		if ns, ok := launches[id].Number("gpu__time_duration.sum"); ok {
			us = append(us, ns/1000)
		}
	}
	add(":duration", "us", measure.Lower, us...)
	l := launches[k.Launch]
	counter := func(what, unit string, better measure.Better, sum ...string) {
		total, any := 0.0, false
		for _, m := range sum {
			if x, ok := l.Number(m); ok {
				total, any = total+x, true
			}
		}
		if any {
			add(what, unit, better, total)
		}
	}
	counter(":registers", "count", measure.Neither, "launch__registers_per_thread")
	counter(":spills", "count", measure.Lower, "sass__inst_executed_register_spilling")
	counter(":dram_bytes", "bytes", measure.Lower, "dram__bytes_read.sum", "dram__bytes_write.sum")
	if k.Occupancy != nil {
		one(":occupancy", "%", measure.Higher, k.Occupancy.AchievedPct)
		one(":occupancy_theoretical", "%", measure.Higher, k.Occupancy.TheoreticalPct)
	}
	if k.SOL != nil {
		one(":sm", "%", measure.Higher, k.SOL.SMPct)
		one(":memory", "%", measure.Higher, k.SOL.MemoryPct)
	}
}
