package facts

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"lacuna/internal/timeline/model"
)

// Thresholds of what is worth a sentence.
const (
	noticeShare   = 0.01    // of launches or work; fewer are the edge of the capture
	noticeEarlyNs = 100_000 // clocks that disagree by less do not move a budget
	apartNs       = 1e6     // a launch into an idle device starts within microseconds
)

// Warnings says in sentences for people what of Trust is worth knowing.
func (tr *Trust) Warnings(info *model.Info) []string {
	var out []string
	add := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	share := func(n, of int) float64 { return float64(n) / float64(max(of, 1)) }
	either := func(n int, one, more string) string {
		if n == 1 {
			return one
		}
		return more
	}
	if tr.NoCalls {
		add("no CUDA or HIP calls were recorded: which thread launched the GPU work, and why the GPU was idle, is " +
			"unknown")
	}
	if tr.WindowsApart {
		add("GPU work and host calls do not overlap in time: their clocks do not agree (kineto#996); idle time by " +
			"host is meaningless here")
	}
	if n := tr.LaunchedBefore; !tr.NoCalls && share(n, tr.Work) > noticeShare {
		add("%d of %d GPU operations %s no launch record (launched before the capture began)", n, tr.Work,
			either(n, "has", "have"))
	}
	if n := tr.WithoutCall - tr.LaunchedBefore; !tr.NoCalls && share(n, tr.Work) > noticeShare {
		add("%d of %d GPU operations %s no launching call: why the GPU was idle before them is unknown", n, tr.Work,
			either(n, "has", "have"))
	}
	if n := tr.StillQueued; share(n, tr.Launches) > noticeShare {
		add("the last %d of %d launches have no recorded work: it ran after the end of the capture, or was lost", n,
			tr.Launches)
	}
	if n := tr.WithoutWork; share(n, tr.Launches) > noticeShare {
		text := fmt.Sprintf("%d of %d launches %s no recorded GPU work", n, tr.Launches, either(n, "has", "have"))
		if tr.HeadWithoutWork > n/2 && cuptiBefore(info, 13, 1) {
			text += fmt.Sprintf("; %d of them at the very beginning, as when CUPTI before 13.1 loses the first "+
				"kernels (pytorch#192021)", tr.HeadWithoutWork)
		}
		out = append(out, text+": GPU time is missing, and idle time is overestimated by as much")
	}
	if n := tr.GraphsWhole; n > 0 {
		add("%d %s recorded at graph level: they count as compute, and gaps inside them cannot be seen; lacuna record "+
			"--cuda-graph=node and nsys profile --cuda-graph-trace=node show them",
			n, either(n, "run of a CUDA graph was", "runs of CUDA graphs were"))
	}
	if n := tr.GraphsUneven; n > 0 {
		add("%d %s fewer recorded kernels than other launches of the same graph: idle time there is unreliable", n,
			either(n, "CUDA graph launch has", "CUDA graph launches have"))
	}
	for _, device := range slices.Sorted(maps.Keys(tr.ClockShifts)) {
		ns := tr.ClockShifts[device]
		how := "behind"
		if ns < 0 {
			how = "ahead of"
		}
		add("the clock of GPU %d is at least %.3f ms %s the host's, as the capture's own calls show: its work is moved by "+
			"so much here (not in tables of lacuna stats)", device, math.Abs(float64(ns))/1e6, how)
	}
	if n := tr.StartBeforeLaunch; n > 0 && tr.WorstEarlyNs > noticeEarlyNs {
		add("%d %s before the launching call does, by up to %.3f ms: the clocks of host and GPU disagree by that much",
			n, either(n, "GPU operation starts", "GPU operations start"), float64(tr.WorstEarlyNs)/1e6)
	}
	if n := tr.Duplicates; n > 0 {
		add("%d %s a correlation ID with an earlier call: work is given to the first", n,
			either(n, "call shares", "calls share"))
	}
	return out
}

// cuptiBefore says whether the capture was made by a CUPTI older than major.minor, or may have been.
// Kineto writes CUPTI's API version: 28 for CUDA 12.9, from 13 on major*10000 + minor*100 + patch.
func cuptiBefore(info *model.Info, major, minor int) bool {
	switch {
	case info.CUPTI >= 10_000:
		return info.CUPTI < major*10_000+minor*100
	case info.CUPTI > 0:
		return true
	case info.Runtime > 0:
		return info.Runtime < major*1000+minor*10
	}
	return true
}
