package facts

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"lacuna/internal/base/interval"
	"lacuna/internal/timeline/model"
)

// Steps by ranges that repeat, where no range is called a step and nothing else.
//
//  1. A family is the ranges of one thread whose names differ by numbers only. Ranges of a family within each other
//     are one; a family whose ranges overlap is none. What frameworks and libraries mark is left out, but for marks
//     that are known to come once in each turn (see loopbeats.go). Names that say that a turn warms up are left out
//     if others say what counts.
//  2. A family can mark turns if it comes back, the time from its first to its last range holds most of the work of
//     its process, and nearly each turn has work, but for long runs of turns on the CPU. Parts of models (layers,
//     blocks, numbers in a module's path) cannot whatever the rest says, and names whose numbers come back count
//     something inside a turn. Epochs cannot, nor Steps around the ranges step.
//  3. Where PyTorch marks the optimizer or the data loader, a family must come as often.
//  4. Names that people give to turns (step, iteration, batch, token, request, …) are believed. Others must be of
//     turns that are alike and in which the host does what loops do: it hands data over, looks at a result, waits; or
//     that are passes over a whole model (see looppasses.go). Each of another part of a model they are no turns.
//  5. Of those that are left, the outermost: that which comes least often. Of equals, what holds more work.
const (
	minTurns       = 3   // ranges of a family; two where a name says that they are turns
	minTurnWork    = 0.2 // share of the work that is within the ranges; less is a mark beside the loop, such as a log
	minTurnAlike   = 0.75
	minBusyTurns   = 0.9 // share of the turns that have work, or in which the host takes part
	wholeTurn      = 0.8 // ranges that hold so much of the work are the turns; else these last to the next range
	maxRangesTried = 64
)

// A rangeFamily is ranges of one thread that may be the turns of a loop.
type rangeFamily struct {
	key      string
	word     loopWord
	thread   model.ThreadRow
	rows     []uint32
	spans    []interval.Span
	warmUps  []interval.Span // turns that are said to be no more than that
	warmRows []uint32
	overlaps bool
	restarts bool // a name comes back although names differ by numbers
	workNs   int64
}

// A loopFinder looks for the turns of a loop.
type loopFinder struct {
	f         *Facts
	host      interval.Span // from the first to the last event of the host
	trails    map[model.ProcessRow]*trail
	updates   []interval.Span // the optimizer's marks
	updater   model.ThreadRow // their thread
	optimizer []interval.Span // turns by them
	loader    []interval.Span // turns by the data loader's marks
	signs     map[model.ProcessRow][]int64
}

func (f *Facts) loopFinder() *loopFinder {
	return &loopFinder{f: f, host: f.HostSpan(), trails: f.trails()}
}

// turnsFrom is the time from each start to the next; the last turn lasts to the end of what the host did.
func (l *loopFinder) turnsFrom(starts []int64) []interval.Span {
	return between(append(slices.Clip(starts), max(l.host.EndNs, starts[len(starts)-1])))
}

// loopMarkers finds the ranges that mark the turns of a loop.
func (f *Facts) loopMarkers() Markers {
	if f.Trace.Ranges.Len()+f.Trace.Ops.Len() == 0 {
		return Markers{Source: StepsNone}
	}
	return f.loopFinder().markers(true)
}

// markers is the first that there are: ranges that are called turns, the marks of the framework and, if unnamed, ranges
// with other names.
func (l *loopFinder) markers(unnamed bool) Markers {
	beats := l.findBeats()
	named, others := l.eligible(l.families())
	found := []Markers{l.markersOf(l.best(named)), beats}
	if unnamed {
		found = append(found, l.markersOf(l.best(others)))
	}
	for _, m := range found {
		if len(m.Spans) > 0 {
			return m
		}
	}
	return Markers{Source: StepsNone}
}

// families collects the ranges of users by thread and name.
func (l *loopFinder) families() []*rangeFamily {
	t := l.f.Trace
	makers, known := l.f.rangeMakers(), judge(&t.Strings, loopRange.MatchString)
	type name struct {
		key  string
		word loopWord
		warm bool
	}
	judged := judge(&t.Strings, func(text string) *name {
		if emittedName(text) != text {
			return nil
		}
		return &name{turnKey(text), loopWordOf(text), warmUp.MatchString(text)}
	})
	type place struct {
		key    string
		thread model.ThreadRow
	}
	found := make(map[place]*rangeFamily)
	names := make(map[place]map[model.StringID]bool)
	var out []*rangeFamily
	for i, id := range t.Ranges.Name {
		if makers[i] != RangeUser && !known(id) || t.Ranges.DurNs[i] == model.OpenDurNs {
			continue
		}
		n := judged(id)
		if n == nil {
			continue
		}
		at := place{n.key, t.Ranges.Thread[i]}
		fam := found[at]
		if fam == nil {
			fam = &rangeFamily{key: n.key, word: n.word, thread: at.thread}
			found[at], names[at] = fam, make(map[model.StringID]bool)
			out = append(out, fam)
		}
		span := interval.Span{StartNs: t.Ranges.StartNs[i], EndNs: t.Ranges.EndNs(i)}
		if n.warm {
			if k := len(fam.warmUps); k == 0 || span.EndNs > fam.warmUps[k-1].EndNs {
				fam.warmUps, fam.warmRows = append(fam.warmUps, span), append(fam.warmRows, uint32(i))
			}
			continue
		}
		if k := len(fam.spans); k > 0 && span.StartNs < fam.spans[k-1].EndNs {
			fam.overlaps = fam.overlaps || span.EndNs > fam.spans[k-1].EndNs
			continue
		}
		fam.restarts = fam.restarts || names[at][id]
		names[at][id] = true
		fam.rows, fam.spans = append(fam.rows, uint32(i)), append(fam.spans, span)
	}
	for at, fam := range found {
		if len(fam.spans) == 0 && len(fam.warmUps) >= minTurns && fam.word == wordTurn {
			// No other turn counts: these are what there is.
			fam.rows, fam.spans, fam.warmUps = fam.warmRows, fam.warmUps, nil
		}
		fam.restarts = fam.restarts && len(names[at]) > 1
	}
	return out
}

// eligible is the families that can mark turns: those with names that people give to turns, and others.
func (l *loopFinder) eligible(all []*rangeFamily) (named, others []*rangeFamily) {
	slices.SortStableFunc(all, func(a, b *rangeFamily) int { return cmp.Compare(coverNs(b.spans), coverNs(a.spans)) })
	if len(all) > maxRangesTried {
		all = all[:maxRangesTried]
	}
	for _, r := range all {
		switch {
		case isSetOf(r, all) || !l.repeats(r) || !l.fitsBeats(r):
		case r.word == wordTurn:
			named = append(named, r)
		case (r.word == wordNone || r.word == wordPhase) && !r.restarts && !l.inParts(r) && l.looksLikeLoop(r):
			others = append(others, r)
		}
	}
	return named, others
}

// isSetOf says whether a family is named for many of the turns that another one is: Steps around step.
func isSetOf(r *rangeFamily, all []*rangeFamily) bool {
	return slices.ContainsFunc(all, func(s *rangeFamily) bool {
		plural := strings.EqualFold(r.key, s.key+"s") || strings.EqualFold(r.key, s.key+"es")
		return plural && s.word == wordTurn && s.thread == r.thread && len(s.spans) >= minTurns*len(r.spans)
	})
}

func coverNs(spans []interval.Span) int64 {
	var ns int64
	for _, s := range spans {
		ns += s.LenNs()
	}
	return ns
}

// repeats says whether a family comes back and holds the work of its process: rule 2.
func (l *loopFinder) repeats(r *rangeFamily) bool {
	switch n := len(r.spans); {
	case r.overlaps, r.word == wordPart, r.word == wordWhole, n == 0:
		return false
	case n < minTurns && (r.word != wordTurn || n < 2) && !r.afterWarmUp():
		return false
	}
	tr := l.trailOf(r.thread)
	if tr == nil || tr.allNs() == 0 {
		// Nothing is known but the ranges: they must be most of what the thread did, and be called turns.
		return r.word == wordTurn && len(r.spans) >= minTurns &&
			float64(coverNs(r.spans)) >= minCovered*float64(l.host.LenNs())
	}
	for _, s := range r.spans {
		r.workNs += tr.ns(s)
	}
	loop := interval.Span{StartNs: r.spans[0].StartNs, EndNs: r.spans[len(r.spans)-1].EndNs}
	loopNs := tr.ns(loop)
	if !r.afterWarmUp() && float64(loopNs) < minCovered*float64(tr.allNs()) ||
		float64(r.workNs) < minTurnWork*float64(loopNs) {
		return false
	}
	return l.nearlyAllBusy(l.turnsFrom(startsOf(r.spans)), tr)
}

// nearlyAllBusy says whether nearly all turns have work, or those that have none are many in a row: loops of their own
// that run on the CPU.
func (l *loopFinder) nearlyAllBusy(turns []interval.Span, tr *trail) bool {
	busy, changes, was := 0, 0, false
	for i, s := range turns {
		from, to := tr.rows(s)
		is := from < to
		if is {
			busy++
		}
		if i > 0 && is != was {
			changes++
		}
		was = is
	}
	return float64(busy) >= minBusyTurns*float64(len(turns)) || busy >= minRun && changes*minRun <= len(turns)
}

// afterWarmUp says whether a family is turns that count behind others that are said to warm up, with a name that says
// of what they are: one such turn is enough.
func (r *rangeFamily) afterWarmUp() bool {
	return len(r.warmUps) > 0 && (r.word == wordTurn || r.word == wordPhase)
}

// trailOf is the trail of a thread's process.
func (l *loopFinder) trailOf(th model.ThreadRow) *trail { return l.trails[l.f.ProcessOf(th)] }

// fitsBeats says whether a family comes as often as the marks of the optimizer or, failing these, the data loader:
// rule 3. The first or the last turn may lack one.
func (l *loopFinder) fitsBeats(r *rangeFamily) bool {
	beats := l.optimizer
	if len(beats) < 2 {
		beats = l.loader
	}
	if len(beats) < 2 {
		return true
	}
	n, want := len(r.spans)+len(r.warmUps), len(beats)
	return n >= want-2 && n <= want+max(2, want/10)
}

// inParts says whether each turn comes with another part of a model: what a layer does is no step.
func (l *loopFinder) inParts(r *rangeFamily) bool {
	process := l.f.ProcessOf(r.thread)
	loop := interval.Span{StartNs: r.spans[0].StartNs, EndNs: r.spans[len(r.spans)-1].EndNs}
	return l.f.partsWithin(loop, len(r.spans), func(th model.ThreadRow) bool {
		return l.f.ProcessOf(th) == process
	}) != ""
}

// looksLikeLoop says whether the turns of a family are alike and the host takes part in them: rule 4.
func (l *loopFinder) looksLikeLoop(r *rangeFamily) bool {
	tr := l.trailOf(r.thread)
	if tr == nil || r.afterWarmUp() && len(r.spans) < minTurns {
		return tr != nil && tr.alike(r.warmUps[len(r.warmUps)-1], r.spans[0]) >= minTurnAlike
	}
	turns := l.turnsFrom(startsOf(r.spans))
	turns = turns[:len(turns)-1] // the last one's end is not known
	switch {
	case !tr.usuallyAlike(turns, 1):
		return false
	case tr.of == trailOfWork:
		return l.hostIn(turns, l.f.ProcessOf(r.thread)) || l.isWholePass(r, tr)
	case tr.of == trailOfRanges:
		return tr.kinds(turns[len(turns)/2]) > 1 // else the range is all that it is like
	}
	return true
}

// hostIn says whether the host takes part in nearly every turn: data passes between host and device, it waits for the
// device, it launches a graph, or the optimizer runs.
func (l *loopFinder) hostIn(turns []interval.Span, process model.ProcessRow) bool {
	signs := l.signsOf(process)
	n := 0
	for _, s := range turns {
		if i, _ := slices.BinarySearch(signs, s.StartNs); i < len(signs) && signs[i] < s.EndNs {
			n++
		}
	}
	return float64(n) >= minBusyTurns*float64(len(turns))
}

// signsOf is when the host of a process took part.
func (l *loopFinder) signsOf(process model.ProcessRow) []int64 {
	if l.signs == nil {
		l.signs = make(map[model.ProcessRow][]int64)
		t, w := l.f.Trace, l.f.Work()
		add := func(call int32) {
			p := l.f.ProcessOf(t.Calls.Thread[call])
			l.signs[p] = append(l.signs[p], t.Calls.StartNs[call])
		}
		for _, call := range l.f.BlockingCalls() {
			add(call)
		}
		for _, c := range l.f.launchCalls() {
			if c.graph {
				add(c.call)
			}
		}
		for i, call := range w.Call {
			if w.Kind[i] == WorkCopy && call != NoCall && betweenHostAndDevice(t.Copies.Kind[w.Row[i]]) {
				add(call)
			}
		}
		for _, s := range l.updates {
			p := l.f.ProcessOf(l.updater)
			l.signs[p] = append(l.signs[p], s.StartNs)
		}
		for p := range l.signs {
			slices.Sort(l.signs[p])
		}
	}
	return l.signs[process]
}

// best is the outermost of families that can mark turns: rule 5. Two turns are less than three of others.
func (l *loopFinder) best(list []*rangeFamily) *rangeFamily {
	few := func(r *rangeFamily) int {
		if len(r.spans) < minTurns {
			return 1
		}
		return 0
	}
	var best *rangeFamily
	for _, r := range list {
		if best == nil || cmp.Or(cmp.Compare(few(r), few(best)), cmp.Compare(len(r.spans), len(best.spans)),
			cmp.Compare(best.workNs, r.workNs)) < 0 {
			best = r
		}
	}
	return best
}

// markersOf makes a family's ranges step markers. Where most work is launched between them they only say when a
// turn begins.
func (l *loopFinder) markersOf(r *rangeFamily) Markers {
	if r == nil {
		return Markers{}
	}
	name := familyKey(l.f.Trace.Strings.Text(l.f.Trace.Ranges.Name[r.rows[0]]))
	m := Markers{Source: StepsAnnotation, Name: name, Rows: r.rows, Spans: r.spans}
	switch l.f.Trace.Ranges.Kind[r.rows[0]] {
	case model.RangePushPop, model.RangeStartEnd:
		m.Source = StepsNVTX
	}
	switch tr := l.trailOf(r.thread); {
	case r.afterWarmUp() && len(r.spans) < minTurns:
	case r.word == wordPhase || tr != nil && float64(r.workNs) < wholeTurn*float64(tr.ns(
		interval.Span{StartNs: r.spans[0].StartNs, EndNs: r.spans[len(r.spans)-1].EndNs})):
		m.Rows, m.Spans = nil, l.turnsFrom(startsOf(r.spans))
		m.Note = "no step markers: a step is taken to last from one range " + name + " to the next"
	case r.word == wordTurn:
		m.Note = "steps are the ranges " + name
	default:
		m.Note = "no step markers: the ranges " + name + " repeat and are taken as steps"
	}
	switch {
	case len(r.warmUps) > 0:
		m.Note = join(m.Note, "ranges that say that they warm up are left out")
	case warmUp.MatchString(name):
		m.Note = join(m.Note, "they say that they warm up, and there are no others of that name")
	}
	return m
}

// loopRange is what frameworks mark once in each turn, and is therefore looked at like a user's range.
var loopRange = regexp.MustCompile(`^(DistributedDataParallel|DataParallel|FullyShardedDataParallel)\.forward$`)
