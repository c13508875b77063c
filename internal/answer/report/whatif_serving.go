package report

// A WhatIfServing is what changes mean for a server whose engine marks its steps: of the steps that were replayed,
// without the profiler.
type WhatIfServing struct {
	Kind string      `json:"kind"` // of the steps
	Now  ServingRate `json:"now"`
	Then ServingRate `json:"then"`
}

// A ServingRate is what steps give, and how often.
type ServingRate struct {
	Requests     float64 `json:"requests"`      // that get tokens in a step, in the mean
	Tokens       float64 `json:"tokens"`        // that they get
	PromptTokens float64 `json:"prompt_tokens"` // of prompts that a step reads
	// ItlMs is from one token of a running request to the next while such steps follow one another; null: none
	ItlMs      *Bounded `json:"itl_ms"`
	TokensPerS *Bounded `json:"tokens_per_s"`        // of running requests; null: the steps give none
	PromptPerS *Bounded `json:"prompt_tokens_per_s"` // null: the steps read no prompts
}

// A Bounded is a value and what it is believed to lie between.
type Bounded struct {
	Value float64 `json:"value"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
}
