package report

import (
	"fmt"

	"lacuna/internal/runs/measure"
	"lacuna/internal/timeline/facts"
)

// kinds is the measures of a serving engine: the steps of each kind and size, and the time between tokens. They are of
// all its steps, whichever the others are of.
func (m *measuring) kinds() {
	e := m.steps.Engine
	if e == nil || e.Weak || !m.steps.Device {
		return
	}
	m.run.StepKind = KindName(string(e.Groups[e.Head].Kind), e.Groups[e.Head].Bucket)
	if m.steps.Pinned {
		m.run.StepKind = "" // of several kinds, as asked
	}
	for i := range e.Groups {
		g := &e.Groups[i]
		var samples []float64
		for _, k := range g.Steps {
			if !e.Each[k].Open && !m.startsUp(k) {
				samples = append(samples, ms(m.steps.All[k].LenNs()))
			}
		}
		if len(samples) < facts.FewSteps {
			continue // so few steps say nothing of how much they scatter
		}
		m.add(KindMeasure(string(g.Kind), g.Bucket), "ms", measure.Lower, samples)
	}
	m.add("itl", "ms", measure.Lower, tokenIntervals(m.steps))
}

// KindName is a kind of steps and their size in short, as --kind takes it: decode@32.
func KindName(kind string, bucket int64) string {
	if bucket == 0 {
		return kind
	}
	return fmt.Sprintf("%s@%d", kind, bucket)
}

// KindMeasure is the name of the measure of a kind of steps and size: decode_ms@32.
func KindMeasure(kind string, bucket int64) string { return KindName(kind+"_ms", bucket) }

// startsUp says whether a step belongs to start-up.
func (m *measuring) startsUp(step int) bool {
	for _, st := range m.steps.Startup {
		if st.Index == step {
			return true
		}
	}
	return false
}

// tokenIntervals is the time from one step that gives running requests a token to the next, in order: what lies
// between, such as a prefill, makes them wait too. Across a pause, or the end of what was recorded, there is none.
func tokenIntervals(s *facts.Steps) []float64 {
	gives := func(k facts.StepKind) bool { return k == facts.KindDecode || k == facts.KindMixed }
	each := s.Engine.Each
	var out []float64
	last := -1
	for i := range each {
		x := &each[i]
		if gives(x.Kind) {
			if last >= 0 {
				out = append(out, ms(s.All[i].StartNs-s.All[last].StartNs))
			}
			last = i
		}
		if x.Open {
			last = -1
		} else if i+1 == len(each) && last == i && gives(s.Engine.Closing) {
			out = append(out, ms(s.All[i].LenNs()))
		}
	}
	return out
}
