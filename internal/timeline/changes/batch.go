package changes

import (
	"lacuna/internal/timeline/facts"
	"lacuna/internal/timeline/replay"
)

var batch = Change{
	Name:   "batch",
	Syntax: "batch:N",
	Title:  "decode steps of a serving engine have N requests",
	Doc: `Kernels of decode steps take as much longer, or shorter, as the capture's own decode steps of other batches
say: a line is fitted through the GPU time of all of them by their requests, and by the tokens that requests attend to,
where marks say so. Host work stays as it is. N must be a batch that the capture has seen, or one between two; the line
needs 8 different batches and must explain 90 % of the variance, unless all steps lie within 3 % of it. Bounds are those
of one more step, nine times in ten.`,
	Assumes: "requests are as long as those of the capture, and enough of them wait",
	NotWhen: "the steps of other batches differ in more than their batch: in context that marks do not say, or in the " +
		"graphs that they run in",
	Example: "batch:32",
	Apply: func(e *replay.Edit, arg string) (int, error) {
		n, err := wholeNumber("batch", arg)
		if err != nil {
			return 0, err
		}
		return decodeBatch.apply(e, n)
	},
}

// decodeBatch is the size of a decode step.
var decodeBatch = &sizing{
	kinds: "decode",
	what:  "requests",
	size: func(b *facts.Batch) int64 {
		if b.Kind != facts.KindDecode {
			return 0
		}
		return b.Requests
	},
	by: func(b *facts.Batch) float64 { return float64(b.Requests) },
	as: func(b *facts.Batch, n int64) facts.Batch {
		then := *b
		then.Kind, then.Requests, then.Decode = facts.KindDecode, n, n
		share := func(v int64) int64 { // of each request as much as now
			if v <= 0 || b.Requests <= 0 {
				return v
			}
			return v * n / b.Requests
		}
		then.DecodeTokens, then.Tokens, then.Context = share(b.DecodeTokens), share(b.Tokens), share(b.Context)
		return then
	},
}
