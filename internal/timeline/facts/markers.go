package facts

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"lacuna/internal/base/interval"
	"lacuna/internal/timeline/model"
)

// StepSource says what marks the steps, best first.
type StepSource string

// The sources of steps.
const (
	StepsEngine       StepSource = "engine" // marks of a serving engine
	StepsNVTX         StepSource = "nvtx"
	StepsAnnotation   StepSource = "annotation"
	StepsProfilerStep StepSource = "profiler_step"
	StepsPeriodicity  StepSource = "periodicity"
	StepsNone         StepSource = "none"
)

// stepName is the names that mark a step by themselves: a word and a number, and nothing else.
var stepName = regexp.MustCompile(`(?i)^(step|iter|iteration|batch)[_#: ]*\d+$`)

// profilerStep is the range that PyTorch's profiler puts around a step.
var profilerStep = regexp.MustCompile(`^ProfilerStep#\d+$`)

// IsStepName says whether a range of this name marks a step.
func IsStepName(name string) bool {
	// Names are checked by the million: the first letter rules out nearly all.
	if name == "" || !strings.ContainsRune("sSiIbB", rune(name[0])) {
		return false
	}
	return stepName.MatchString(name)
}

// IsProfilerStep says whether name is that of a profiler's step: ProfilerStep#3.
func IsProfilerStep(name string) bool { return profilerStep.MatchString(name) }

// Markers is the ranges that mark steps, ordered by start.
type Markers struct {
	Source StepSource
	Name   string   // what they are called: the word that they begin with
	Rows   []uint32 // the ranges; nil where Spans are the time from one sign of a turn to the next
	Spans  []interval.Span
	Note   string // what a reader must know of them, or ""
}

// Markers finds the step markers. chosen, if not nil, picks ranges by name instead.
func (f *Facts) markers(chosen *regexp.Regexp) Markers {
	if chosen != nil {
		rows := f.markerRows(func(_ model.RangeKind, name string) bool { return chosen.MatchString(name) })
		return f.markersAt(StepsNVTX, f.outermost(f.oneProcess(rows)))
	}
	note := ""
	for _, try := range []struct {
		source StepSource
		is     func(model.RangeKind, string) bool
	}{
		{StepsNVTX, func(k model.RangeKind, name string) bool {
			return (k == model.RangePushPop || k == model.RangeStartEnd) && IsStepName(name)
		}},
		{StepsAnnotation, func(k model.RangeKind, name string) bool {
			return k == model.RangeAnnotation &&
				IsStepName(name)
		}},
		{StepsProfilerStep, func(k model.RangeKind, name string) bool { return IsProfilerStep(name) }},
	} {
		m := f.markersAt(try.source, f.oneProcess(f.oneFamily(f.markerRows(try.is))))
		if f.isStub(m) {
			note = fmt.Sprintf("the only step marker, %s, holds next to nothing of what was recorded",
				f.Trace.Strings.Text(f.Trace.Ranges.Name[m.Rows[0]]))
		} else if len(m.Spans) > 0 {
			return f.insideOne(m)
		}
	}
	m := f.loopMarkers()
	m.Note = join(note, m.Note)
	return m
}

// minInStub is the share of what was done that a lone marker must hold: a profiler that is stopped before the program
// tells it of a second turn leaves one that begins when all is done, and holds nothing or a call at its edge.
const minInStub = 0.01

// isStub says whether markers are a single one that is open while next to nothing is done.
func (f *Facts) isStub(m Markers) bool {
	if len(m.Spans) != 1 || m.Source != StepsProfilerStep {
		return false // a range that the program named is what it measures
	}
	tr := f.trails()[f.ProcessOf(f.Trace.Ranges.Thread[m.Rows[0]])]
	return tr != nil && tr.of != trailOfRanges && float64(tr.ns(m.Spans[0])) < minInStub*float64(tr.allNs())
}

// markerRows is the closed ranges that is accepts. Names are judged once each.
func (f *Facts) markerRows(is func(model.RangeKind, string) bool) []uint32 {
	t := f.Trace
	judged := make(map[model.StringID]map[model.RangeKind]bool)
	var rows []uint32
	for i, id := range t.Ranges.Name {
		kind := t.Ranges.Kind[i]
		byKind := judged[id]
		if byKind == nil {
			byKind = make(map[model.RangeKind]bool, 1)
			judged[id] = byKind
		}
		yes, seen := byKind[kind]
		if !seen {
			yes = is(kind, t.Strings.Text(id))
			byKind[kind] = yes
		}
		if yes && t.Ranges.DurNs[i] != model.OpenDurNs {
			rows = append(rows, uint32(i))
		}
	}
	return rows
}

// markersAt is the markers that rows of Ranges are.
func (f *Facts) markersAt(source StepSource, rows []uint32) Markers {
	t := f.Trace
	m := Markers{Source: source}
	for _, r := range rows {
		s := interval.Span{StartNs: t.Ranges.StartNs[r], EndNs: t.Ranges.EndNs(int(r))}
		if n := len(m.Spans); n > 0 && m.Spans[n-1] == s {
			continue // the same marker twice: two domains, or a profiler's copy
		}
		m.Rows, m.Spans = append(m.Rows, r), append(m.Spans, s)
	}
	if len(rows) > 0 {
		m.Name = f.markerName(rows)
	}
	return m
}

// markerName is what markers are called: one name without its last number, several with a * where they count.
func (f *Facts) markerName(rows []uint32) string {
	t := f.Trace
	first := t.Strings.Text(t.Ranges.Name[rows[0]])
	name := family(first)
	for _, r := range rows {
		other := t.Strings.Text(t.Ranges.Name[r])
		if family(other) == name {
			continue
		}
		if familyKey(other) == familyKey(first) {
			return familyKey(first)
		}
	}
	return name
}

// family is a marker's name without its number.
func family(name string) string { return strings.ToLower(strings.TrimRight(name, "0123456789")) }

// oneFamily keeps the outermost kind of marker where several nest, such as batch_0 … batch_3 inside step_7.
func (f *Facts) oneFamily(rows []uint32) []uint32 {
	t := f.Trace
	cover := make(map[string]int64)
	for _, r := range rows {
		cover[family(t.Strings.Text(t.Ranges.Name[r]))] += max(t.Ranges.DurNs[r], 0)
	}
	return mostOf(rows, cover, func(r uint32) string { return family(t.Strings.Text(t.Ranges.Name[r])) })
}

// maxAtOnce is the share of the time of markers on several threads in which more than one may be open: above it the
// threads work at the same time, each on steps of its own.
const maxAtOnce = 0.25

// outermost keeps the ranges that do not lie within another one of them on their thread, and those of one thread
// where several work at the same time: names that were asked for may differ in more than a number.
func (f *Facts) outermost(rows []uint32) []uint32 {
	t := f.Trace
	cover, end := make(map[model.ThreadRow]int64), make(map[model.ThreadRow]int64)
	var out []uint32
	var spans []interval.Span
	var sumNs int64
	for _, r := range rows {
		th, span := t.Ranges.Thread[r], interval.Span{StartNs: t.Ranges.StartNs[r], EndNs: t.Ranges.EndNs(int(r))}
		if last, seen := end[th]; seen && span.EndNs <= last {
			continue
		}
		end[th] = span.EndNs
		cover[th] += span.LenNs()
		sumNs += span.LenNs()
		out, spans = append(out, r), append(spans, span)
	}
	if float64(sumNs-interval.UnionSorted(spans).TotalNs()) <= maxAtOnce*float64(sumNs) {
		return out
	}
	return mostOf(out, cover, func(r uint32) model.ThreadRow { return t.Ranges.Thread[r] })
}

// oneProcess keeps the markers of one process where several mark steps: of two ranks in one
// capture, the one whose markers cover more.
func (f *Facts) oneProcess(rows []uint32) []uint32 {
	t := f.Trace
	cover := make(map[model.ProcessRow]int64)
	for _, r := range rows {
		cover[f.ProcessOf(t.Ranges.Thread[r])] += max(t.Ranges.DurNs[r], 0)
	}
	return mostOf(rows, cover, func(r uint32) model.ProcessRow { return f.ProcessOf(t.Ranges.Thread[r]) })
}

// mostOf keeps the rows of the key that covers most; ties go to the smaller key.
func mostOf[K cmp.Ordered](rows []uint32, cover map[K]int64, key func(uint32) K) []uint32 {
	if len(cover) < 2 {
		return rows
	}
	var keys []K
	for k := range cover {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b K) int { return cmp.Or(cmp.Compare(cover[b], cover[a]), cmp.Compare(a, b)) })
	return slices.DeleteFunc(slices.Clone(rows), func(r uint32) bool { return key(r) != keys[0] })
}

// ProcessOf is the process of a thread, or NoProcess.
func (f *Facts) ProcessOf(th model.ThreadRow) model.ProcessRow {
	if int(th) < len(f.Trace.Threads) {
		return f.Trace.Threads[th].Process
	}
	return model.NoProcess
}
