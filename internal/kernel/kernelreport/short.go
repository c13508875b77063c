package kernelreport

import (
	"fmt"

	"lacuna/internal/base/unit"
	"lacuna/internal/kernel"
)

// ShortLaunches is what most of the time goes to where a report is many short launches: no kernel by itself is worth
// tuning then.
type ShortLaunches struct {
	Launches  int     `json:"launches"`
	Kernels   int     `json:"kernels"` // functions and sizes that they are of
	TotalUs   float64 `json:"total_us"`
	Share     float64 `json:"share_of_total"`
	FewBlocks int     `json:"few_blocks"` // of the launches: fewer blocks than their GPU has SMs
	Why       string  `json:"why"`        // in a sentence
	Fix       string  `json:"fix"`
}

const (
	// manyShort is launches from which there is a chain to merge: the few of a program's start are no work of its own.
	manyShort = 10
	mostTime  = 0.5
	// shortFix: what each costs is its start and end, 2 to 4 us, and on the host about as much.
	shortFix = `Do more in each launch: solve many independent problems at once (a batch), and fuse kernels that follow each
other. Record a chain that stays the same in a CUDA graph (cudaStreamBeginCapture, torch.cuda.graph), which launches it
as one.`
)

// shortLaunches is the short launches of all groups; nil: they are few, or not where the time goes.
func shortLaunches(groups []*group) *ShortLaunches {
	out := &ShortLaunches{Fix: shortFix}
	all := 0.0
	for _, g := range groups {
		some := false
		for _, k := range g.Launches {
			us, ok := k.Microseconds()
			all += us
			if !ok || us >= kernel.LaunchUs {
				continue
			}
			some = true
			out.Launches++
			out.TotalUs += us
			blocks, ok1 := k.GridBlocks()
			if sms, ok2 := k.SMs(); ok1 && ok2 && blocks < sms {
				out.FewBlocks++
			}
		}
		if some {
			out.Kernels++
		}
	}
	if out.Launches < manyShort || out.TotalUs < mostTime*all {
		return nil
	}
	out.Share = out.TotalUs / all
	out.Why = fmt.Sprintf("%d launches of %s take less than %d µs each, %s in all (%s %% of the time): start and end are a "+
		"large part of each, so that a faster kernel gains little", out.Launches, unit.Counted(out.Kernels, "kernel",
		"kernels"), kernel.LaunchUs, unit.Micros(out.TotalUs), unit.Percent(out.Share))
	if out.FewBlocks > 0 {
		out.Why += fmt.Sprintf("; %d of them have fewer blocks than the GPU has SMs", out.FewBlocks)
	}
	return out
}
