package changes

import (
	"cmp"
	"regexp"
	"slices"

	"lacuna/internal/base/interval"
	"lacuna/internal/timeline/facts"
	"lacuna/internal/timeline/model"
	"lacuna/internal/timeline/replay"
)

var dropSyncs = Change{
	Name:   "drop-syncs",
	Syntax: "drop-syncs[:REGEX]",
	Title:  "the host no longer waits for the device",
	Doc: `Synchronizing calls return at once; what is issued behind them to other streams still waits for what they waited
for, on the device. A small copy to the host that a synchronization waited for (.item(), .cpu()) is left out with it.
So is host work right after such a wait that is far longer than the thread's usual pause: it worked on the value,
unless it is in a range that begins after the wait, or takes over 1 ms for less than 4 KiB. The kernels that computed
the value stay; at best, those after the last GEMM, norm or attention go too. REGEX selects calls by name, or by the
range or operator around them; large-reads selects the waits for copies of over 64 KiB to the host. In a capture
without steps no host work goes, and waits for copies of over 64 KiB to the host stay: they may bring the program's
results, which it works on.`,
	Assumes: "the values are not needed on the host in the loop, or can be read later",
	NotWhen: "the host depends on a value: a loop that ends by it, a gradient scaler that skips a step",
	Example: "drop-syncs",
	Apply:   applyDropSyncs,
}

// smallCopyBytes is up to what size a copy to the host that is waited for is a value being read, not data being moved.
const smallCopyBytes = 64 << 10

func applyDropSyncs(e *replay.Edit, arg string) (int, error) {
	var only *regexp.Regexp
	if arg != "" && arg != largeReads {
		re, err := pattern("drop-syncs", arg)
		if err != nil {
			return 0, err
		}
		only = re
	}
	causes := e.Facts.CallCauses()
	next := e.NextOnThread()
	prev := e.PrevOnThread()
	v := &values{e: e, usual: usualPause(e), ordinary: ordinaryPause(e), lanes: onLanes(e), prev: prev}
	dropped := make(map[int32]replay.Call)
	n, whole := 0, e.Steps.Source == facts.StepsNone
	for i := range e.Calls {
		c := &e.Calls[i]
		if c.Dropped || facts.CauseName(causes[c.Row]) != facts.CauseSync && !readsBack(e, int32(i)) || only != nil &&
			!picks(e, int32(i), only) || arg == largeReads && v.brought(int32(i)) <= smallCopyBytes {
			continue
		}
		if whole && v.brought(int32(i)) > smallCopyBytes {
			continue
		}
		n++
		dropped[int32(i)] = *c
		if c.N > 0 { // a blocking copy to the host
			if !whole {
				v.dropBehind(int32(i), next)
			}
			v.read(int32(i))
			e.DropCall(int32(i))
			continue
		}
		if !whole {
			v.dropBehind(int32(i), next)
		}
		if p := prev[i]; p >= 0 && readsBack(e, p) && !e.Calls[p].Dropped {
			v.read(p)
			e.DropCall(p)
		}
		e.Stub(int32(i))
	}
	keepOrder(e, dropped)
	if v.kernels > 0 {
		e.Assume("%s before the values read may have computed nothing else: at best they go too",
			one(v.kernels, "kernel"))
	}
	if n > 0 {
		e.Assume("the host does not depend on any value that it waited for")
	}
	return matched(n)
}

// picks says whether REGEX names the call, or a range or operator around it.
func picks(e *replay.Edit, i int32, only *regexp.Regexp) bool {
	c := &e.Calls[i]
	return only.MatchString(e.CallName(i)) || only.MatchString(e.Facts.Where(model.ThreadRow(c.Thread), c.StartNs))
}

// largeReads selects the waits for copies to the host that move data, not a value.
const largeReads = "large-reads"

// readsBack says whether a call issued nothing but a copy to the host that it, or the synchronisation
// behind it, waits for.
func readsBack(e *replay.Edit, i int32) bool {
	c := &e.Calls[i]
	if c.N != 1 {
		return false
	}
	return copyKind(e, c.First) == model.CopyDtoH
}

// readBytes is how many bytes a call copied to the host; 0: none, or not recorded.
func readBytes(e *replay.Edit, i int32) int64 {
	if !readsBack(e, i) {
		return 0
	}
	if bytes, row := e.Facts.Trace.Copies.Bytes, rowOf(e, e.Calls[i].First); int(row) < len(bytes) {
		return bytes[row]
	}
	return 0
}

// dropBehind takes the host work between a wait for data and the next call of its thread away, if it is far longer than
// a usual pause.
func (v *values) dropBehind(i int32, next []int32) {
	e, k := v.e, next[i]
	if k < 0 || e.Calls[k].Pred != i {
		return
	}
	if bytes := v.brought(i); bytes == 0 || bytes < minDataBytes && e.Calls[k].GapNs > shortWorkNs {
		return
	}
	usual := v.usual(e.Calls[i].Thread)
	own := v.ownWork(k)
	if usual > 0 && e.Calls[k].GapNs-own > workOnValue*usual {
		e.DropGap(k, usual+own)
		e.Assume("host work right after a wait worked on the value")
	}
}

// shortWorkNs is the most host work on a number or a few: an interpreter prints, compares or logs them in less. Longer
// work, such as compiling or making the next batch, is of another kind; where nothing was read none is on a value.
const shortWorkNs = 1_000_000

// brought is how many bytes a call that waits copied to the host, or the call before it that it waited for; 0: none.
func (v *values) brought(i int32) int64 {
	bytes := readBytes(v.e, i)
	if k := v.prev[i]; k >= 0 {
		bytes = max(bytes, readBytes(v.e, k))
	}
	return bytes
}

// ownWork is how much of the host work before a call lies in ranges that begin in it: that has a name of its own,
// such as that of making the next batch, and does not work on the value.
func (v *values) ownWork(k int32) int64 {
	if v.begin == nil {
		v.begin = rangesByStart(v.e)
	}
	gap := v.e.GapSpan(k)
	ranges := v.begin[v.e.Calls[k].Thread]
	first, _ := slices.BinarySearchFunc(ranges, gap.StartNs,
		func(s interval.Span, ns int64) int { return cmp.Compare(s.StartNs, ns) })
	var own []interval.Span
	for _, s := range ranges[first:] {
		if s.StartNs >= gap.EndNs {
			break
		}
		own = append(own, s.Clip(gap))
	}
	return min(interval.Union(own).TotalNs(), v.e.Calls[k].GapNs)
}

// rangesByStart is the ranges of each thread in the order in which they begin, without those that mark steps.
func rangesByStart(e *replay.Edit) map[int32][]interval.Span {
	marks := make(map[interval.Span]bool)
	for _, m := range e.Steps.Markers {
		marks[m] = true
	}
	r, out := &e.Facts.Trace.Ranges, make(map[int32][]interval.Span)
	for i, th := range r.Thread {
		if s := (interval.Span{StartNs: r.StartNs[i], EndNs: r.EndNs(i)}); !marks[s] {
			out[int32(th)] = append(out[int32(th)], s)
		}
	}
	for _, list := range out {
		slices.SortFunc(list, func(a, b interval.Span) int { return cmp.Compare(a.StartNs, b.StartNs) })
	}
	return out
}

// workOnValue is how many usual pauses host work behind a wait must last to be work on the value.
const workOnValue = 10

// values finds the kernels that computed values which are no longer read.
type values struct {
	e        *replay.Edit
	usual    func(thread int32) int64
	ordinary func(thread int32) int64
	lanes    [][]int32
	begin    map[int32][]interval.Span // ranges by thread and start; nil: not asked for yet
	prev     []int32                   // of each call, the one of its thread before it
	kernels  int
}

// read marks the kernels that led to a small copy to the host as ones that may go: those right before it on its
// stream that reduce or work element by element, as statistics and losses are made. There may be other users of what
// they compute: so they go only where everything is taken well.
func (v *values) read(copyCall int32) {
	e := v.e
	k := e.Calls[copyCall].First
	if bytes := readBytes(e, copyCall); bytes == 0 || bytes > smallCopyBytes {
		return
	}
	works := v.lanes[e.Works[k].Lane]
	at, _ := slices.BinarySearch(works, k)
	var chain []int32
	for j := at - 1; j >= 0 && len(chain) < reach && near(e, works[j], k); j-- {
		i := works[j]
		call := e.Works[i].Call
		switch kindOf(e, i).Class {
		case facts.ClassPointwise, facts.ClassCast, facts.ClassReduction, facts.ClassMove:
		default:
			v.mark(chain)
			return
		}
		if e.Calls[call].N != 1 || e.Calls[call].GapNs > v.ordinary(e.Calls[call].Thread) {
			break
		}
		chain = append(chain, call)
	}
	v.mark(chain)
}

func (v *values) mark(calls []int32) {
	for _, i := range calls {
		if c := &v.e.Calls[i]; !c.Unsure && !c.Dropped {
			c.Unsure = true
			v.kernels++
		}
	}
}
