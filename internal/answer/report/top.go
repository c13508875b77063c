package report

import (
	"cmp"
	"math"
	"slices"

	"lacuna/internal/base/interval"
	"lacuna/internal/timeline/facts"
	"lacuna/internal/timeline/model"
)

// In every list work counts as far as it lies in the window; its number is of what starts in it. With several devices
// the figures are their mean, as those of the budget are; the host's are the mean of the processes that feed them.

// tally adds up time and number by key, keeping the order in which keys are met.
type tally[K comparable] struct {
	rows map[K]*count
	keys []K
}

type count struct {
	n     int64
	ns    int64
	bytes int64
	wall  int64 // ns of another clock: the host's
	inner int64 // the same with what runs inside it
}

func newTally[K comparable]() *tally[K] { return &tally[K]{rows: make(map[K]*count)} }

func (t *tally[K]) at(k K) *count {
	c := t.rows[k]
	if c == nil {
		c = new(count)
		t.rows[k], t.keys = c, append(t.keys, k)
	}
	return c
}

// top is the keys with the most time, at most n.
func (t *tally[K]) top(n int) []K {
	slices.SortStableFunc(t.keys, func(a, b K) int { return cmp.Compare(t.rows[b].ns, t.rows[a].ns) })
	return t.keys[:min(n, len(t.keys))]
}

func (o *one) topKernels(n int) []TopKernel {
	type key struct {
		kind facts.WorkKind
		name model.StringID
	}
	f, w, sums := o.f, o.f.Work(), newTally[key]()
	o.eachWork(func(i int, s interval.Span) {
		if w.Kind[i] > facts.WorkComm {
			return
		}
		k := key{kind: w.Kind[i]}
		if k.kind != facts.WorkGraph {
			k.name = f.Trace.Kernels.Name[w.Row[i]]
		}
		c := sums.at(k)
		c.ns += s.LenNs()
		if o.window.Contains(w.StartNs[i]) {
			c.n++
		}
	})
	out := []TopKernel{}
	for _, k := range sums.top(n) {
		c := sums.rows[k]
		row := TopKernel{Name: f.Trace.Strings.Text(k.name), Kind: "compute",
			CallsPerStep: float64(c.n) * o.perDevice(),
			MsPerStep:    o.gpuMs(c.ns), ShareOfStep: o.share(c.ns), MeanUs: mean(c.ns, c.n) / 1e3}
		switch k.kind {
		case facts.WorkComm:
			row.Kind = "comm"
		case facts.WorkGraph:
			row.Kind, row.Name = "graph", "CUDA graph, recorded at graph level"
		}
		out = append(out, row)
	}
	return out
}

// eachWork calls do for each piece of work of the devices reported on, cut to the window.
func (o *one) eachWork(do func(i int, s interval.Span)) {
	w := o.f.Work()
	wanted := make(map[uint32]bool)
	for _, b := range o.budgets {
		wanted[b.Device] = true
	}
	for i := range w.Len() {
		if w.StartNs[i] >= o.window.EndNs {
			break
		}
		if !wanted[w.Device[i]] {
			continue
		}
		if s := (interval.Span{StartNs: w.StartNs[i], EndNs: w.EndNs[i]}).Clip(o.window); s.LenNs() > 0 {
			do(i, s)
		}
	}
}

// perDevice is what a sum over all devices has to be multiplied with to be that of one step of one device.
func (o *one) perDevice() float64 { return o.perStep / float64(max(1, len(o.budgets))) }

// gpuMs is GPU time over the window as milliseconds per step of one device.
func (o *one) gpuMs(ns int64) float64 { return float64(ns) / 1e6 * o.perDevice() }

// hostMs is host time over the window as milliseconds per step of one process.
func (o *one) hostMs(ns int64) float64 { return o.ms(ns) / float64(o.f.Feeders()) }

// hostCalls is a number of calls on the host per step of one process.
func (o *one) hostCalls(n int64) float64 { return float64(n) * o.perStep / float64(o.f.Feeders()) }

func (o *one) share(ns int64) float64 {
	return float64(ns) / math.Max(1, float64(o.window.LenNs())*float64(max(1, len(o.budgets))))
}

func mean(sum, n int64) float64 { return float64(sum) / float64(max(1, n)) }

func (o *one) topOps(n int) []TopOp {
	f, w, sums := o.f, o.f.Work(), newTally[model.StringID]()
	owners := f.WorkOwners()
	o.eachWork(func(i int, s interval.Span) {
		if owners[i] != 0 {
			sums.at(owners[i]).ns += s.LenNs()
		}
	})
	if w.Len() == 0 {
		for name, host := range f.HostTimes(o.steps.HostWindow()) {
			*sums.at(name) = count{n: host.Count, ns: host.SelfNs, wall: host.SelfNs, inner: host.TotalNs}
		}
	} else {
		for name, host := range f.OwnerHostTime(o.steps.HostWindow()) {
			if c := sums.rows[name]; c != nil {
				c.n, c.wall = host.Count, host.SelfNs
			}
		}
	}
	slices.SortFunc(sums.keys, func(a, b model.StringID) int { return cmp.Compare(f.NameText(a), f.NameText(b)) })
	out := []TopOp{}
	for _, name := range sums.top(n) {
		c := sums.rows[name]
		row := TopOp{Name: f.NameText(name), CallsPerStep: o.hostCalls(c.n), HostMs: o.hostMs(c.wall),
			HostTotalMs: o.hostMs(c.inner), ShareOfStep: o.share(c.ns)}
		if w.Len() > 0 {
			row.MsPerStep = o.gpuMs(c.ns)
		}
		out = append(out, row)
	}
	return out
}

func (o *one) topCopies(n int) []TopCopy {
	f, w, sums := o.f, o.f.Work(), newTally[string]()
	t := f.Trace
	o.eachWork(func(i int, s interval.Span) {
		var name string
		var bytes int64
		switch row := w.Row[i]; w.Kind[i] {
		case facts.WorkCopy:
			name, bytes = f.CopyName(int(row)), bytesOf(t.Copies.Bytes, row)
		case facts.WorkSet:
			name, bytes = "memset", bytesOf(t.Sets.Bytes, row)
		default:
			return
		}
		c := sums.at(name)
		c.ns += s.LenNs()
		if o.window.Contains(w.StartNs[i]) {
			c.n++
			c.bytes += bytes
		}
	})
	out := []TopCopy{}
	for _, name := range sums.top(n) {
		c := sums.rows[name]
		out = append(out, TopCopy{Name: name, CallsPerStep: float64(c.n) * o.perDevice(), MsPerStep: o.gpuMs(c.ns),
			MBPerStep: float64(c.bytes) / 1e6 * o.perDevice(), GBs: rateGBs(c.bytes, c.ns)})
	}
	return out
}

// maxGBs is more than any GPU moves, out of its caches too: old CUPTI's memsets of 4 GB last a microsecond.
const maxGBs = 20_000

// rateGBs is bytes per nanosecond, or 0 where the record cannot be right.
func rateGBs(bytes, ns int64) float64 {
	if r := float64(bytes) / math.Max(1, float64(ns)); r <= maxGBs {
		return r
	}
	return 0
}

// bytesOf is a size; 0 where the capture has none (ROCm's memsets).
func bytesOf(column []int64, row uint32) int64 {
	if int(row) < len(column) {
		return column[row]
	}
	return 0
}

func (o *one) topSyncs(n int) []TopSync {
	type key struct{ name, where string }
	f, sums := o.f, newTally[key]()
	if f.NoWork() == facts.WorkNone {
		return []TopSync{} // there is nothing to wait for
	}
	t := f.Trace
	window, copies := o.steps.HostWindow(), f.CopiesByCall()
	busy, busyNs := f.Busy(interval.Span{StartNs: math.MinInt64 / 2, EndNs: math.MaxInt64 / 2}), make(map[key]int64)
	for _, row := range f.BlockingCalls() {
		s := interval.Span{StartNs: t.Calls.StartNs[row], EndNs: t.Calls.EndNs(int(row))}
		if !window.Contains(s.StartNs) {
			continue
		}
		if o.steps.Device && o.steps.First < o.steps.Last {
			s.StartNs = min(s.EndNs, max(s.StartNs, o.steps.All[o.steps.First].StartNs)) // else for other work
		}
		name := facts.BaseCallName(t.Strings.Text(t.Calls.Name[row]))
		if c := copies[row]; c != facts.NoCopy {
			name += " " + f.CopyName(int(c))
		}
		k := key{name, f.Where(t.Calls.Thread[row], s.StartNs)}
		c := sums.at(k)
		c.n++
		c.ns += s.LenNs()
		busyNs[k] += busy.Clip(s).TotalNs()
	}
	out := []TopSync{}
	for _, k := range sums.top(n) {
		c := sums.rows[k]
		out = append(out, TopSync{Name: k.name, Where: k.where, CallsPerStep: o.hostCalls(c.n),
			MsPerStep: o.hostMs(c.ns), BusyMs: o.hostMs(busyNs[k])})
	}
	return out
}

// minGapNs is the least idle span worth a line: a GPU needs about so long from one kernel to the next.
const minGapNs = 1_000

// longestGaps is the longest idle spans of all devices.
func (o *one) longestGaps(n int) []Gap {
	var all []facts.IdleGap
	for _, gaps := range o.gaps {
		all = append(all, facts.LongestGaps(gaps, n)...)
	}
	out := []Gap{}
	for _, g := range facts.LongestGaps(all, n) {
		if g.LenNs() < minGapNs {
			break
		}
		row := Gap{Device: g.Device, StartMs: ms(g.StartNs - o.window.StartNs), DurMs: ms(g.LenNs())}
		cause := o.mainCause(g)
		row.Cause = o.f.CauseText(cause)
		if facts.IsHosts(row.Cause) { // else it is nothing that the host does
			call, ns := o.f.CallBehind(g, cause.Kind)
			row.Call, row.CallMs = call, ms(ns)
			row.Code = o.gapCode(g, cause)
			row.Range = o.f.Where(g.Thread, g.StartNs+g.LenNs()/2)
		}
		if g.Before >= 0 {
			row.Before = o.f.WorkName(int(g.Before))
		}
		if g.After >= 0 {
			row.After = o.f.WorkName(int(g.After))
		}
		out = append(out, row)
	}
	return out
}

// mainCause is the cause that took most of a gap.
func (o *one) mainCause(g facts.IdleGap) facts.Cause {
	var best facts.Cause
	bestNs := int64(-1)
	for cause, ns := range o.f.IdleByHost([]facts.IdleGap{g}) {
		if ns > bestNs || ns == bestNs && o.f.CauseText(cause) < o.f.CauseText(best) {
			best, bestNs = cause, ns
		}
	}
	return best
}
