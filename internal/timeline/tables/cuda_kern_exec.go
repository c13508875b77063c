package tables

import (
	"cmp"
	"slices"
	"sync"

	"lacuna/internal/base/unit"
	"lacuna/internal/timeline/facts"
	"lacuna/internal/timeline/model"
)

var cudaKernExecSum = Table{
	Name:  "cuda_kern_exec_sum",
	Title: "Launch, queue and execution times by thread, device, function and kernel",
	Doc: `
Each kernel with the call that launched it, in three phases: API time is the call's duration, queue time is from
the end of the call to the start of the kernel, kernel time is the kernel's duration. Total is from the
start of the call to the end of the later of the two; phases overlap, so it is not their sum.

A kernel that started before its call returned has no queue time; such kernels count in Count and not in QCount.
A long queue is not bad by itself: it shows that the GPU had work. Kernels without a recorded call are left out.
Where a launch was recorded twice, once inside the other, the kernel counts with each of the two calls.

Rows are ordered by the mean of Total, largest first, then by PID, TID, DevId, API Name and Kernel Name.`,
	Origin: "nsys stats cuda_kern_exec_sum",
	Columns: slices.Concat(
		[]Column{
			pidColumn, tidColumn, deviceColumn,
			{"Count", unit.Count, "kernels"},
			{"QCount", unit.Count, "kernels that did not start before the call returned"},
		},
		phaseColumns("T", "from the start of the call to the end of call and kernel"),
		phaseColumns("A", "duration of the call"),
		phaseColumns("Q", "from the end of the call to the start of the kernel, of the kernels in QCount"),
		phaseColumns("K", "duration of the kernel"),
		[]Column{
			{"API Name", unit.Text, "function that launched the kernel, without version"},
			{"Kernel Name", unit.Text, "demangled name of the kernel, or as the argument asks"},
		},
	),
	KernelNames: "Kernel Name",
	Args:        kernelNameArgs,
	Needs:       model.PartKernels | model.PartCalls,
	ArgsNeed:    kernelNamesNeed,
	Fill:        fillCUDAKernExecSum,
}

var (
	pidColumn    = Column{"PID", unit.ID, "process"}
	tidColumn    = Column{"TID", unit.ID, "host thread"}
	deviceColumn = Column{"DevId", unit.ID, "device that ran the kernel, CUDA ordinal"}
)

func phaseColumns(prefix, what string) []Column {
	return []Column{
		{prefix + "Avg", unit.NsFloat, "mean: " + what},
		{prefix + "Med", unit.NsFloat, "median"},
		{prefix + "Min", unit.Ns, "shortest"},
		{prefix + "Max", unit.Ns, "longest"},
		{prefix + "StdDev", unit.NsFloat, "standard deviation of a sample (n-1); 0 for one"},
	}
}

// phaseCells is the cells of phaseColumns. Without values all but the deviation are absent, as in nsys.
func (s *summary) phaseCells() []Cell {
	if s.count == 0 {
		return []Cell{{}, {}, {}, {}, Float(0)}
	}
	return []Cell{Float(s.mean()), Float(s.median), Int(s.min), Int(s.max), Float(s.deviation)}
}

// threadCells is a host thread's process and thread IDs.
func threadCells(t *model.Trace, row model.ThreadRow) (pid, tid Cell) {
	if int(row) >= len(t.Threads) {
		return
	}
	th := t.Threads[row]
	if int(th.Process) < len(t.Processes) {
		pid = Int(t.Processes[th.Process].Pid)
	}
	return pid, Int(th.Tid)
}

// deviceCell is a device's ordinal.
func deviceCell(ordinal uint32) Cell {
	if ordinal == model.NoDevice {
		return Cell{}
	}
	return Int(ordinal)
}

// needLaunches is nil if there are kernels and calls, and what the arguments need.
func needLaunches(table string, f *facts.Facts, args Args) error {
	if err := needKernels(table, f, args); err != nil {
		return err
	}
	if f.Trace.Calls.StartNs == nil {
		return &MissingError{table, "CUDA or HIP API calls", tryCUDA}
	}
	return nil
}

// eachLaunch visits every kernel with the call that launched it, and with that call's twins.
func eachLaunch(f *facts.Facts, visit func(kernel int, call int32)) {
	twins := f.Twins()
	for i, c := range f.Launches().Kernels {
		if c == facts.NoCall {
			continue
		}
		visit(i, c)
		if twins != nil {
			for _, twin := range twins[c] {
				visit(i, twin)
			}
		}
	}
}

// An execGroup is what a row of cuda_kern_exec_sum is grouped by.
type execGroup struct {
	thread model.ThreadRow
	device uint32
	api    uint32 // number of its name as printed
	kernel uint32 // of the naming
}

func fillCUDAKernExecSum(in []*facts.Facts, args Args, out *Rows) error {
	f := in[0]
	if err := needLaunches("cuda_kern_exec_sum", f, args); err != nil {
		return err
	}
	t, names := f.Trace, nameKernels(f, args)
	k, c := &t.Kernels, &t.Calls
	var groups indexer[execGroup]
	apis := printed{texts: &t.Strings, print: apiName}
	n := k.Len()
	group, queued := make([]uint32, 0, n), make([]uint32, 0, n)
	total, call, queue, kernel := make([]int64, 0, n), make([]int64, 0, n), make([]int64, 0, n), make([]int64, 0, n)
	eachLaunch(f, func(i int, row int32) {
		g := execGroup{c.Thread[row], at(k.Device, i, model.NoDevice), apis.id(c.Name[row]), names.of[i]}
		id := groups.id(g, g.kernel*8+uint32(g.thread))
		waitNs := k.StartNs[i] - c.EndNs(int(row))
		group, queued = append(group, id), append(queued, id)
		if waitNs < 0 {
			queued[len(queued)-1] = noGroup
		}
		total = append(total, max(k.EndNs(i), c.EndNs(int(row)))-c.StartNs[row])
		call, queue, kernel = append(call, c.DurNs[row]), append(queue, waitNs), append(kernel, k.DurNs[i])
	})
	var totals, calls, queues, kernels []summary
	var wait sync.WaitGroup
	wait.Go(func() { totals = summarize(group, total, len(groups.keys)) })
	wait.Go(func() { calls = summarize(group, call, len(groups.keys)) })
	wait.Go(func() { queues = summarize(queued, queue, len(groups.keys)) })
	wait.Go(func() { kernels = summarize(group, kernel, len(groups.keys)) })
	wait.Wait()
	for _, g := range execOrder(t, groups.keys, totals, apis.all(), names) {
		key := groups.keys[g]
		pid, tid := threadCells(t, key.thread)
		out.Add(slices.Concat(
			[]Cell{pid, tid, deviceCell(key.device), Int(totals[g].count), Int(queues[g].count)},
			totals[g].phaseCells(), calls[g].phaseCells(), queues[g].phaseCells(), kernels[g].phaseCells(),
			[]Cell{Str(apis.all()[key.api]), Str(names.text[key.kernel])},
		)...)
	}
	return nil
}

// execOrder is the groups, largest mean total first.
func execOrder(t *model.Trace, keys []execGroup, totals []summary, apis []string, names *naming) []uint32 {
	order := make([]uint32, len(keys))
	for g := range order {
		order[g] = uint32(g)
	}
	slices.SortFunc(order, func(a, b uint32) int {
		x, y := keys[a], keys[b]
		return cmp.Or(cmp.Compare(totals[b].mean(), totals[a].mean()), compareThreads(t, x.thread, y.thread),
			cmp.Compare(x.device, y.device),
			cmp.Compare(apis[x.api], apis[y.api]), names.compare(x.kernel, y.kernel))
	})
	return order
}

// compareThreads orders threads by process ID, then thread ID.
func compareThreads(t *model.Trace, a, b model.ThreadRow) int {
	pa, ta := threadCells(t, a)
	pb, tb := threadCells(t, b)
	return cmp.Or(cmp.Compare(pa.Int, pb.Int), cmp.Compare(ta.Int, tb.Int), cmp.Compare(a, b))
}
