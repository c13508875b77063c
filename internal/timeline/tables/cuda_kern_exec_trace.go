package tables

import (
	"cmp"
	"slices"

	"lacuna/internal/base/unit"
	"lacuna/internal/timeline/facts"
	"lacuna/internal/timeline/model"
)

var cudaKernExecTrace = Table{
	Name:  "cuda_kern_exec_trace",
	Title: "Every kernel with the call that launched it, by start of the call",
	Doc: `
The rows that cuda_kern_exec_sum sums up: API time is the call's, queue time from the end of the call to the start
of the kernel, nothing if the kernel started before; Total from the start of the call to the later end.

Rows are ordered by the start of the call, then of the kernel.`,
	Origin: "nsys stats cuda_kern_exec_trace",
	Columns: []Column{
		{"API Start", unit.Ns, "start of the call, since time 0 of the capture"},
		{"API Dur", unit.Ns, "duration of the call"},
		{"Queue Start", unit.Ns, "end of the call, if the kernel did not start before it"},
		{"Queue Dur", unit.Ns, "from there to the start of the kernel"},
		{"Kernel Start", unit.Ns, "start of the kernel"},
		{"Kernel Dur", unit.Ns, "duration of the kernel"},
		{"Total Dur", unit.Ns, "from the start of the call to the end of call and kernel"},
		pidColumn, tidColumn, deviceColumn,
		{"API Function", unit.Text, "function that launched the kernel, without version"},
		gridColumn, blockColumn,
		{"Kernel Name", unit.Text, "demangled name of the kernel, or as the argument asks"},
	},
	KernelNames: "Kernel Name",
	Args:        kernelNameArgs,
	Needs:       model.PartKernels | model.PartLaunchConfig | model.PartCalls,
	ArgsNeed:    kernelNamesNeed,
	Fill:        fillCUDAKernExecTrace,
}

func fillCUDAKernExecTrace(in []*facts.Facts, args Args, out *Rows) error {
	f := in[0]
	if err := needLaunches("cuda_kern_exec_trace", f, args); err != nil {
		return err
	}
	t, names := f.Trace, nameKernels(f, args)
	k, c := &t.Kernels, &t.Calls
	type launch struct{ kernel, call int32 }
	var launches []launch
	eachLaunch(f, func(i int, call int32) { launches = append(launches, launch{int32(i), call}) })
	slices.SortFunc(launches, func(a, b launch) int { // rows are sorted by start
		return cmp.Or(cmp.Compare(a.call, b.call), cmp.Compare(a.kernel, b.kernel))
	})
	for _, l := range launches {
		i, call := int(l.kernel), int(l.call)
		var queueStart, queueDur Cell
		if waitNs := k.StartNs[i] - c.EndNs(call); waitNs >= 0 {
			queueStart, queueDur = Int(c.EndNs(call)), Int(waitNs)
		}
		pid, tid := threadCells(t, c.Thread[call])
		out.Add(Int(c.StartNs[call]), Int(c.DurNs[call]), queueStart, queueDur, Int(k.StartNs[i]), Int(k.DurNs[i]),
			Int(max(k.EndNs(i), c.EndNs(call))-c.StartNs[call]), pid, tid, deviceCell(at(k.Device, i, model.NoDevice)),
			Str(apiName(t.Strings.Text(c.Name[call]))), dims(gridOf(k, i)), dims(blockOf(k, i)),
			Str(names.text[names.of[i]]))
	}
	return nil
}
