package changes

import "lacuna/internal/timeline/replay"

var drop = Change{
	Name:   "drop",
	Syntax: "drop:REGEX",
	Title:  "kernels, copies and memsets of this name are not issued",
	Doc: "Work whose name matches REGEX is left out, with calls that issued nothing else. Host work around " +
		"them stays: the gain is a lower bound.",
	Assumes: "nothing else needs their results",
	NotWhen: "their results are needed: the answer is what the work costs, not whether it can be removed",
	Example: "drop:nll_loss",
	Apply: func(e *replay.Edit, arg string) (int, error) {
		re, err := searching("drop", arg)
		if err != nil {
			return 0, err
		}
		is, n := named(e, re), 0
		for i := range e.Works {
			if !is(int32(i)) {
				continue
			}
			n++
			if call := e.Works[i].Call; call >= 0 && e.Calls[call].N == 1 {
				e.DropCall(call)
			} else {
				e.DropWork(int32(i))
			}
		}
		return matched(n)
	},
}
