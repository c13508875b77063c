package facts

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"lacuna/internal/base/interval"
)

// NoEngine asks for steps by other means than an engine's marks.
const NoEngine = "none"

// Engines is the serving engines whose marks are known.
func Engines() (out []string) {
	for i := range engineMarks {
		if e := engineMarks[i].engine; !slices.Contains(out, e) {
			out = append(out, e)
		}
	}
	return out
}

// takesEngine says whether marks of an engine count.
func (o *StepOptions) takesEngine(engine string) bool { return o.Engine == "" || o.Engine == engine }

// An EngineError says that a capture has no marks of the engine that was asked for.
type EngineError struct {
	Asked string
	Have  []string // engines of which it has marks
}

func (e *EngineError) Error() string {
	have := "none of any other either"
	if len(e.Have) > 0 {
		have = "it has marks of " + strings.Join(e.Have, " and ")
	}
	return fmt.Sprintf("--engine %s: the capture has no marks of this engine; %s", e.Asked, have)
}

// checkEngine refuses an engine that marks nothing in the capture.
func (f *Facts) checkEngine(opt StepOptions) error {
	if opt.Engine == "" || opt.Engine == NoEngine || f.EngineMarks() != nil {
		return nil
	}
	return &EngineError{opt.Engine, f.markedBy()}
}

// markedBy is the engines of which the capture has marks, in the order of Engines.
func (f *Facts) markedBy() (out []string) {
	t := f.Trace
	said := judge(&t.Strings, func(name string) string {
		engine, _ := EngineBatch(name)
		return engine
	})
	seen := make(map[string]bool)
	for _, id := range t.Ranges.Name {
		seen[said(id)] = true
	}
	for _, e := range Engines() {
		if seen[e] {
			out = append(out, e)
		}
	}
	return out
}

// weakBatch is EngineBatch of ranges that hold an iteration and do not say of what.
func weakBatch(name string) (engine string, b Batch) { return weakMark(name), unknownBatch() }

// join notes that a mark of one engine lies within one of another: patches write a form of their own around an
// engine's.
func (e *EngineMarks) join(outer, inner string) {
	if outer == inner {
		return
	}
	if e.joined == nil {
		e.joined = make(map[string]string)
	}
	e.joined[inner] = outer
}

// keepLargest keeps, of marks of several engines that one thread writes, those of the engine that launches most GPU
// time, and names the others.
func (e *EngineMarks) keepLargest() {
	one := func(engine string) string {
		for range len(e.joined) { // of several forms around each other the outermost
			if outer, ok := e.joined[engine]; ok {
				engine = outer
			}
		}
		return engine
	}
	ns, count := make(map[string]int64), make(map[string]int)
	for i := range e.Marks {
		m := &e.Marks[i]
		ns[one(m.engine)] += m.gpuNs
		count[one(m.engine)]++
	}
	if len(ns) < 2 {
		return
	}
	engines := slices.SortedFunc(maps.Keys(ns), func(a, b string) int {
		return cmp.Or(cmp.Compare(ns[b], ns[a]), cmp.Compare(count[b], count[a]), cmp.Compare(a, b))
	})
	var kept []EngineMark
	var others []interval.Span
	for _, m := range e.Marks {
		if one(m.engine) == engines[0] {
			kept = append(kept, m)
		} else {
			others = append(others, m.Span)
		}
	}
	e.Marks, e.others = kept, interval.Union(others)
	var named []string
	for _, x := range engines[1:] {
		named = append(named, fmt.Sprintf("%d of %s (--engine %s)", count[x], x, x))
	}
	e.Note = join(e.Note, fmt.Sprintf("marks of %d engines: the report is on the %d of %s, which launches most GPU "+
		"time, not on the other %s", len(engines), len(kept), engines[0], strings.Join(named, " and ")))
}

// endAtOthers ends steps with the last work launched in their mark where the thread worked for another engine before
// the next.
func (f *Facts) endAtOthers(s *Steps) {
	others := f.EngineMarks().others
	if len(others) == 0 {
		return
	}
	for i := range s.All {
		x := &s.Engine.Each[i]
		between := interval.Span{StartNs: x.Mark.EndNs, EndNs: f.nextMarkNs(s, i)}
		if !x.Open && between.LenNs() > 0 && others.Clip(between).TotalNs() > 0 {
			s.All[i].EndNs = min(s.All[i].EndNs, f.lastWorkIn(x.Mark, s.All[i].StartNs))
			x.Open = true
			x.LastNs = s.All[i].EndNs
		}
	}
}
