package facts

import (
	"regexp"
	"slices"

	"lacuna/internal/base/interval"
)

// maxBehind is the share of a pass's work that other work behind the last one may take: a result that is looked at, not
// the head of a model or backward.
const maxBehind = 0.05

// isWholePass says whether each range of a family is a pass over a whole model: it holds many parts of one kind, layers
// or blocks, nearly all work from the first to the last is within them, and hardly anything else follows them, as the
// head follows the layers and backward the forward pass. Passes in a row are turns even if the host takes no part in
// them.
func (l *loopFinder) isWholePass(r *rangeFamily, tr *trail) bool {
	first, last := r.spans[0], r.spans[len(r.spans)-1]
	if float64(r.workNs) < wholeTurn*float64(tr.ns(interval.Span{StartNs: first.StartNs, EndNs: last.EndNs})) ||
		l.mostParts(r, r.spans[len(r.spans)/2]) < minRun {
		return false
	}
	inside := make(map[int32]bool)
	for _, s := range r.spans {
		from, to := tr.rows(s)
		for _, n := range tr.name[from:to] {
			inside[n] = true
		}
	}
	from, to := tr.rows(interval.Span{StartNs: last.EndNs, EndNs: l.host.EndNs})
	var otherNs int64
	for i := from; i < to; i++ {
		if !inside[tr.name[i]] {
			otherNs += tr.sumNs[i+1] - tr.sumNs[i]
		}
	}
	return float64(otherNs*int64(len(r.spans))) <= maxBehind*float64(r.workNs)
}

// mostParts is how many ranges of one family that is called parts of a model begin within span, at most.
func (l *loopFinder) mostParts(r *rangeFamily, span interval.Span) int {
	t := l.f.Trace
	part := judge(&t.Strings, func(text string) string {
		if loopWordOf(text) != wordPart {
			return ""
		}
		return turnKey(text)
	})
	times := make(map[string]int)
	most := 0
	from, _ := slices.BinarySearch(t.Ranges.StartNs, span.StartNs)
	for i := from; i < t.Ranges.Len() && t.Ranges.StartNs[i] < span.EndNs; i++ {
		if key := part(t.Ranges.Name[i]); key != "" && t.Ranges.Thread[i] == r.thread {
			times[key]++
			most = max(most, times[key])
		}
	}
	return most
}

// loneStep makes a step of the only range that is called one where it holds nearly all that was launched: a capture of
// one step, from its first kernel to its last work. The step of an optimizer, a scheduler or an engine is its method.
func (f *Facts) loneStep(s *Steps) {
	if f.Trace.Ranges.Len() == 0 {
		return
	}
	l := f.loopFinder()
	for _, r := range l.families() {
		tr := l.trailOf(r.thread)
		if len(r.spans) != 1 || r.word == wordPhase || tr == nil || tr.of != trailOfWork ||
			float64(tr.ns(r.spans[0])) < minInside*float64(tr.allNs()) {
			continue
		}
		name := f.Trace.Strings.Text(f.Trace.Ranges.Name[r.rows[0]])
		if !oneStepName.MatchString(name) {
			continue
		}
		m := l.markersOf(r)
		s.Source, s.Marker, s.markerRows = m.Source, m.Name, m.Rows
		f.stepsByMarkers(s, m.Spans)
		return
	}
}

// oneStepName is names that end with step or iteration, and are not those of a method.
var oneStepName = regexp.MustCompile(`(?i)(^|[^.a-z])(step|iter|iteration)s?[-_#: ]*\d*$`)
