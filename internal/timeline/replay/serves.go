package replay

import "lacuna/internal/timeline/facts"

// Serves is what steps of a serving engine work on, as far as their marks say it.
type Serves struct {
	Steps  int
	Decode int64 // tokens that running requests get, in all steps
	Prompt int64 // tokens of prompts that are read
	// Requests is the running requests that get tokens, in all steps
	Requests int64
	Unsaid   bool // some marks do not say how many
}

// Add counts a step.
func (s *Serves) Add(b *facts.Batch) {
	s.Steps++
	for _, x := range []struct {
		sum  *int64
		said int64
	}{{&s.Decode, b.DecodeTokens}, {&s.Prompt, b.PrefillTokens}, {&s.Requests, b.Decode}} {
		*x.sum += max(0, x.said)
		s.Unsaid = s.Unsaid || x.said == facts.NotSaid
	}
}

// Served is what the steps looked at work on; nil: no engine's marks say it.
func (p *Program) Served() *Serves {
	e := p.Steps.Engine
	if e == nil || e.Weak || !p.Steps.Device {
		return nil
	}
	s := &Serves{}
	for i := p.Steps.First; i < p.Steps.Last; i++ {
		s.Add(&e.Each[i].Batch)
	}
	if s.Unsaid || s.Decode+s.Prompt == 0 {
		return nil
	}
	return s
}
