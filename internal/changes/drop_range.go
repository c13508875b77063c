package changes

import "lacuna/internal/replay"

var dropRange = Change{
	Name:    "drop-range",
	Syntax:  "drop-range:REGEX",
	Title:   "what happens in ranges of this name does not happen",
	Doc:     "Calls made in ranges whose whole name REGEX matches are left out with the work that they issued, and so is the host work in them.",
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
