package changes

import "lacuna/internal/timeline/replay"

var overlapCopies = Change{
	Name:   "overlap-copies",
	Syntax: "overlap-copies",
	Title:  "asynchronous copies to the device run on a stream of their own, one step ahead",
	Doc: "Copies of pinned memory to the device, of over 64 KiB, that share a stream with kernels move to a " +
		"copy stream. A step uses the data copied during the step before. Durations stay.",
	Assumes: "the data is known one step ahead; kernels and copies do not slow each other",
	NotWhen: "a batch depends on the step before",
	Example: "overlap-copies",
	Apply:   func(e *replay.Edit, arg string) (int, error) { return moveCopies(e, false) },
}
