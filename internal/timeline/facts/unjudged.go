package facts

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"lacuna/internal/base/interval"
	"lacuna/internal/timeline/model"
)

// Unjudged is the time of a recording that lies before and behind its steps or, where it has none, its main GPU work:
// nothing of it is in any budget.
type Unjudged struct {
	Recorded interval.Span // from the first to the last record of the process that feeds the devices
	Judged   interval.Span // its steps, start-up steps too, or its main GPU work
	Steps    bool          // whether Judged is steps
	Before   UnjudgedPart
	After    UnjudgedPart
}

// An UnjudgedPart is the time before or behind what is judged in which no device works.
type UnjudgedPart struct {
	Ns     int64
	Thread model.ThreadRow // whose doing Host is
	Host   []Doings        // most time first
	Code   IdleCode        // what ran while no call, range or operator was open
	// AgainNs is the part of Ns that is not paid once per run: between the steps and the first or last of the work that
	// is like that of a whole step.
	AgainNs int64
}

// AgainNs is the time outside that lies between other turns of the loop.
func (o *Unjudged) AgainNs() int64 { return o.Before.AgainNs + o.After.AgainNs }

// Ns is the time outside in which no device works.
func (o *Unjudged) Ns() int64 { return o.Before.Ns + o.After.Ns }

// Words is what a thread did, by name and kind: "in cudaFree", "compiling (XlaCompile and others)".
func (p *UnjudgedPart) Words(d Doings) string {
	name := d.What
	if d.More > 0 {
		name += " and others"
	}
	switch d.Kind {
	case DoingNamed:
		return "in " + name
	case DoingUnnamed:
		return p.codeWords(d.Ns)
	}
	return string(d.Kind) + " (" + name + ")"
}

// A function is worth a name from a tenth of the time on that no call, range or operator names; so many are named.
const (
	codeShare = 0.10
	codeNames = 2
)

// kernelModule is the module of the operating system's own code.
const kernelModule = "[kernel.kallsyms]"

// codeWords is the code in which a thread was for so long outside of all that has a name: its functions or, where none
// of them takes long, as in a compiler, the libraries that they are of: those say more than twice as much then.
func (p *UnjudgedPart) codeWords(ns int64) string {
	names, named := codeNamed(p.Code.Code, ns)
	if modules, all := codeNamed(byModule(p.Code.Code), ns); all > 2*named {
		names = modules
	}
	switch {
	case len(names) == 0 && p.Code.Samples > 0:
		return "in code of many functions, none of which takes long"
	case len(names) == 0:
		return "in code that nothing in the capture names"
	case DoingOf(names[0]) == DoingCompile:
		return string(DoingCompile) + " (" + strings.Join(names, ", ") + ")"
	}
	return "in code outside any range (" + strings.Join(names, ", ") + ")"
}

// feltNs is how long people may wait without noticing it (R. B. Miller, Response time in man-computer conversational
// transactions, 1968).
const feltNs = 100_000_000

// codeNamed is the code that takes most of some time, with its share, and how long that is in all.
func codeNamed(code []CodeTime, ns int64) (names []string, named int64) {
	for _, c := range code {
		if c.Module == kernelModule {
			continue // of the operating system: what it does it does for somebody
		}
		if float64(c.Ns) < codeShare*float64(ns) || len(names) == codeNames {
			break
		}
		names = append(names, fmt.Sprintf("%.0f %% of it in %s", 100*float64(c.Ns)/float64(ns), c.Text()))
		named += c.Ns
	}
	return names, named
}

// byModule is compiled code added up by library, most time first.
func byModule(code []CodeTime) (out []CodeTime) {
	at := make(map[string]int)
	for _, c := range code {
		if c.Module == "" {
			continue
		}
		i, seen := at[c.Module]
		if !seen {
			i = len(out)
			at[c.Module] = i
			out = append(out, CodeTime{Code: Code{Module: c.Module, All: true}})
		}
		out[i].Ns, out[i].Samples = out[i].Ns+c.Ns, out[i].Samples+c.Samples
	}
	slices.SortStableFunc(out, func(a, b CodeTime) int {
		return cmp.Or(cmp.Compare(b.Ns, a.Ns), cmp.Compare(a.Module, b.Module))
	})
	return out
}

// Most says whether the larger part of the recording lies outside what is judged: where nothing marks steps, people
// want to know of that part first. Under a millisecond (LongCallNs) it is nothing that a program does, but how a
// profiler starts and stops. Beside the steps of a loop, what happens once is worth a word only if somebody can feel
// it.
func (o *Unjudged) Most() bool {
	least := int64(LongCallNs)
	if o.Steps {
		least = feltNs
	}
	return o.Ns() >= least && 2*o.Ns() > o.Recorded.LenNs()
}

// Unjudged looks at the time before and behind the steps. It is empty without GPU work, where steps were chosen by
// position, which leaves others out, where a profiler's schedule records steps and nothing else, and where recording
// was switched off and on, so that nothing is known between.
func (f *Facts) Unjudged(s *Steps) Unjudged {
	w := f.Work()
	if w.Len() == 0 || len(s.All) == 0 || s.Pinned || s.Source == StepsProfilerStep || len(f.Trace.Windows) > 1 {
		return Unjudged{}
	}
	judged := s.Window()
	if s.Source != StepsNone {
		judged = f.stepsSpan(s)
	}
	thread := f.MainFeeder()
	whole := f.processSpan(f.ProcessOf(thread), judged.EndNs)
	if whole.LenNs() == 0 || judged.LenNs() == 0 {
		return Unjudged{}
	}
	whole.StartNs, whole.EndNs = min(whole.StartNs, judged.StartNs), max(whole.EndNs, judged.EndNs)
	o := Unjudged{Recorded: whole, Judged: judged, Steps: s.Source != StepsNone}
	before := interval.Span{StartNs: whole.StartNs, EndNs: judged.StartNs}
	if ns, length, any := f.unseenUntil(); any && ns <= judged.StartNs {
		before.EndNs = ns - length // the devices are busy from there on, with what is not recorded
	}
	o.Before = f.unjudgedPart(thread, before)
	o.After = f.unjudgedPart(thread, interval.Span{StartNs: judged.EndNs, EndNs: whole.EndNs})
	if o.Steps && o.Most() {
		turns := f.turnsAround(s, judged)
		o.Before.AgainNs = min(o.Before.Ns, f.idleWithin(interval.Span{StartNs: turns.StartNs, EndNs: judged.StartNs}))
		o.After.AgainNs = min(o.After.Ns, f.idleWithin(interval.Span{StartNs: judged.EndNs, EndNs: turns.EndNs}))
	}
	return o
}

// idleWithin is the time of a span in which no device works.
func (f *Facts) idleWithin(s interval.Span) int64 {
	if s.LenNs() <= 0 {
		return 0
	}
	return s.LenNs() - f.busyIn(s)
}

// turnsAround is the steps with the work around them that is called like theirs, as far as there is half as much of it
// as steps have, or more: the loop had other turns than those that were found. A pause that is longer than all turns up
// to it ends the loop.
func (f *Facts) turnsAround(s *Steps, judged interval.Span) interval.Span {
	w := f.Work()
	name := func(i int) model.StringID { // a graph's is 0
		if w.Kind[i] == WorkGraph {
			return 0
		}
		return f.Trace.Kernels.Name[w.Row[i]]
	}
	of := make(map[model.StringID]bool)
	var in int64
	first, last := w.Len(), -1
	for i := range w.Len() {
		if judged.Contains(w.StartNs[i]) {
			first, last = min(first, i), i
			if w.Kind[i].IsCompute() {
				of[name(i)] = true
				in += w.EndNs[i] - w.StartNs[i]
			}
		}
	}
	step := max(1, in/int64(len(s.All)))
	turns, reach, done := judged, judged, int64(0)
	for i := first - 1; i >= 0; i-- {
		if w.Kind[i].IsCompute() && of[name(i)] {
			if reach.StartNs-w.EndNs[i] > turns.LenNs() {
				break
			}
			reach.StartNs = min(reach.StartNs, w.StartNs[i])
			if done += w.EndNs[i] - w.StartNs[i]; 2*done >= step {
				turns.StartNs, done = reach.StartNs, 0
			}
		}
	}
	done = 0
	for i := last + 1; i < w.Len(); i++ {
		if w.Kind[i].IsCompute() && of[name(i)] {
			if w.StartNs[i]-reach.EndNs > turns.LenNs() {
				break
			}
			reach.EndNs = max(reach.EndNs, w.EndNs[i])
			if done += w.EndNs[i] - w.StartNs[i]; 2*done >= step {
				turns.EndNs, done = reach.EndNs, 0
			}
		}
	}
	return turns
}

// stepsSpan is all steps with their markers: the last marker only ends the step before it, and the first may begin
// before its first kernel.
func (f *Facts) stepsSpan(s *Steps) interval.Span {
	out := interval.Span{StartNs: s.All[0].StartNs, EndNs: s.All[len(s.All)-1].EndNs}
	for _, row := range s.markerRows {
		r := &f.Trace.Ranges
		if r.DurNs[row] != model.OpenDurNs {
			out.StartNs, out.EndNs = min(out.StartNs, r.StartNs[row]), max(out.EndNs, r.EndNs(int(row)))
		}
	}
	return out
}

// processSpan is from the first to the last thing that threads of a process did. Ranges do not end it: one that is
// never closed may be written with any end. A call that stops the profiler behind what is judged does, and so does the
// end of the recording: calls of the operating system that are open then are written with the end that they come to
// seconds later, while nothing else is recorded.
func (f *Facts) processSpan(process model.ProcessRow, judgedEndNs int64) interval.Span {
	t := f.Trace
	out := interval.Span{StartNs: maxTime, EndNs: minTime}
	grow := func(threads []model.ThreadRow, startNs, durNs []int64, ends bool) {
		for i, th := range threads {
			if th == model.NoThread || f.ProcessOf(th) != process {
				continue
			}
			out.StartNs = min(out.StartNs, startNs[i])
			if ends {
				out.EndNs = max(out.EndNs, startNs[i]+max(durNs[i], 0))
			}
		}
	}
	grow(t.Calls.Thread, t.Calls.StartNs, t.Calls.DurNs, true)
	grow(t.Ops.Thread, t.Ops.StartNs, t.Ops.DurNs, true)
	grow(t.OSCalls.Thread, t.OSCalls.StartNs, t.OSCalls.DurNs, true)
	grow(t.MPI.Thread, t.MPI.StartNs, t.MPI.DurNs, true)
	grow(t.Ranges.Thread, t.Ranges.StartNs, t.Ranges.DurNs, false)
	if end := t.Info.EndNs; end > out.StartNs && end > judgedEndNs {
		out.EndNs = min(out.EndNs, end)
	}
	for i, id := range t.Calls.Name { // behind it only other things than calls are recorded, if anything is
		if f.ProcessOf(t.Calls.Thread[i]) == process && t.Calls.StartNs[i] >= judgedEndNs &&
			CallVerb(t.Strings.Text(id)) == "ProfilerStop" {
			out.EndNs = min(out.EndNs, t.Calls.StartNs[i])
		}
	}
	return out
}

// unjudgedPart is what the host did in a span outside the steps.
func (f *Facts) unjudgedPart(thread model.ThreadRow, span interval.Span) UnjudgedPart {
	if span.LenNs() <= 0 {
		return UnjudgedPart{Thread: thread}
	}
	busy := f.busySet(span)
	p := UnjudgedPart{Ns: span.LenNs() - busy.TotalNs(), Thread: f.busiestThread(thread, span)}
	var free, waits []interval.Span
	sums := newDoings()
	purpose := f.purposes(p.Thread, span)
	f.HostDoing(p.Thread, span, func(c Cause, s interval.Span) {
		rest := purpose.take(s, sums) // whatever is called there, it is for that
		switch c.Kind {
		case causeHost, causeUnknown:
			free = append(free, rest...)
		case causeSync:
			waits = append(waits, rest...)
		}
		for _, x := range rest {
			what, calls := f.doingAt(p.Thread, c, x.StartNs)
			sums.add(what, x.LenNs(), calls)
		}
	})
	// a device that the host waits for is busy, with recorded work or with other
	p.Ns -= interval.Subtract(interval.Union(waits), busy).TotalNs()
	p.Host = sums.list()
	for i := range p.Host {
		p.Host[i].Ns = min(p.Host[i].Ns, p.Ns)
	}
	if len(free) > 0 {
		p.Code = f.CodeIn(p.Thread, free)
	}
	return p
}

// Busy is when any device works within a span.
func (f *Facts) Busy(span interval.Span) interval.Set { return f.busySet(span) }

// busySet is when any device works within a span.
func (f *Facts) busySet(span interval.Span) interval.Set {
	w, all := f.Work(), []interval.Span(nil)
	for i := range w.Len() {
		if s := (interval.Span{StartNs: w.StartNs[i], EndNs: w.EndNs[i]}).Clip(span); s.LenNs() > 0 {
			all = append(all, s)
		}
	}
	return interval.Union(all)
}

// doingAt is what a thread does at an instant, by name, and whether that is a call: of CUDA, else the range in which
// it is, where it is in a call of the operating system too, else that call, else the operator.
func (f *Facts) doingAt(thread model.ThreadRow, c Cause, ns int64) (what string, calls int) {
	h := threadAt(f.hostThreads(), thread)
	if h == nil {
		return "", 0
	}
	if i := firstEndingAfter(h.calls, ns); i < len(h.calls) && h.calls[i].Contains(ns) {
		return f.CallName(h.callRow[i]), 1
	}
	switch c.Kind {
	case causeRange, causeOp:
		return f.NameText(c.Name), 0
	case causeLaunch: // between two calls
		return f.Where(thread, ns), 0
	case causeOS:
		if i := firstNamedAfter(h.user, ns); inSpan(h.user, i, ns) {
			return f.NameText(h.user[i].name), 0
		}
		return f.OSName(thread, ns), 1
	}
	return "", 0
}

// busiestThread is the thread whose doing tells of a span: the one that feeds the devices or, where this did nothing
// in most of it, as a thread that is begun for the loop only, the one of its process that made most calls there.
func (f *Facts) busiestThread(feeder model.ThreadRow, span interval.Span) model.ThreadRow {
	threads := f.hostThreads()
	known := func(th model.ThreadRow) (ns, from int64) {
		h := threadAt(threads, th)
		from = maxTime
		if h == nil {
			return 0, from
		}
		for _, calls := range [][]interval.Span{h.calls, h.os} {
			for i := firstEndingAfter(calls, span.StartNs); i < len(calls) && calls[i].StartNs < span.EndNs; i++ {
				in := calls[i].Clip(span)
				ns, from = ns+in.LenNs(), min(from, in.StartNs)
			}
		}
		return ns, from
	}
	best := feeder
	bestNs, from := known(feeder)
	if from-span.StartNs < span.LenNs()/2 {
		return feeder
	}
	for th := range f.Trace.Threads {
		row := model.ThreadRow(th)
		if f.ProcessOf(row) != f.ProcessOf(feeder) {
			continue
		}
		if ns, first := known(row); first-span.StartNs < span.LenNs()/2 && ns > bestNs {
			best, bestNs = row, ns
		}
	}
	return best
}
