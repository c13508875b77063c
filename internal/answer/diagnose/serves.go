package diagnose

import (
	"lacuna/internal/answer/report"
	"lacuna/internal/timeline/replay"
)

// serves is what a server sees of changes to its engine's steps; nil: no marks say what these work on.
func serves(e *replay.Edit, now, then replay.Range) *report.WhatIfServing {
	has := e.Served()
	if has == nil {
		return nil
	}
	gets := has
	if e.Serves != nil {
		gets = e.Serves
	}
	kind := e.Steps.Engine.Each[e.Steps.First].Kind
	return &report.WhatIfServing{Kind: string(kind), Now: rate(has, now), Then: rate(gets, then)}
}

// rate is what steps of a length give.
func rate(s *replay.Serves, step replay.Range) report.ServingRate {
	n := float64(max(1, s.Steps))
	r := report.ServingRate{Requests: float64(s.Requests) / n, Tokens: float64(s.Decode) / n,
		PromptTokens: float64(s.Prompt) / n}
	perS := func(tokens float64) *report.Bounded {
		if tokens <= 0 || step.LowNs <= 0 {
			return nil
		}
		return &report.Bounded{Value: tokens * 1e9 / step.Ns, Low: tokens * 1e9 / step.HighNs,
			High: tokens * 1e9 / step.LowNs}
	}
	if r.TokensPerS, r.PromptPerS = perS(r.Tokens), perS(r.PromptTokens); r.Tokens > 0 {
		r.ItlMs = &report.Bounded{Value: step.Ns / 1e6, Low: step.LowNs / 1e6, High: step.HighNs / 1e6}
	}
	return r
}
