package facts

import (
	"cmp"
	"slices"

	"lacuna/internal/base/interval"
	"lacuna/internal/timeline/model"
)

// A trail is what a process did, in the order in which its host did it: the GPU work that it launched, by the start
// of the call; its operators, if the capture has no launched work; failing these its user's ranges that lie within no
// other one. Turns of a loop leave trails that are alike.
type trail struct {
	atNs  []int64
	name  []int32 // a small number for what it is; numbers in names of kernels do not count: sizes choose tiles
	sumNs []int64 // durations of what comes before each, and of all
	of    trailOf

	seen []int32 // scratch: a zero for each name
}

// trailOf is what a trail is made of.
type trailOf uint8

// The kinds of trails.
const (
	trailOfWork trailOf = iota
	trailOfOps
	trailOfRanges
)

// trails is the trail of each process.
func (f *Facts) trails() map[model.ProcessRow]*trail {
	names := make(map[string]int32)
	var steps []trailStep
	of := trailOfWork
	for kind, left := range []func(map[string]int32) []trailStep{f.workSteps, f.opSteps, f.rangeSteps} {
		if steps = left(names); len(steps) > 0 {
			of = trailOf(kind)
			break
		}
	}
	slices.SortStableFunc(steps, func(a, b trailStep) int { return cmp.Compare(a.atNs, b.atNs) })
	out := make(map[model.ProcessRow]*trail)
	for _, s := range steps {
		tr := out[s.process]
		if tr == nil {
			tr = &trail{sumNs: []int64{0}, of: of, seen: make([]int32, len(names))}
			out[s.process] = tr
		}
		tr.atNs, tr.name = append(tr.atNs, s.atNs), append(tr.name, s.name)
		tr.sumNs = append(tr.sumNs, tr.sumNs[len(tr.sumNs)-1]+s.durNs)
	}
	return out
}

type trailStep struct {
	atNs, durNs int64
	process     model.ProcessRow
	name        int32
}

// numbered gives each text a small number of its own.
func numbered(names map[string]int32, text string) int32 {
	n, known := names[text]
	if !known {
		n = int32(len(names))
		names[text] = n
	}
	return n
}

// workSteps is the launched work of all GPUs.
func (f *Facts) workSteps(names map[string]int32) []trailStep {
	t, w := f.Trace, f.Work()
	kernel := judge(&t.Strings, func(name string) int32 { return numbered(names, familyKey(name)) })
	var out []trailStep
	for i, call := range w.Call {
		if call == NoCall {
			continue
		}
		s := trailStep{atNs: t.Calls.StartNs[call], durNs: w.EndNs[i] - w.StartNs[i],
			process: f.ProcessOf(t.Calls.Thread[call])}
		switch w.Kind[i] {
		case WorkKernel, WorkComm:
			s.name = kernel(t.Kernels.Name[w.Row[i]])
		default:
			s.name = numbered(names, f.WorkName(i))
		}
		out = append(out, s)
	}
	return out
}

// opSteps is the operators of all threads.
func (f *Facts) opSteps(names map[string]int32) []trailStep {
	t := f.Trace
	op := judge(&t.Strings, func(name string) int32 { return numbered(names, name) })
	var out []trailStep
	for i, id := range t.Ops.Name {
		out = append(out, trailStep{atNs: t.Ops.StartNs[i], durNs: max(t.Ops.DurNs[i], 0), name: op(id),
			process: f.ProcessOf(t.Ops.Thread[i])})
	}
	return out
}

// rangeSteps is the user's ranges of all threads that lie within no other one.
func (f *Facts) rangeSteps(names map[string]int32) []trailStep {
	t, makers := f.Trace, f.rangeMakers()
	key := judge(&t.Strings, func(name string) int32 { return numbered(names, turnKey(name)) })
	until := make(map[model.ThreadRow]int64)
	var out []trailStep
	for i, id := range t.Ranges.Name {
		th, startNs := t.Ranges.Thread[i], t.Ranges.StartNs[i]
		if end, open := until[th]; makers[i] != RangeUser || t.Ranges.DurNs[i] == model.OpenDurNs ||
			open && startNs < end {
			continue
		}
		until[th] = t.Ranges.EndNs(i)
		out = append(out, trailStep{atNs: startNs, durNs: max(t.Ranges.DurNs[i], 0), name: key(id),
			process: f.ProcessOf(th)})
	}
	return out
}

// rows is the part of the trail that was left within span.
func (tr *trail) rows(span interval.Span) (from, to int) {
	from, _ = slices.BinarySearch(tr.atNs, span.StartNs)
	to, _ = slices.BinarySearch(tr.atNs[from:], span.EndNs)
	return from, from + to
}

// ns is how long what was done within span lasted.
func (tr *trail) ns(span interval.Span) int64 {
	from, to := tr.rows(span)
	return tr.sumNs[to] - tr.sumNs[from]
}

// allNs is the same of the whole trail.
func (tr *trail) allNs() int64 { return tr.sumNs[len(tr.sumNs)-1] }

// alike is the share of what was done within two spans that they have in common: of the longer one.
func (tr *trail) alike(a, b interval.Span) float64 {
	aFrom, aTo := tr.rows(a)
	bFrom, bTo := tr.rows(b)
	both := 0
	for _, n := range tr.name[aFrom:aTo] {
		tr.seen[n]++
	}
	for _, n := range tr.name[bFrom:bTo] {
		if tr.seen[n] > 0 {
			both++
		}
		tr.seen[n]--
	}
	for _, n := range tr.name[aFrom:aTo] {
		tr.seen[n] = 0
	}
	for _, n := range tr.name[bFrom:bTo] {
		tr.seen[n] = 0
	}
	return float64(both) / float64(max(aTo-aFrom, bTo-bFrom, 1))
}

// kinds is how many different things were done within span.
func (tr *trail) kinds(span interval.Span) int {
	from, to := tr.rows(span)
	names := slices.Clone(tr.name[from:to])
	slices.Sort(names)
	return len(slices.Compact(names))
}

// usuallyAlike says whether the usual turn is like the one lag turns before it.
func (tr *trail) usuallyAlike(turns []interval.Span, lag int) bool {
	var like, all int
	for i := lag; i < len(turns); i++ {
		all++
		if tr.alike(turns[i-lag], turns[i]) >= minTurnAlike {
			like++
		}
	}
	return all > 0 && 2*like > all
}
