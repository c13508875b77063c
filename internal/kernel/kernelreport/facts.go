package kernelreport

import (
	"strings"

	"lacuna/internal/kernel"
)

// NoWait is the group of a warp that waits for nothing.
const NoWait = kernel.NoWait

// solOf is how near the kernel is to what its device can do, and what bounds it.
func (out *Kernel) solOf(k *kernel.Kernel) {
	s := k.SpeedOfLight()
	if s == nil {
		return
	}
	out.Class, out.ClassWhy = string(s.Class), s.Why
	if l, ok := s.Limiter(); ok {
		out.Limiter = l.Resource.Words()
	}
	x := &SOL{SMPct: known(s.SM), MemoryPct: known(s.Memory), Parts: []SOLPart{}}
	for _, l := range s.Loads {
		x.Parts = append(x.Parts, SOLPart{string(l.Resource), l.Resource.Words(), 100 * l.Share})
	}
	if x.SMPct != nil || x.MemoryPct != nil || len(x.Parts) > 0 {
		out.SOL = x
	}
}

// clockOf is the clock of the measurement, if it was not the full one.
func (out *Kernel) clockOf(k *kernel.Kernel) {
	c := k.Clocks()
	if c == nil || !c.Slowed() {
		return
	}
	out.Clock = &Clock{SMGHz: c.SMHz.Value / 1e9, BoostGHz: c.SMMostHz.Value / 1e9, Locked: c.Locked,
		AtBoostUs: c.AtBoostUs, LowUs: c.LowUs, HighUs: c.HighUs, Why: c.Words()}
}

// known is a share in percent; nil for a negative one, which says that it was not collected.
func known(share float64) *float64 {
	if share < 0 {
		return nil
	}
	share *= 100
	return &share
}

// rooflineOf is where the kernel stands under the roofs of its device.
func (out *Kernel) rooflineOf(k *kernel.Kernel) {
	r := k.Roofline()
	if r == nil {
		return
	}
	for _, p := range r.Points {
		out.Roofline = append(out.Roofline, Point{Precision: p.Precision, Level: p.Level, Flops: p.Flops,
			Intensity: p.Intensity, Ceiling: p.Ceiling,
			Peak: p.Peak, Bandwidth: p.Bandwidth, Ridge: p.Ridge, RoofPct: 100 * p.Reached,
			ByEfficiency: p.ByEfficiency(), ByIntensity: p.ByIntensity()})
	}
}

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
	x := &Occupancy{TheoreticalPct: known(o.Theoretical), AchievedPct: known(o.Achieved), Limiter: o.Limiter(),
		Limiting: o.Limiting, BlocksPerSM: o.Blocks, Registers: o.Resources.Registers,
		SharedBytes: o.Resources.SharedBytes, Threads: o.Resources.Threads, Steps: []Step{}}
	if o.Waves >= 0 {
		x.Waves, x.TailPct = &o.Waves, known(o.TailShare)
	}
	for _, s := range o.Steps {
		x.Steps = append(x.Steps, Step{s.Words, 100 * s.Share})
	}
	if o.Theoretical >= 1 {
		x.Limiting = nil
	}
	out.Occupancy = x
}

// memoryOf is what moved between the levels of memory.
func (out *Kernel) memoryOf(k *kernel.Kernel) {
	m := k.Memory()
	if m == nil {
		return
	}
	x := &Memory{Links: []Link{}, Accesses: []Access{}, Notes: append([]string{}, m.Notes()...)}
	for _, l := range m.Links {
		x.Links = append(x.Links, Link{From: l.From, To: l.To, ReadBytes: value(l.Read, 1),
			WriteBytes: value(l.Write, 1), HitPct: value(l.Hit, 100), UsedPct: used(k, l.To)})
	}
	for _, a := range m.Accesses {
		x.Accesses = append(x.Accesses, Access{a.Space, a.Op, a.Requests, a.PerRequest, value(a.Hit, 100),
			value(a.Used, 1)})
	}
	if s := m.Shared; s != nil {
		x.Shared = &Shared{Wavefronts: s.Wavefronts, ConflictsPct: 100 * s.Conflicts, Ways: s.Ways, Exact: s.Exact}
	}
	out.Memory = x
}

// used is how busy the way into a level is.
func used(k *kernel.Kernel, level string) *float64 {
	r, ok := map[string]kernel.Resource{"L1": kernel.L1, "L2": kernel.L2, "DRAM": kernel.DRAM}[level]
	if !ok {
		return nil
	}
	v, known := k.Load(r)
	return value(kernel.Measure{Value: v, Known: known}, 100)
}

// value is a measure times a factor; nil: not collected.
func value(m kernel.Measure, times float64) *float64 {
	if !m.Known {
		return nil
	}
	v := m.Value * times
	return &v
}

// mixOf is what instructions it executes.
func (out *Kernel) mixOf(k *kernel.Kernel) {
	m := k.Mix()
	if m == nil {
		return
	}
	x := &Mix{Instructions: value(m.Instructions, 1), Lanes: value(m.Lanes, 1), Parts: []MixPart{},
		Notes: append([]string{}, m.Notes()...)}
	for _, c := range m.Classes {
		x.Parts = append(x.Parts, MixPart{c.Name, c.Share})
	}
	out.Mix = x
}

// gapsOf is what of this answer the report does not hold.
func (out *Kernel) gapsOf(k *kernel.Kernel) {
	for _, g := range k.Gaps() {
		out.Missing = append(out.Missing, Missing{g.Part, kernel.CollectWith([]kernel.Gap{g})})
	}
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
