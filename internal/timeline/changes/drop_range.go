package changes

import "lacuna/internal/timeline/replay"

var dropRange = Change{
	Name:   "drop-range",
	Syntax: "drop-range:REGEX",
	Title:  "what happens in ranges of this name does not happen",
	Doc: `Calls made in ranges whose whole name REGEX matches are left out with the work that they issued, and so is the host work in them.
Where no range has such a name, it is one of operators; failing these, of CUDA calls (cuModuleLoadData), of MPI's calls, or of
calls of the operating system (poll). The word off-core is the time in which a thread was off its core and in no call of the
operating system, where scheduling is recorded.`,
	Assumes: "nothing else needs what they did",
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
