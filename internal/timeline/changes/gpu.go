package changes

import "lacuna/internal/timeline/replay"

var gpu = Change{
	Name:   "gpu",
	Syntax: "gpu:F",
	Title:  "a GPU that computes F times as fast",
	Doc: "Durations of kernels and graphs, communication excepted, are divided by F. Copies, launches and the " +
		"pauses between kernels stay.",
	Assumes: "all kernels gain alike, memory-bound and launch-bound ones too",
	NotWhen: "F comes from one figure of a data sheet: a kernel's gain depends on what bounds it",
	Example: "gpu:1.5",
	Apply: func(e *replay.Edit, arg string) (int, error) {
		f, err := factor("gpu", arg)
		if err != nil {
			return 0, err
		}
		n := 0
		for i := range e.Works {
			if w := &e.Works[i]; w.Kind.IsCompute() && !w.Dropped {
				scaleWork(e, int32(i), 1/f)
				n++
			}
		}
		return matched(n)
	},
}
