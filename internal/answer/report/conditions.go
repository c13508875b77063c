package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"lacuna/internal/base/interval"
	"lacuna/internal/runs/measure"
)

// conditionTracks is which sampled counters are conditions of a run: the tracks that lacuna record makes of the GPUs'
// state, by the names that lacuna bench has for them.
var conditionTracks = [...]struct{ track, unit, condition string }{
	{"GPU use", "%", "busy_pct"},
	{"SM clock", "MHz", "sm_mhz"},
	{"memory clock", "MHz", "memory_mhz"},
	{"power", "W", "power_w"},
	{"temperature", "C", "temperature_c"},
}

// throttlePrefix is how the names of tracks begin that are 1 while something holds the clocks down.
const throttlePrefix = "throttle: "

// conditions sums up what was sampled of the GPUs in the time that is measured.
func (m *measuring) conditions() {
	if len(m.spans) == 0 {
		return
	}
	window := interval.Span{StartNs: m.spans[0].StartNs, EndNs: m.spans[len(m.spans)-1].EndNs}
	c, tracks, used := &m.f.Trace.Counters, m.f.Trace.Tracks, m.f.Devices()
	values := make(map[string][]float64) // by condition
	held := make(map[string][2]int)      // by what holds the clocks down: samples in which it does, all samples
	for i := range c.Len() {
		t := &tracks[c.Track[i]]
		// what an idle GPU does says nothing of the program
		if !window.Contains(c.TimeNs[i]) || !slices.Contains(used, t.Device) {
			continue
		}
		if why, ok := strings.CutPrefix(t.Name, throttlePrefix); ok {
			n := held[why]
			if n[1]++; c.Value[i] > 0 {
				n[0]++
			}
			held[why] = n
		}
		for _, x := range conditionTracks {
			if x.track == t.Name && x.unit == t.Unit {
				values[x.condition] = append(values[x.condition], c.Value[i])
			}
		}
	}
	for _, x := range conditionTracks {
		if v := values[x.condition]; len(v) > 0 {
			slices.Sort(v)
			m.run.Conditions = append(m.run.Conditions,
				measure.Condition{Name: x.condition, Min: v[0], Median: v[len(v)/2], Max: v[len(v)-1]})
		}
	}
	if text, share := throttles(held); text != "" {
		m.run.Conditions = append(m.run.Conditions, measure.Condition{Name: "throttle", Max: share, Text: text})
	}
}

// throttles is what held the clocks down and in what share of the samples, most first, and the largest share.
func throttles(held map[string][2]int) (string, float64) {
	type reason struct {
		why   string
		share float64
	}
	var all []reason
	for why, n := range held {
		if n[0] > 0 {
			all = append(all, reason{why, float64(n[0]) / float64(n[1])})
		}
	}
	if len(all) == 0 {
		return "", 0
	}
	slices.SortFunc(all, func(a, b reason) int {
		return cmp.Or(cmp.Compare(b.share, a.share),
			cmp.Compare(a.why, b.why))
	})
	var words []string
	for _, x := range all {
		words = append(words, fmt.Sprintf("%s in %.0f %% of the samples", x.why, 100*x.share))
	}
	return strings.Join(words, ", "), all[0].share
}
