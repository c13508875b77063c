package facts

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"lacuna/internal/base/interval"
	"lacuna/internal/timeline/model"
)

// PyTorch marks by itself what comes once in each turn of a training loop: the optimizer's step, which ends a turn,
// and the data loader's next batch, which begins one. Where a loop has several optimizers or accumulates gradients
// over several batches, the turn is from one update to the next like it.
var (
	optimizerStep = regexp.MustCompile(`^Optimizer\.step#`)
	loaderNext    = regexp.MustCompile(`^enumerate\(DataLoader\)#.*__next__`)
)

const (
	minBeats      = 3 // marks of a kind; fewer do not show that they come back
	maxOptimizers = 4 // marks of the optimizer in a turn that are tried: generator and discriminator, actor and critics
)

// findBeats notes the turns by the marks of the optimizer and of the data loader, and makes markers of them: of the
// optimizer's before the loader's, which also serves evaluation, unless both come as often.
func (l *loopFinder) findBeats() Markers {
	optimizer, ofOptimizer := l.beats(optimizerStep)
	loader, ofLoader := l.beats(loaderNext)
	if len(optimizer) >= minBeats {
		l.updates, l.updater = optimizer, ofOptimizer
		var ends []int64
		for _, s := range optimizer {
			ends = append(ends, s.EndNs)
		}
		l.optimizer = l.turnsByUpdates(ends, l.trailOf(ofOptimizer))
	}
	if len(loader) >= minBeats {
		l.loader = l.turnsFrom(startsOf(loader))
	}
	byOptimizer := beatTurns{l.optimizer, ofOptimizer, "the end of one Optimizer.step to that of the next"}
	byLoader := beatTurns{l.loader, ofLoader, "one batch of the data loader to the next"}
	order := []beatTurns{byOptimizer, byLoader}
	if d := len(l.loader) - len(l.optimizer); d >= -1 && d <= 1 {
		order = []beatTurns{byLoader, byOptimizer} // as often: it says where a turn begins, the first one too
	}
	for _, b := range order {
		if tr := l.trailOf(b.thread); l.coversLoop(b.turns, tr) {
			return Markers{Source: StepsAnnotation, Spans: b.turns,
				Note: fmt.Sprintf("no step markers: a step is taken to last from %s", b.what)}
		}
	}
	return Markers{}
}

// beatTurns is turns by the marks of a kind.
type beatTurns struct {
	turns  []interval.Span
	thread model.ThreadRow
	what   string
}

// beats is the outermost ranges or operators with such a name, of the thread that has most of them: PyTorch before
// 1.12 recorded its marks as operators.
func (l *loopFinder) beats(name *regexp.Regexp) ([]interval.Span, model.ThreadRow) {
	t := l.f.Trace
	is := judge(&t.Strings, name.MatchString)
	byThread := make(map[model.ThreadRow][]interval.Span)
	best := model.NoThread
	add := func(id model.StringID, th model.ThreadRow, startNs, durNs int64) {
		if !is(id) || durNs == model.OpenDurNs {
			return
		}
		if k := len(byThread[th]); k > 0 && startNs < byThread[th][k-1].EndNs {
			return // an optimizer that wraps another one
		}
		byThread[th] = append(byThread[th], interval.Span{StartNs: startNs, EndNs: startNs + max(durNs, 0)})
		if len(byThread[th]) > len(byThread[best]) {
			best = th
		}
	}
	for i, id := range t.Ranges.Name {
		add(id, t.Ranges.Thread[i], t.Ranges.StartNs[i], t.Ranges.DurNs[i])
	}
	if len(byThread) == 0 {
		for i, id := range t.Ops.Name {
			add(id, t.Ops.Thread[i], t.Ops.StartNs[i], t.Ops.DurNs[i])
		}
	}
	return byThread[best], best
}

// turnsByUpdates is the turns that end with an update of the weights: before the first one, if that is like the
// others; between two; and behind the last one. Of several updates in a turn the turn ends with the one that leaves
// turns that are alike.
func (l *loopFinder) turnsByUpdates(ends []int64, tr *trail) []interval.Span {
	if tr == nil {
		return nil
	}
	between := between(ends)
	group := 1
	for k := 1; k <= maxOptimizers && len(ends) >= minBeats*k; k++ {
		if tr.usuallyAlike(between, k) {
			group = k
			break
		}
	}
	var edges []int64
	for i := (len(ends) - 1) % group; i < len(ends); i += group {
		edges = append(edges, ends[i])
	}
	turns := l.turnsFrom(edges)
	lead := interval.Span{StartNs: min(l.host.StartNs, edges[0]), EndNs: edges[0]}
	if len(turns) > 1 && tr.alike(lead, turns[0]) >= minTurnAlike {
		turns = slices.Insert(turns, 0, lead)
	}
	// What follows the last update need not be another turn: it closes the last one if it begins like one.
	last := len(turns) - 1
	begins := make(map[int32]int)
	for _, s := range turns[:last] {
		if from, to := tr.rows(s); from < to {
			begins[tr.name[from]]++
		}
	}
	if from, to := tr.rows(turns[last]); from < to && begins[tr.name[from]] < last-begins[tr.name[from]] {
		turns = turns[:last]
	}
	return turns
}

// coversLoop says whether turns hold most of the work and nearly each has some. The last one has no end.
func (l *loopFinder) coversLoop(turns []interval.Span, tr *trail) bool {
	if tr == nil || len(turns) < minBeats || tr.allNs() == 0 {
		return false
	}
	busy := 0
	for _, s := range turns[:len(turns)-1] {
		if from, to := tr.rows(s); from < to {
			busy++
		}
	}
	loop := interval.Span{StartNs: turns[0].StartNs, EndNs: turns[len(turns)-1].StartNs}
	return float64(tr.ns(loop)) >= minCovered*float64(tr.allNs()) &&
		float64(busy) >= minBusyTurns*float64(len(turns)-1)
}

// minInside is the share of the work that the turns inside a lone step must hold to be the steps.
const minInside = 0.9

// insideOne looks into the profiler's step where only one has work: around a whole loop, as where the program does not
// tell the profiler of each turn, it is none. A step that updates the weights once is one, whatever repeats in it.
func (f *Facts) insideOne(m Markers) Markers {
	if m.Source != StepsProfilerStep || found(f.firstsIn(m.Spans, func(Lane) bool { return true })) > 1 {
		return m
	}
	l := f.loopFinder()
	tr := l.trailOf(f.Trace.Ranges.Thread[m.Rows[0]])
	if tr == nil {
		return m
	}
	only := -1
	for i, s := range m.Spans {
		if from, to := tr.rows(s); from == to {
			continue
		}
		if only >= 0 {
			return m
		}
		only = i
	}
	if only < 0 {
		return m
	}
	updates, _ := l.beats(optimizerStep)
	if n := len(updates); n > 0 && n < minBeats {
		return m
	}
	turns := l.markers(false)
	busy, ns := 0, int64(0)
	for _, s := range turns.Spans {
		if from, to := tr.rows(s); from < to && m.Spans[only].Contains(s.StartNs) {
			busy, ns = busy+1, ns+tr.ns(s)
		}
	}
	if busy < minBeats || float64(ns) < minInside*float64(tr.allNs()) {
		return m
	}
	turns.Note = strings.TrimPrefix(turns.Note, "no step markers: ")
	turns.Note = fmt.Sprintf("one step marker, %s, lies around %d turns of a loop: %s",
		f.Trace.Strings.Text(f.Trace.Ranges.Name[m.Rows[only]]), busy, turns.Note)
	return turns
}
