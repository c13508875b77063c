package facts

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"lacuna/internal/base/interval"
	"lacuna/internal/base/unit"
)

// FewSteps is how many steps of a kind and size are too few for more than their mean.
const FewSteps = 5

// chooseRun looks at one run of steps of one kind: kinds are never averaged together, and rules and replay need time
// without holes. The kind is the one that takes most time, passes without requests last; of it the size that takes
// most; of that the run of neighbours that takes most. Where no run of one size has FewSteps, one of any size. It is
// false that there are any, if none are of the kind and size that opt asks for.
func (f *Facts) chooseRun(s *Steps, opt StepOptions) bool {
	e := s.Engine
	head := e.headGroup(opt)
	if head < 0 {
		return false
	}
	e.Head = head
	g := &e.Groups[head]
	from, to := longestRun(s, func(i int) bool { return e.Each[i].Group == head })
	if to-from < FewSteps && opt.Bucket == 0 {
		a, b := longestRun(s, func(i int) bool { return e.Each[i].Kind == g.Kind })
		if b-a >= FewSteps {
			from, to = a, b
		}
	}
	run := &Steps{Source: s.Source, Marker: s.Marker, Device: s.Device, Busiest: s.Busiest,
		All: s.All[from:to], Markers: s.Markers[from:to]}
	f.dropStartup(run)
	for _, st := range run.Startup {
		st.Index += from
		s.Startup = append(s.Startup, st)
	}
	s.First, s.Last = from+run.First, to
	for _, note := range []string{run.Note, e.runNote(s, opt)} {
		if note != "" {
			s.Note = join(s.Note, note)
		}
	}
	return true
}

// headGroup is the group that a report is on; -1: there is none such as is asked for.
func (e *EngineSteps) headGroup(opt StepOptions) int {
	byKind := make(map[StepKind]int64)
	for _, g := range e.Groups {
		if g.Kind != KindIdle {
			byKind[g.Kind] += g.TotalNs
		}
	}
	head := -1
	for i, g := range e.Groups { // most time first, so that of equal kinds the first group's wins
		switch {
		case opt.Kind != "" && g.Kind != opt.Kind, opt.Bucket != 0 && g.Bucket != opt.Bucket:
		case head < 0, byKind[g.Kind] > byKind[e.Groups[head].Kind]:
			head = i
		}
	}
	return head
}

// longestRun is the neighbours among the steps that is accepts which take most time together, of equals the first. A
// step that does not last to the next one's start ends a run.
func longestRun(s *Steps, is func(i int) bool) (from, to int) {
	bestNs := int64(-1)
	for i := 0; i < len(s.All); {
		if !is(i) {
			i++
			continue
		}
		j := i + 1
		for j < len(s.All) && is(j) && !s.Engine.Each[j-1].Open {
			j++
		}
		if ns := s.All[j-1].EndNs - s.All[i].StartNs; ns > bestNs {
			from, to, bestNs = i, j, ns
		}
		i = j
	}
	return from, to
}

// runNote says which steps the report is on, where they are not all.
func (e *EngineSteps) runNote(s *Steps, opt StepOptions) string {
	g := &e.Groups[e.Head]
	n, all := s.Last-s.First, 0
	for i := range e.Groups {
		if e.Groups[i].Kind == g.Kind {
			all += len(e.Groups[i].Steps)
		}
	}
	var notes []string
	if len(e.Each) != n {
		of := unit.FormatCount(int64(n))
		if n < all {
			of += " of " + unit.FormatCount(int64(all))
		}
		what := string(g.Kind) + " step"
		if all != 1 {
			what += "s"
		}
		why := "the longest run of the kind that takes most time"
		if opt.Kind != "" {
			why = "the longest run of them"
		}
		notes = append(notes, fmt.Sprintf("budget, lists and findings are of %s %s (%s)", of, what, why))
	}
	if n == 1 && e.Each[s.First].Open {
		notes = append(notes, "the step ends with its last GPU work: what comes between two steps is not in it")
	}
	return strings.Join(notes, "; ")
}

// pinned says of which kinds the steps are that were asked for by position.
func (e *EngineSteps) pinned(s *Steps) {
	count, total := make(map[StepKind]int), make(map[int]int64)
	for i := s.First; i < s.Last; i++ {
		x := &e.Each[i]
		count[x.Kind]++
		if total[x.Group] += s.All[i].LenNs(); total[x.Group] > total[e.Head] {
			e.Head = x.Group
		}
	}
	if len(count) < 2 {
		return
	}
	var kinds []string
	for _, k := range slices.Sorted(maps.Keys(count)) {
		kinds = append(kinds, fmt.Sprintf("%d %s", count[k], k))
	}
	s.Note = join(s.Note, "the steps asked for are of several kinds, and means are over all of them: "+
		strings.Join(kinds, ", "))
}

// Outside is the time of the capture that lies in none of its engine steps, of the mean device.
type Outside struct {
	Ns      int64
	BusyNs  int64 // the GPU works
	Longest interval.Span
}

// Outside finds what GPU work spans and no engine step does.
func (f *Facts) Outside(s *Steps) Outside {
	var o Outside
	w, n := f.Work(), int64(max(1, len(f.Devices())))
	if s.Engine == nil || !s.Device || w.Len() == 0 {
		return o
	}
	whole := interval.Span{StartNs: w.StartNs[0], EndNs: slices.Max(w.EndNs)}
	steps := interval.Union(slices.Clone(s.All))
	gaps := steps.Gaps(whole)
	for _, g := range gaps {
		o.Ns += g.LenNs()
		if g.LenNs() > o.Longest.LenNs() {
			o.Longest = g
		}
	}
	c := covering{steps: gaps, ns: make([]int64, len(gaps)), byDevice: make(map[uint32]*coverEdge)}
	for i := range w.Len() {
		c.add(w.Device[i], interval.Span{StartNs: w.StartNs[i], EndNs: w.EndNs[i]})
	}
	for _, ns := range c.ns {
		o.BusyNs += ns / n
	}
	return o
}

// InOrder is the groups by kind and then by size: the order in which people read them.
func (e *EngineSteps) InOrder() []*EngineGroup {
	var out []*EngineGroup
	for i := range e.Groups {
		out = append(out, &e.Groups[i])
	}
	slices.SortStableFunc(out, func(a, b *EngineGroup) int {
		return cmp.Or(cmp.Compare(slices.Index(StepKinds, a.Kind), slices.Index(StepKinds, b.Kind)),
			cmp.Compare(a.Bucket, b.Bucket))
	})
	return out
}
