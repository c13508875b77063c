package changes

import "lacuna/internal/timeline/replay"

var drop = Change{
	Name:    "drop",
	Syntax:  "drop:REGEX",
	Title:   "kernels, copies and sets of this name are not issued",
	Doc:     "Work in whose name REGEX occurs is left out, with the calls that issued nothing else. Host work around them stays: the gain is a floor.",
	Assumes: "nothing else needs what they did",
	NotWhen: "what they compute is needed; it answers what the work costs, not whether it can go",
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
