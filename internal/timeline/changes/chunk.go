package changes

import (
	"lacuna/internal/timeline/facts"
	"lacuna/internal/timeline/replay"
)

var chunk = Change{
	Name:   "chunk",
	Syntax: "chunk:N",
	Title:  "steps of a serving engine that read prompts read N tokens of them",
	Doc: `Kernels of prefill steps, or of those that read prompts and decode, take as much longer, or shorter, as the
capture's own steps of that kind say: a line is fitted through the GPU time of all of them by their new tokens, and by
the tokens that running requests attend to, where marks say so. Host work and running requests stay as they are. N must
be a number of tokens of prompts that the capture has seen in a step, or one between two; the line needs 8 different
numbers and must explain 90 % of the variance, unless all steps lie within 3 % of it. Bounds are those of one more step,
nine times in ten. --kind mixed or --kind prefill looks at these steps.`,
	Assumes: "prompts are as long as those of the capture: pieces of half the size are twice as many",
	NotWhen: "attention to the prompt's own beginning is most of the time: it grows with its square",
	Example: "chunk:512",
	Apply: func(e *replay.Edit, arg string) (int, error) {
		n, err := wholeNumber("chunk", arg)
		if err != nil {
			return 0, err
		}
		return promptPiece.apply(e, n)
	},
}

// promptPiece is the size of a step that reads prompts.
var promptPiece = &sizing{
	kinds: "mixed or --kind prefill",
	what:  "tokens of prompts",
	size: func(b *facts.Batch) int64 {
		if b.Kind != facts.KindPrefill && b.Kind != facts.KindMixed {
			return 0
		}
		return b.PrefillTokens
	},
	by: func(b *facts.Batch) float64 { return float64(b.PrefillTokens + max(0, b.DecodeTokens)) },
	as: func(b *facts.Batch, n int64) facts.Batch {
		then := *b
		if then.Kind != facts.KindMixed {
			then.Kind = facts.KindPrefill
		}
		then.PrefillTokens = n
		then.Tokens = n + max(0, b.DecodeTokens)
		return then
	},
}
