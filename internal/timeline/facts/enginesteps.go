package facts

import (
	"cmp"
	"fmt"
	"math/bits"
	"slices"
	"sort"

	"lacuna/internal/base/interval"
	"lacuna/internal/timeline/model"
)

// EngineSteps is what an engine's marks say of the steps that they mark.
type EngineSteps struct {
	Engine string
	Weak   bool // the marks hold iterations and say nothing of them: all are of kind other
	Each   []EngineStep
	Groups []EngineGroup // steps of a kind and size, most time first
	Head   int           // the group that the report is on
	Empty  int           // marks in which nothing was launched
	Cut    int           // marks that were not closed when the capture ended
	Pauses int           // between two steps: the engine had nothing to do, or was stopped
	// Closing is the kind of the last mark, which only ends the step before it; "": that has no mark behind it
	Closing StepKind
}

// An EngineStep is one of Steps.All, by its mark.
type EngineStep struct {
	Batch
	Mark   interval.Span
	Thread model.ThreadRow // of the mark
	Name   model.StringID  // of the mark
	Group  int             // in Groups
	LastNs int64           // end of the last GPU work that began in it
	// it ends with its last GPU work: what follows is no step, or a pause of the engine. Its period is not known.
	Open bool
}

// An EngineGroup is the steps of one kind and of about one size: requests for decoding, tokens where prompts are read.
type EngineGroup struct {
	Kind     StepKind
	By       GroupBy
	Bucket   int64 // the largest size in it, a power of two; 0: the marks do not say
	Name     string
	Requests [2]int64 // least and most; NotSaid
	Tokens   [2]int64
	Steps    []int // positions in Each
	TotalNs  int64
}

// GroupBy is what the size of a group's steps is.
type GroupBy string

// The sizes.
const (
	ByNothing  GroupBy = ""
	ByRequests GroupBy = "batch"
	ByTokens   GroupBy = "tokens"
)

// Closed is the steps of a group whose period is known; all of them, if none is.
func (e *EngineSteps) Closed(g *EngineGroup) []int {
	var out []int
	for _, i := range g.Steps {
		if !e.Each[i].Open {
			out = append(out, i)
		}
	}
	if len(out) == 0 {
		return g.Steps
	}
	return out
}

// SizeOf is the same of the steps from first to before last, by what the first's is judged.
func (e *EngineSteps) SizeOf(first, last int) string {
	g := EngineGroup{Requests: [2]int64{NotSaid, NotSaid}, Tokens: [2]int64{NotSaid, NotSaid}}
	if first < last {
		g.By, _ = sizeOf(&e.Each[first].Batch)
	}
	for i := first; i < last; i++ {
		widen(&g.Requests, e.Each[i].Requests)
		widen(&g.Tokens, e.Each[i].Tokens)
	}
	return g.Size()
}

// Size says of which size the steps of a group are, in words: "batch 17 to 32".
func (g *EngineGroup) Size() string {
	of, what := g.Requests, "batch"
	if g.By == ByTokens {
		of, what = g.Tokens, "tokens"
	}
	switch {
	case g.By == ByNothing:
		return ""
	case of[0] == of[1] && g.By == ByTokens:
		return fmt.Sprintf("%d tokens", of[0])
	case of[0] == of[1]:
		return fmt.Sprintf("batch %d", of[0])
	case g.By == ByTokens:
		return fmt.Sprintf("%d to %d tokens", of[0], of[1])
	}
	return fmt.Sprintf("%s %d to %d", what, of[0], of[1])
}

// stepsByEngine makes device steps of marks: from the first kernel or graph launched in one to that of the next, as
// with any marker. The last one is a step, to the end of the work launched in it, only if no other is of its kind and
// size: it lacks what comes between two steps.
func (f *Facts) stepsByEngine(s *Steps, marks *EngineMarks) {
	e := &EngineSteps{Engine: marks.Engine, Weak: marks.Weak}
	s.Source, s.Marker, s.Engine, s.Note = StepsEngine, marks.Engine, e, marks.Note
	s.markerRows = nil // those of other markers; the engine's marks are known by their names
	spans := make([]interval.Span, len(marks.Marks))
	for i, m := range marks.Marks {
		spans[i] = m.Span
	}
	firsts := f.firstsOn(s.Busiest, spans)
	var edges []int64
	var kept []*EngineMark
	for i := range marks.Marks {
		m := &marks.Marks[i]
		switch {
		case m.Open:
			e.Cut++
		case firsts[i] == noFirst:
			e.Empty++
		}
		if firsts[i] != noFirst && (len(edges) == 0 || firsts[i] > edges[len(edges)-1]) {
			edges, kept = append(edges, firsts[i]), append(kept, m)
		}
	}
	if len(edges) == 0 {
		f.hostEngineSteps(s, marks.Marks)
		return
	}
	s.Device = true
	groups := make(map[groupKey]int)
	for i, m := range kept {
		span := interval.Span{StartNs: edges[i]}
		if i+1 < len(kept) {
			span.EndNs = edges[i+1]
			f.addEngineStep(s, m, span, false, groups)
			continue
		}
		if _, seen := groups[keyOf(m)]; !seen && !m.Open {
			span.EndNs = f.lastWorkIn(m.Span, edges[i])
			f.addEngineStep(s, m, span, true, groups)
		} else {
			e.Closing = m.Kind
		}
	}
	if len(s.All) == 0 { // one mark, which the capture's end cuts
		m := kept[0]
		f.addEngineStep(s, m, interval.Span{StartNs: edges[0], EndNs: f.lastWorkIn(m.Span, edges[0])}, true, groups)
	}
	f.endAtPauses(s)
	f.endAtOthers(s)
	for i := range s.All {
		mark := s.Markers[i]
		end := mark.EndNs
		if i+1 < len(kept) {
			end = kept[i+1].StartNs
		}
		s.Host = append(s.Host, interval.Span{StartNs: mark.StartNs, EndNs: end})
	}
	e.measureGroups(s.All)
}

// groupKey is what puts steps into one group.
type groupKey struct {
	kind   StepKind
	bucket int64
}

func keyOf(m *EngineMark) groupKey {
	_, size := sizeOf(&m.Batch)
	return groupKey{m.Kind, BucketOf(size)}
}

// sizeOf is by what a step's size is judged, and its size: of steps that read prompts their tokens, of others their
// requests.
func sizeOf(b *Batch) (GroupBy, int64) {
	switch b.Kind {
	case KindPrefill, KindMixed:
		if b.Tokens > 0 {
			return ByTokens, b.Tokens
		}
	case KindDecode, KindVerify, KindDraft:
		if b.Requests > 0 {
			return ByRequests, b.Requests
		}
	}
	return ByNothing, 0
}

// BucketOf is the least power of two that is not less than size; 0 of 0.
func BucketOf(size int64) int64 {
	if size <= 0 {
		return 0
	}
	return 1 << bits.Len64(uint64(size-1))
}

// addEngineStep adds a step to s and to its group.
func (f *Facts) addEngineStep(s *Steps, m *EngineMark, span interval.Span, open bool, groups map[groupKey]int) {
	e, t := s.Engine, f.Trace
	key := keyOf(m)
	g, seen := groups[key]
	if !seen {
		g = len(e.Groups)
		groups[key] = g
		by, _ := sizeOf(&m.Batch)
		none := [2]int64{NotSaid, NotSaid}
		name := ""
		if m.Kind == KindOther {
			name = t.Strings.Text(t.Ranges.Name[m.Row])
		}
		e.Groups = append(e.Groups, EngineGroup{Kind: m.Kind, By: by, Bucket: key.bucket, Name: name, Requests: none,
			Tokens: none})
	}
	group := &e.Groups[g]
	group.Steps = append(group.Steps, len(e.Each))
	widen(&group.Requests, m.Requests)
	widen(&group.Tokens, m.Tokens)
	mark := m.Span
	if m.Open {
		mark.EndNs = span.EndNs
	}
	e.Each = append(e.Each, EngineStep{Batch: m.Batch, Mark: mark, Thread: t.Ranges.Thread[m.Row],
		Name: t.Ranges.Name[m.Row], Group: g, LastNs: span.EndNs, Open: open})
	s.All, s.Markers = append(s.All, span), append(s.Markers, mark)
}

func widen(span *[2]int64, n int64) {
	if n == NotSaid {
		return
	}
	if span[0] == NotSaid || n < span[0] {
		span[0] = n
	}
	span[1] = max(span[1], n)
}

// hostEngineSteps makes steps of the host, from each mark's start to the next one's, where nothing is launched in them.
func (f *Facts) hostEngineSteps(s *Steps, marks []EngineMark) {
	groups := make(map[groupKey]int)
	for i := range marks {
		m := &marks[i]
		switch {
		case i+1 < len(marks):
			f.addEngineStep(s, m, interval.Span{StartNs: m.StartNs, EndNs: marks[i+1].StartNs}, false, groups)
		case len(marks) == 1 && !m.Open:
			f.addEngineStep(s, m, m.Span, true, groups)
		}
	}
	if f.Work().Len() > 0 {
		s.Note = join(s.Note, "no kernel is launched inside the engine's marks: steps are those of the host")
	}
	s.Engine.measureGroups(s.All)
}

// firstsOn is the start of the first kernel or graph on lane that was launched inside each of marks, which do not
// overlap; of marks whose work is all on other streams of the device, the first of these; or noFirst.
func (f *Facts) firstsOn(lane Lane, marks []interval.Span) []int64 {
	t, w := f.Trace, f.Work()
	out, others := make([]int64, len(marks)), make([]int64, len(marks))
	for i := range out {
		out[i], others[i] = noFirst, noFirst
	}
	for i, call := range w.Call { // in order of start: the first that is found is the first
		if call == NoCall || !w.Kind[i].IsCompute() || w.Device[i] != lane.Device {
			continue
		}
		at := t.Calls.StartNs[call]
		k := sort.Search(len(marks), func(k int) bool { return marks[k].EndNs > at })
		if k == len(marks) || !marks[k].Contains(at) {
			continue
		}
		first := &others[k]
		if w.Stream[i] == lane.Stream {
			first = &out[k]
		}
		if *first == noFirst {
			*first = w.StartNs[i]
		}
	}
	for i := range out {
		if out[i] == noFirst {
			out[i] = others[i]
		}
	}
	return out
}

const (
	// pauseGaps is how many times the usual gap between two steps a pause is at least, and pauseSteps how many times
	// the usual step: an engine that has requests goes on at once, and what it does between two steps takes about as
	// long each time.
	pauseGaps  = 10
	pauseSteps = 1
)

// endAtPauses ends steps with their last GPU work where the engine paused: no mark is open, and the GPU is idle, for
// much longer than between other steps. Whether there were no requests or the host was stopped no mark says.
func (f *Facts) endAtPauses(s *Steps) {
	e := s.Engine
	f.lastWorks(s)
	gap := func(i int) int64 { // in which no mark is open
		if e.Each[i].Open {
			return 0
		}
		return max(0, f.nextMarkNs(s, i)-max(e.Each[i].Mark.EndNs, e.Each[i].LastNs))
	}
	var gaps, busy []int64
	for i := range s.All {
		busy = append(busy, e.Each[i].LastNs-s.All[i].StartNs)
		if !e.Each[i].Open {
			gaps = append(gaps, gap(i))
		}
	}
	usualStep := medianOf(busy)
	for i := range s.All {
		g := gap(i)
		usual := usualStep // where there is no other gap to compare with
		if len(gaps) > 1 {
			usual = medianOf(slices.Clone(gaps))
		}
		if g > pauseGaps*usual && g > pauseSteps*usualStep && g > 0 {
			s.All[i].EndNs, e.Each[i].Open = e.Each[i].LastNs, true
			e.Pauses++
		}
	}
}

// nextMarkNs is when the mark behind step i begins.
func (f *Facts) nextMarkNs(s *Steps, i int) int64 {
	if i+1 < len(s.Markers) {
		return s.Markers[i+1].StartNs
	}
	marks := f.EngineMarks().Marks
	n, _ := slices.BinarySearchFunc(marks, s.Markers[i].StartNs+1,
		func(m EngineMark, ns int64) int { return cmp.Compare(m.StartNs, ns) })
	if n < len(marks) {
		return marks[n].StartNs
	}
	return s.Markers[i].EndNs
}

// lastWorks notes for each step the end of the last GPU work that began in it, at most the step's. What the next mark
// launches before its first kernel, such as the copy of its inputs, is not of this step.
func (f *Facts) lastWorks(s *Steps) {
	t, w, e, step := f.Trace, f.Work(), s.Engine, 0
	for i := range e.Each {
		e.Each[i].LastNs = s.All[i].StartNs
	}
	for i, start := range w.StartNs {
		for step < len(s.All) && s.All[step].EndNs <= start {
			step++
		}
		if step < len(s.All) && s.All[step].Contains(start) {
			if call := w.Call[i]; call != NoCall && step+1 < len(s.Markers) &&
				t.Calls.StartNs[call] >= s.Markers[step+1].StartNs {
				continue
			}
			e.Each[step].LastNs = min(max(e.Each[step].LastNs, w.EndNs[i]), s.All[step].EndNs)
		}
	}
}

// measureGroups sums the time of each group, and puts them in order: most time first.
func (e *EngineSteps) measureGroups(all []interval.Span) {
	for g := range e.Groups {
		for _, i := range e.Groups[g].Steps {
			e.Groups[g].TotalNs += all[i].LenNs()
		}
	}
	order := make([]int, len(e.Groups))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(e.Groups[b].TotalNs, e.Groups[a].TotalNs) })
	groups := make([]EngineGroup, len(order))
	for to, from := range order {
		groups[to] = e.Groups[from]
		for _, i := range groups[to].Steps {
			e.Each[i].Group = to
		}
	}
	e.Groups = groups
}
