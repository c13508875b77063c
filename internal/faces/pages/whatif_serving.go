package pages

import (
	"math"

	"lacuna/internal/answer/report"
	"lacuna/internal/base/unit"
	"lacuna/internal/faces/page"
)

// rateLines is what changes mean for a server: requests and tokens of a step, tokens per second, time between tokens.
func rateLines(x *report.WhatIf) []page.Text {
	s := x.Serving
	if s == nil || !applied(x) {
		return nil
	}
	var out []page.Text
	if now, then := s.Now.TokensPerS, s.Then.TokensPerS; now != nil && then != nil {
		out = append(out, page.Sayf("Tokens per second of running requests: now %s (%s in a step), "+
			"then %s (%s; %s in a step).", page.Num(tokenCount(now.Value)), perStep(s.Now.Tokens),
			page.Num(tokenCount(then.Value)), tokenBounds(then), perStep(s.Then.Tokens)))
	}
	if now, then := s.Now.PromptPerS, s.Then.PromptPerS; now != nil && then != nil {
		out = append(out, page.Sayf("Tokens of prompts per second: now %s (%s in a step), then %s (%s; %s in a step).",
			page.Num(tokenCount(now.Value)), perStep(s.Now.PromptTokens), page.Num(tokenCount(then.Value)),
			tokenBounds(then), perStep(s.Then.PromptTokens)))
	}
	if now, then := s.Now.ItlMs, s.Then.ItlMs; now != nil && then != nil {
		out = append(out, page.Sayf("Between two tokens of a request, while such steps follow one another: now %s, "+
			"then %s (%s).", page.Num(unit.About(now.Value)+" ms"), page.Num(unit.About(then.Value)+" ms"),
			unit.Bounds(then.Value, then.Low, then.High)))
	}
	return out
}

// perStep is a mean number of tokens: whole where it is large, or where it is.
func perStep(tokens float64) string {
	if tokens >= 100 || math.Abs(tokens-math.Round(tokens)) < 0.05 {
		return unit.FormatCount(int64(math.Round(tokens)))
	}
	return unit.Fixed(tokens, 1)
}

// tokenCount is a number of tokens to three digits.
func tokenCount(n float64) string {
	if n < 1000 {
		return unit.About(n)
	}
	size := math.Pow(10, math.Floor(math.Log10(n))-2)
	return unit.FormatCount(int64(math.Round(n/size) * size))
}

func tokenBounds(b *report.Bounded) string { return tokenCount(b.Low) + " to " + tokenCount(b.High) }
