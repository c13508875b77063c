package kernelrules

import (
	"cmp"
	"slices"

	"lacuna/internal/kernel/cubin"
)

// idleLanes is why lanes are idle, in shares of all idle ones: what the machine code says of the branches that decide
// whether an instruction runs. They add up to 1 or less; the rest has no such branch.
type idleLanes struct {
	known   bool
	walked  float64 // loops that end by values worked out on the way: nobody knows before how long they take
	counted float64 // loops that end by loaded values, as the length of a row
	data    float64 // other branches by such values: work of different kinds can be sorted
	thread  float64 // branches by the thread's index alone: another numbering fixes them
}

// trips is the share of idle lanes that wait for longer loops of other lanes, by data.
func (l idleLanes) trips() float64 { return l.walked + l.counted }

// idle says why lanes are idle; not known without the machine code and counts of each instruction.
func (c *Case) idle() (all idleLanes) {
	k := c.Code()
	if k == nil {
		return all
	}
	counts := laneCounts{k.Counts("inst_executed"), k.Counts("thread_inst_executed"),
		k.Counts("thread_inst_executed_true"), k.Counts("smsp__branch_targets_threads_divergent")}
	if counts.warps == nil || counts.lanes == nil || counts.working == nil {
		return all
	}
	var sum idleSum
	for first, body := range functions(k) {
		sum.add(body, counts.part(first, first+len(body)))
	}
	return sum.shares()
}

// laneCounts are counts by instruction: by warps, by lanes that were there and by those not predicated off. divergent
// is how often a branch parted the lanes of a warp; nil: not collected.
type laneCounts struct{ warps, lanes, working, divergent []float64 }

func (n laneCounts) part(first, end int) laneCounts {
	out := laneCounts{n.warps[first:end], n.lanes[first:end], n.working[first:end], nil}
	if n.divergent != nil {
		out.divergent = n.divergent[first:end]
	}
	return out
}

// idleSum is idle lanes, counted.
type idleSum struct{ all, named, understood, walked, counted, data, thread float64 }

func (s *idleSum) shares() idleLanes {
	if s.all <= 0 || s.understood < mostlyNamed*s.named {
		return idleLanes{}
	}
	return idleLanes{true, s.walked / s.all, s.counted / s.all, s.data / s.all, s.thread / s.all}
}

// mostlyNamed is how much of what was executed must be instructions that the decoder knows: a value that goes through
// an unknown one is lost.
const mostlyNamed = 0.95

// A cause is why lanes of a warp part.
type cause uint8

const (
	byThread cause = iota
	byData
	byCount
	byWalk
)

// add counts the idle lanes of a function's instructions.
func (s *idleSum) add(body []cubin.Instruction, n laneCounts) {
	trail := cubin.Trace(body)
	parting := partings(body, trail, n)
	for i, in := range body {
		warps := n.warps[i]
		if !(warps > 0) {
			continue
		}
		s.named += warps
		if in.Name != "" {
			s.understood += warps
		}
		s.all += max(0, lanesPerWarp*warps-n.lanes[i])
		s.branched(trail, parting, n, i)
		if in.Kind == cubin.Branch || in.Kind == cubin.Exit {
			continue // that it is not taken idles no lane
		}
		off := max(0, n.lanes[i]-n.working[i])
		s.all += off
		switch from := trail.Condition[i]; {
		case from.Data():
			s.data += off
		case from != 0:
			s.thread += off
		}
	}
}

// A parting is a branch or a guarded exit that parts lanes of a warp.
type parting struct {
	at    int32
	why   cause
	loop  bool    // it ends a loop, which lanes leave one after the other
	lanes float64 // that come to it, in the mean
}

// partings are those of a function, by instruction.
func partings(body []cubin.Instruction, trail *cubin.Trail, n laneCounts) map[int32]parting {
	all := make(map[int32]parting)
	counts := make(map[int32]bool) // loads whose values say how long loops take
	for i, in := range body {
		at, from := int32(i), trail.Condition[i]
		if in.Kind != cubin.Branch && in.Kind != cubin.Exit || from == 0 {
			continue
		}
		p := parting{at: at, loop: trail.Repeats(at), lanes: n.lanes[i] / n.warps[i]}
		if p.loop && from&cubin.Carried == 0 {
			for _, load := range trail.Tested[i] {
				counts[load] = true
			}
		}
		if !n.parts(in, i) {
			continue
		}
		switch {
		case !from.Data():
			p.why = byThread
		case !p.loop:
			p.why = byData
		case from&cubin.Carried != 0:
			p.why = byWalk
		default:
			p.why = byCount
		}
		all[at] = p
	}
	for at, p := range all { // what asks for the same values goes around a loop, or does the rest of an unrolled one
		if p.why == byData && slices.ContainsFunc(trail.Tested[at], func(l int32) bool { return counts[l] }) {
			p.why = byCount
			all[at] = p
		}
	}
	return all
}

// parts says that an instruction sent lanes of a warp different ways.
func (n laneCounts) parts(in cubin.Instruction, i int) bool {
	if !(n.warps[i] > 0) {
		return false
	}
	if in.Kind == cubin.Branch && n.divergent != nil {
		return n.divergent[i] > 0
	}
	return n.working[i] > 0 && n.working[i] < n.lanes[i]
}

// branched counts the lanes that are not there, as the branches that decide it lose them, the widest first: a loop
// those that are missing in its mean round, another branch those that are missing behind it.
func (s *idleSum) branched(trail *cubin.Trail, all map[int32]parting, n laneCounts, i int) {
	var some []parting
	for _, d := range trail.Deciders(i) {
		if p, ok := all[d]; ok {
			some = append(some, p)
		}
	}
	slices.SortStableFunc(some, func(a, b parting) int { return cmp.Compare(b.lanes, a.lanes) })
	there := n.lanes[i] / n.warps[i]
	now := float64(lanesPerWarp)
	lose := func(p parting, to float64) {
		to = max(to, there)
		if lost := n.warps[i] * max(0, now-to); lost > 0 {
			*[...]*float64{&s.thread, &s.data, &s.counted, &s.walked}[p.why] += lost
		}
		now = min(now, to)
	}
	for k, p := range some {
		if p.loop {
			lose(p, p.lanes)
		} else if k > 0 {
			lose(some[k-1], p.lanes)
		}
	}
	if len(some) > 0 {
		lose(some[len(some)-1], there)
	}
}

// withoutCode is the confidence in what only the machine code tells from what no change fixes.
const withoutCode = 0.4
