package rules

import (
	"fmt"

	"lacuna/internal/timeline/facts"
)

var graphCapture = Rule{
	ID:       "graph_capture",
	Title:    "Graph capture: the program records launches into a graph, and the GPU waits",
	Since:    "0.2",
	Standing: CostsElse,
	Needs:    []Need{needWork, needCalls},
	Doc: `
Between cudaStreamBeginCapture and cudaStreamEndCapture (or HIP's) a thread's launches are put into a graph and run
nothing. Servers and torch.compile(mode="reduce-overhead") do that once for each shape, before they serve or train. A
profile of it shows the making of the graph, not its work: the GPU is idle, and hundreds of launches have no kernels.

The rule counts the time in which the GPU has nothing queued while the thread that feeds it captures. It must be 10 % of
the step and a millisecond. Nothing of it is then laid to launching (launch_bound) or to host work (host_bound).`,
	Limits: `
Graphs that are built node by node (cudaGraphAddKernelNode) are not seen. Work that other threads launch meanwhile goes
on.`,
	Fix: `
To see what the graph does, record runs of it, not its capture: let the program warm up, then start the profiler.

    for _ in range(10): step()                 # captures and warms up
    torch.cuda.profiler.start()                # nsys profile --capture-range=cudaProfilerApi

Where the capture itself takes too long: capture fewer shapes (pad to a few), and keep the graphs.`,
	FixC:      `Capture once per shape before the loop; change what differs by cudaGraphExecUpdate.`,
	Confirm:   `The new profile holds graph launches and no capture.`,
	RefutedBy: `The same captures stand in the middle of a run: then it is recompilation.`,
	Check:     checkGraphCapture,
}

func checkGraphCapture(c *Case, out *Findings) {
	captures, s := c.Facts.GraphCaptures(), c.starved()
	if len(captures) == 0 {
		return
	}
	idle := c.newTally()
	for _, gaps := range s.gaps {
		for _, g := range gaps {
			for _, x := range captures[g.Thread].Clip(g.Span) {
				idle.add(x.StartNs, float64(x.LenNs())/s.devices)
			}
		}
	}
	if idle.perStep() < max(minUnnamedShare*c.StepNs, facts.LongCallNs) {
		return
	}
	n := 0
	for _, set := range captures {
		n += len(set)
	}
	f := out.Add(0.9, idle.perStep(), "The GPU waits %s of %s per step while the host captures %s", ms(idle.perStep()),
		ms(c.StepNs), several(float64(n), "graph", "graphs"))
	f.Because(fmt.Sprintf("%s are put into a graph and run nothing: this is the making of the graph, not its work",
		several(float64(len(c.Facts.CapturedLaunches())), "kernel launch", "kernel launches")))
}
