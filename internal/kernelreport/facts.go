package kernelreport

import (
	"strings"

	"lacuna/internal/kernel"
)

// stallsOf is what warps wait for.
func (out *Kernel) stallsOf(k *kernel.Kernel) {
	s := k.Stalls()
	if s == nil {
		return
	}
	out.Stalls = make(Stalls, len(s.Reasons))
	for _, r := range s.Reasons {
		out.Stalls[r.Reason] = r.Share
	}
	for _, g := range s.Groups {
		part := StallPart{Name: g.Name, Share: g.Share}
		if s.CyclesPerInstruction > 0 {
			cycles := g.Share * s.CyclesPerInstruction
			part.Cycles = &cycles
		}
		for _, r := range s.Reasons {
			if r.Group == g.Name && r.Share > 0 {
				part.Reasons = append(part.Reasons, r.Reason)
			}
		}
		out.StallParts = append(out.StallParts, part)
	}
	out.StallWhy = s.Words()
	out.StallsSampled = s.Sampled
}

// occupancyOf is how many warps an SM holds.
func (out *Kernel) occupancyOf(k *kernel.Kernel) {
	o := k.Occupancy()
	if o == nil {
		return
	}
	theoretical := 100 * o.Theoretical
	x := &Occupancy{TheoreticalPct: &theoretical, Limiter: o.Limiter(), Limiting: o.Limiting, BlocksPerSM: o.Blocks, Registers: o.Resources.Registers,
		SharedBytes: o.Resources.SharedBytes, Threads: o.Resources.Threads, Steps: []Step{}}
	if o.Achieved >= 0 {
		achieved := 100 * o.Achieved
		x.AchievedPct = &achieved
	}
	if o.Waves >= 0 {
		x.Waves = &o.Waves
		tail := 100 * o.TailShare
		x.TailPct = &tail
	}
	for _, s := range o.Steps {
		x.Steps = append(x.Steps, Step{s.Words, 100 * s.Share})
	}
	if o.Theoretical >= 1 {
		x.Limiting = nil
	}
	out.Occupancy = x
}

// profilerOf is what the profiler's own rules said: warnings and what they would optimise.
func (out *Kernel) profilerOf(k *kernel.Kernel) {
	for _, r := range k.Launch.Rules {
		for _, m := range r.Messages {
			text := strings.TrimSpace(plainMarkup.Replace(m.Text))
			if text == "" || m.Type < 1 {
				continue
			}
			s := Said{Rule: r.ID, Title: m.Title, Text: text}
			if m.Speedup.Kind != "" {
				s.SpeedupPct, s.Local = m.Speedup.Percent, m.Speedup.Kind == "local"
			}
			out.Profiler = append(out.Profiler, s)
		}
	}
}

// plainMarkup takes the markup of the profiler's messages for pages of text out.
var plainMarkup = strings.NewReplacer("@section:", "", "@url:", "", "@", "")
