package rules

import (
	"fmt"

	"lacuna/internal/timeline/facts"
)

var speculationPrice = Rule{
	ID:       "speculation_price",
	Title:    "What a round of speculative decoding costs",
	Since:    "0.3",
	Standing: CostsElse,
	Doc: `
Speculative decoding drafts tokens with a small model and verifies them in one pass of the large one. A round takes
longer than a plain decode step and gives one token or more.

Where a capture has steps that verify, the rule says what a round takes: all drafting between two verifications, and
the verification. Where it has plain decode steps of the same batch size as well, it says how many tokens a round must
give on average to be worth its time.`,
	Limits: `
How many drafted tokens are accepted is in no mark known: the server's metrics have it. So this is a threshold, not a
verdict.`,
	Fix: `
Compare the accepted length in the server's metrics with the threshold. Below it, draft fewer tokens or none:

    --speculative-num-steps 2 --speculative-num-draft-tokens 3           # SGLang
    --speculative-config '{"num_speculative_tokens": 2, ...}'            # vLLM`,
	Confirm:   `Tokens per second of the server rise with fewer drafted tokens.`,
	RefutedBy: `The accepted length is above the threshold: speculation is worth its time.`,
	Check:     checkSpeculationPrice,
}

func checkSpeculationPrice(c *Case, out *Findings) {
	e := c.engine()
	if e == nil {
		return
	}
	var draftNs, verifyNs float64
	var verify, draft int
	var batch int64
	for i := range e.Each {
		ns := float64(c.Steps.All[i].LenNs())
		switch e.Each[i].Kind {
		case facts.KindVerify:
			verifyNs += ns
			verify++
			batch = max(batch, e.Each[i].Requests)
		case facts.KindDraft:
			draftNs += ns
			draft++
		}
	}
	if verify == 0 {
		return
	}
	round := (draftNs + verifyNs) / float64(verify)
	var plain []int64
	for i := range e.Each {
		s := &e.Each[i]
		if s.Kind == facts.KindDecode && !s.Open && s.Requests > batch/2 && s.Requests <= batch {
			plain = append(plain, c.Steps.All[i].LenNs())
		}
	}
	if len(plain) == 0 {
		out.Add(0.9, 0, "A round of speculative decoding takes %s: %s to draft, %s to verify", ms(round),
			ms(draftNs/float64(verify)), ms(verifyNs/float64(verify))).
			Because(fmt.Sprintf("%d rounds with %d drafts; no plain decode step of that batch to compare with", verify,
				draft))
		return
	}
	decode := float64(medianInt(plain))
	out.Add(0.9, 0, "A round of speculative decoding takes %s: worth its time from %.2f tokens per request on",
		ms(round), round/decode).
		Because(fmt.Sprintf("%d rounds, %s to draft and %s to verify each; a plain decode step takes %s in the median",
			verify, ms(draftNs/float64(verify)), ms(verifyNs/float64(verify)), ms(decode)))
}
