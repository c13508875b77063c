package facts

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"sort"
	"strings"

	"lacuna/internal/base/interval"
	"lacuna/internal/timeline/model"
)

// EngineMarks is the ranges in which a serving engine says what its iterations work on, ordered by start; of one
// thread, and none within another.
type EngineMarks struct {
	Engine string // whose form most of them have: "vllm"
	Weak   bool   // they hold iterations and say nothing of them
	Marks  []EngineMark
	Note   string // what a reader must know, or ""

	joined map[string]string // engines of which marks lie within another's, and that one: they are one engine
	others interval.Set      // marks of other engines on the same thread: what is launched in them is none of a step's
}

// An EngineMark is one of them.
type EngineMark struct {
	interval.Span
	Row uint32 // of Ranges
	Batch
	Open bool // it was not closed when the capture ended

	engine  string
	kernels int64 // launched in it
	gpuNs   int64 // of what is launched in it
}

// EngineMarks finds the marks of a serving engine; nil: there are none. Where several threads have some, those in which
// most GPU time was launched count: an engine writes its marks where it launches.
func (f *Facts) EngineMarks() *EngineMarks {
	return f.kept.engineMarks.of(f, func(f *Facts) *EngineMarks {
		all, weak := f.markRanges(EngineBatch), false
		if len(all) == 0 {
			all, weak = f.markRanges(weakBatch), true
		}
		if len(all) == 0 {
			return nil
		}
		e := &EngineMarks{Weak: weak}
		f.keepOutermost(e, all)
		if !weak {
			e.keepLargest()
		}
		if weak && !f.holdsMostWork(e.Marks) {
			return nil
		}
		e.Engine = commonest(e.Marks)
		f.findDrafts(e.Marks)
		return e
	})
}

// markRanges is the ranges whose names read understands. Names are judged once each.
func (f *Facts) markRanges(read func(name string) (string, Batch)) []EngineMark {
	t := f.Trace
	type said struct {
		engine string
		Batch
	}
	judged := judge(&t.Strings, func(name string) said {
		engine, b := read(name)
		return said{engine, b}
	})
	var out []EngineMark
	for i, id := range t.Ranges.Name {
		if x := judged(id); x.engine != "" && f.steps.takesEngine(x.engine) {
			s := interval.Span{StartNs: t.Ranges.StartNs[i], EndNs: t.Ranges.EndNs(i)}
			open := t.Ranges.DurNs[i] == model.OpenDurNs
			if open {
				s.EndNs = maxTime
			}
			out = append(out, EngineMark{Span: s, Row: uint32(i), Batch: x.Batch, Open: open, engine: x.engine})
		}
	}
	return out
}

// keepOutermost keeps of marks that nest the outermost, which gets from those inside what it does not say itself; and
// of the threads the one in whose marks most GPU time is launched.
func (f *Facts) keepOutermost(e *EngineMarks, all []EngineMark) {
	thread := func(m *EngineMark) model.ThreadRow { return f.Trace.Ranges.Thread[m.Row] }
	byThread := make(map[model.ThreadRow][]EngineMark)
	var threads []model.ThreadRow
	for _, m := range all { // ordered by start, then longest first, as ranges are
		th := thread(&m)
		list := byThread[th]
		if list == nil {
			threads = append(threads, th)
		}
		if n := len(list); n > 0 && m.StartNs < list[n-1].EndNs {
			if !list[n-1].Open {
				e.join(list[n-1].engine, m.engine)
				list[n-1].learn(&m)
				continue
			}
			list[n-1].EndNs = m.StartNs // never closed: what comes behind it is not in it
		}
		byThread[th] = append(list, m)
	}
	launched := make(map[model.ThreadRow]int64)
	for _, th := range threads {
		launched[th] = f.countKernels(th, byThread[th])
	}
	covered := func(th model.ThreadRow) (ns int64) {
		for _, m := range byThread[th] {
			if !m.Open {
				ns += m.LenNs()
			}
		}
		return ns
	}
	slices.SortStableFunc(threads, func(a, b model.ThreadRow) int {
		return cmp.Or(cmp.Compare(launched[b], launched[a]), cmp.Compare(covered(b), covered(a)))
	})
	e.Marks = byThread[threads[0]]
	var others []EngineMark
	for _, th := range threads[1:] {
		others = append(others, byThread[th]...)
	}
	if len(others) > 0 {
		e.Note = fmt.Sprintf("engine marks on %d threads: the report is on the %d of the thread that launches most "+
			"GPU time, not on the other %d", len(threads), len(e.Marks), len(others))
		if engine := commonest(others); engine != commonest(e.Marks) {
			e.Note += fmt.Sprintf(", of %s (--engine %s)", engine, engine)
		}
	}
}

// learn takes from a mark inside what this one does not say. A mark inside that is of another kind knows only a part.
func (m *EngineMark) learn(inner *EngineMark) {
	if m.engine == sharedForm { // the other is the engine's own
		m.engine = inner.engine
	}
	if m.Kind == KindOther && m.Requests == NotSaid {
		m.Batch = inner.Batch
		return
	}
	if m.Kind != inner.Kind || m.Requests != NotSaid && inner.Requests != NotSaid && m.Requests != inner.Requests {
		return
	}
	for _, x := range []struct{ has, gets *int64 }{
		{&inner.Requests, &m.Requests}, {&inner.Prefill, &m.Prefill}, {&inner.Decode, &m.Decode},
		{&inner.PrefillTokens, &m.PrefillTokens}, {&inner.DecodeTokens, &m.DecodeTokens}, {&inner.Tokens, &m.Tokens},
		{&inner.Padded, &m.Padded},
	} {
		if *x.gets == NotSaid {
			*x.gets = *x.has
		}
	}
}

// countKernels notes how many kernels a thread launched in each of its marks on the device that steps are anchored on,
// and sums their time.
func (f *Facts) countKernels(th model.ThreadRow, marks []EngineMark) (ns int64) {
	t, w, device := f.Trace, f.Work(), f.Busiest().Device
	for i, call := range w.Call {
		if call == NoCall || t.Calls.Thread[call] != th || w.Device[i] != device {
			continue
		}
		at := t.Calls.StartNs[call]
		k := sort.Search(len(marks), func(k int) bool { return marks[k].EndNs > at })
		if k < len(marks) && marks[k].Contains(at) {
			ns += w.EndNs[i] - w.StartNs[i]
			marks[k].gpuNs += w.EndNs[i] - w.StartNs[i]
			if w.Kind[i].IsCompute() {
				marks[k].kernels++
			}
		}
	}
	return ns
}

// holdsMostWork says whether most of the capture's GPU time is launched within marks. Ranges whose names say nothing
// of an iteration are believed only if they are what the capture is about.
func (f *Facts) holdsMostWork(marks []EngineMark) bool {
	t, w := f.Trace, f.Work()
	var inside, all int64
	for i, call := range w.Call {
		ns := w.EndNs[i] - w.StartNs[i]
		all += ns
		if call == NoCall {
			continue
		}
		at := t.Calls.StartNs[call]
		k := sort.Search(len(marks), func(k int) bool { return marks[k].EndNs > at })
		if k < len(marks) && marks[k].Contains(at) {
			inside += ns
		}
	}
	return float64(inside) >= minCovered*float64(max(1, all))
}

// commonest is the engine of most marks.
func commonest(marks []EngineMark) string {
	count := make(map[string]int)
	best := ""
	for i := range marks {
		e := marks[i].engine
		if count[e]++; count[e] > count[best] || count[e] == count[best] && e < best {
			best = e
		}
	}
	return best
}

// draftKernels is the most kernels that a draft model launches, as a share of the model that it drafts for: it has one
// or a few layers where that has dozens.
const draftKernels = 0.5

// findDrafts finds the marks of a draft model that are written like those of the model it drafts for: each prompt is
// marked twice then, and its tokens would count twice.
//
//   - A mark within a range called draft.
//   - A prefill of as many requests and tokens as the mark before it, with at most half of its kernels.
//   - Where tokens are verified, a decode with at most half of the kernels of that.
func (f *Facts) findDrafts(marks []EngineMark) {
	t, tree := f.Trace, f.RangeTree()
	inDraft := func(row uint32) bool {
		for p := tree.Parent[row]; p != NotNested; p = tree.Parent[p] {
			if name := t.Strings.Text(t.Ranges.Name[p]); name == "draft" || strings.HasPrefix(name, "draft_") {
				return true
			}
		}
		return false
	}
	var verifying []int64
	for i := range marks {
		if marks[i].Kind == KindVerify {
			verifying = append(verifying, marks[i].kernels)
		}
	}
	verify := medianOf(verifying)
	few := func(n, of int64) bool { return n > 0 && float64(n) <= draftKernels*float64(of) }
	for i := range marks {
		m := &marks[i]
		switch {
		case m.Kind != KindPrefill && m.Kind != KindDecode:
		case inDraft(m.Row), m.Kind == KindDecode && few(m.kernels, verify):
			m.Kind = KindDraft
		case m.Kind == KindPrefill && i > 0:
			before := &marks[i-1]
			if before.Kind == KindPrefill && before.Requests == m.Requests && before.Tokens == m.Tokens &&
				few(m.kernels, before.kernels) {
				m.Kind = KindDraft
			}
		}
	}
}

// isEngineMark says whether a range of this name marks an iteration of an engine. Marks that say nothing count only
// where the steps are theirs.
func (f *Facts) isEngineMark(name string) bool {
	if engine, _ := EngineBatch(name); engine != "" {
		return true
	}
	if weakMark(name) == "" {
		return false
	}
	e := f.EngineMarks()
	return e != nil && e.Weak
}

// foundByEngine fills s with the steps of an engine's marks, where they mark the steps: before any other marker, and
// those that say nothing of an iteration only before the profiler's.
func (f *Facts) foundByEngine(s *Steps, chosen *regexp.Regexp) bool {
	if chosen != nil {
		return false
	}
	e := f.EngineMarks()
	if e == nil || e.Weak && s.Source != StepsProfilerStep && s.Source != StepsNone {
		return false
	}
	before := *s
	if f.stepsByEngine(s, e); len(s.All) == 0 {
		*s = before
		return false
	}
	return true
}
