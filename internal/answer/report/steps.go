package report

import (
	"fmt"
	"slices"

	"lacuna/internal/base/interval"
	"lacuna/internal/base/stat"
	"lacuna/internal/timeline/facts"
)

// stepsPart describes the steps of an input.
func (o *one) stepsPart(in []*facts.Facts) Steps {
	s := o.steps
	out := Steps{
		Count: len(s.Steady()), Source: string(s.Source), Basis: "host", Startup: []Startup{}, EachMs: []float64{},
		Note:     s.Note,
		WindowMs: [2]float64{ms(o.window.StartNs - o.originNs()), ms(o.window.EndNs - o.originNs())},
	}
	if s.Device {
		out.Basis = "device"
	}
	if len(in) > 1 {
		out.Note = joinNotes(out.Note, fmt.Sprintf(
			"means are over all devices; steps, lists and findings are of the slowest input: %s",
			facts.InputName(o.f, in)))
	}
	for _, step := range s.Steady() {
		out.EachMs = append(out.EachMs, ms(step.LenNs()))
	}
	sorted := slices.Sorted(slices.Values(out.EachMs))
	if len(sorted) > 0 {
		out.MeanMs = o.meanNs() / 1e6
		out.MedianMs, out.P10Ms, out.P90Ms = stat.Quantile(sorted, 0.5), stat.Quantile(sorted, 0.1),
			stat.Quantile(sorted, 0.9)
	}
	for _, st := range s.Startup {
		out.Startup = append(out.Startup, Startup{st.Index, ms(s.All[st.Index].LenNs()), st.Why})
	}
	if host := hostSteps(s); len(host) > 0 {
		median := stat.Quantile(slices.Sorted(slices.Values(host)), 0.5)
		out.HostMedianMs = &median
	}
	return out
}

// hostSteps is the durations of the host's steps that belong to the device steps looked at, in ms.
func hostSteps(s *facts.Steps) []float64 {
	host := s.Host
	if len(host) == len(s.All) {
		host = host[s.First:s.Last]
	}
	var out []float64
	for _, h := range host {
		out = append(out, ms(h.LenNs()))
	}
	return out
}

// originNs is the time that a report counts from: the first event that the analysis looks at.
func (o *one) originNs() int64 {
	origin := o.window.StartNs
	if host := o.f.HostSpan(); host != (interval.Span{}) {
		origin = min(origin, host.StartNs)
	}
	if w := o.f.Work(); w.Len() > 0 {
		origin = min(origin, w.StartNs[0])
	}
	return origin
}

func ms(ns int64) float64 { return float64(ns) / 1e6 }

func joinNotes(a, b string) string {
	if a == "" {
		return b
	}
	return a + "; " + b
}
