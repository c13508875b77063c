package changes

import "lacuna/internal/timeline/replay"

var dropRange = Change{
	Name:   "drop-range",
	Syntax: "drop-range:REGEX",
	Title:  "everything in ranges of this name is left out",
	Doc: `Calls in ranges whose whole name REGEX matches are left out with the work that they issued, and so is the
host work in the ranges. Where no range has such a name, REGEX matches operators; failing these, CUDA calls
(cuModuleLoadData), MPI calls, or operating system calls (poll). The word off-core means the time in which a thread
was off its core outside operating system calls, where scheduling is recorded.`,
	Assumes: "nothing else needs their results",
	NotWhen: "the range is the training step itself",
	Example: "drop-range:checkpoint",
	Apply: func(e *replay.Edit, arg string) (int, error) {
		re, err := pattern("drop-range", arg)
		if err != nil {
			return 0, err
		}
		n, _ := dropRanges(e, re, rangeAll)
		return matched(n)
	},
}
