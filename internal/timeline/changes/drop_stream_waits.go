package changes

import (
	"lacuna/internal/timeline/facts"
	"lacuna/internal/timeline/replay"
)

var dropStreamWaits = Change{
	Name:   "drop-stream-waits",
	Syntax: "drop-stream-waits",
	Title:  "streams that compute no longer wait for one another",
	Doc: `Waits of one compute stream for events of another (cudaStreamWaitEvent, wait_stream) are left out. Kernels
that then run concurrently share the device: each needs the SMs that its blocks fill. Up to the whole device none
slows another; beyond that each runs at 1 / (1 + kappa (sum - 1)) with kappa between 0.25 and 0.95. Waits for copies
and communication stay: data depends on them.`,
	Assumes: "the streams do not depend on each other",
	NotWhen: "a stream uses another's results; torch.profiler records most waits only with enable_cuda_sync_events",
	Example: "drop-stream-waits",
	Apply:   applyDropStreamWaits,
}

func applyDropStreamWaits(e *replay.Edit, arg string) (int, error) {
	computes := computingLanes(e)
	n := 0
	for i := range e.Waits {
		if w := &e.Waits[i]; !w.Dropped && computes[w.Lane] && computes[w.From] {
			w.Dropped = true
			n++
		}
	}
	inferred := 0
	for i := range e.Works {
		w := &e.Works[i]
		if w.Needs >= 0 && w.Kind.IsCompute() && e.Works[w.Needs].Kind.IsCompute() && e.Works[w.Needs].Lane != w.Lane {
			w.Needs = -1
			inferred++
		}
	}
	if n+inferred == 0 {
		return 0, ErrNoMatch
	}
	if inferred > 0 {
		e.Assume("waits between streams are inferred from the start of kernels: the capture does not record which " +
			"stream waits for which")
	}
	e.Assume("concurrent kernels slow each other by a quarter to nearly all of the time that serial execution " +
		"would take")
	e.Contend()
	return n + inferred, nil
}

// computingLanes says of each stream whether it computes, rather than copies or communicates.
func computingLanes(e *replay.Edit) []bool {
	compute, other := make([]int, len(e.Lanes)), make([]int, len(e.Lanes))
	for i := range e.Works {
		switch w := &e.Works[i]; {
		case w.Kind.IsCompute():
			compute[w.Lane]++
		case w.Kind == facts.WorkComm:
			other[w.Lane]++
		}
	}
	out := make([]bool, len(e.Lanes))
	for i := range out {
		out[i] = compute[i] > other[i]
	}
	return out
}
