package changes

import (
	"fmt"
	"strings"

	"lacuna/internal/timeline/replay"
)

var scale = Change{
	Name:    "scale",
	Syntax:  "scale:REGEX=F",
	Title:   "kernels, copies and memsets of this name take F times as long",
	Doc:     "Durations of work whose name matches REGEX are multiplied by F: 0.5 is twice as fast.",
	Assumes: "their number and order stay",
	NotWhen: "F is an assumption: lacuna kernel shows what a kernel can reach",
	Example: "scale:gemm=0.5",
	Apply: func(e *replay.Edit, arg string) (int, error) {
		i := strings.LastIndexByte(arg, '=')
		if i < 0 {
			return 0, fmt.Errorf("scale:%s: needs scale:REGEX=F, such as scale:gemm=0.5", arg)
		}
		re, err := searching("scale", arg[:i])
		if err != nil {
			return 0, err
		}
		f, err := factor("scale", arg[i+1:])
		if err != nil {
			return 0, err
		}
		is, n := named(e, re), 0
		for i := range e.Works {
			if is(int32(i)) {
				scaleWork(e, int32(i), f)
				n++
			}
		}
		return matched(n)
	},
}

// scaleWork multiplies a duration and, where an earlier change made it uncertain, its bounds.
func scaleWork(e *replay.Edit, i int32, f float64) {
	w := &e.Works[i]
	times := func(ns int64) int64 { return int64(float64(ns) * f) }
	if w.HighNs > 0 {
		e.SetDur(i, times(w.DurNs), times(w.LowNs), times(w.HighNs))
		return
	}
	w.DurNs = times(w.DurNs)
}
