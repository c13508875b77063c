package replay

import (
	"lacuna/internal/base/interval"
	"lacuna/internal/timeline/facts"
	"lacuna/internal/timeline/model"
)

// IdleBecauseOf is, for each cause, how much shorter a mean step of the profiled program becomes, in ns,
// when the edges of that cause are removed and everything else stays: the idle time that there is because of
// it. Causes interact, so these do not sum to the idle time.
func (k *Pricer) IdleBecauseOf(causes []facts.Cause) map[facts.Cause]float64 {
	out := make(map[facts.Cause]float64)
	doing := k.Program.hostDoing()
	for _, cause := range causes {
		e := k.Program.Edit()
		if !e.remove(cause, doing) {
			continue
		}
		run := e.Simulate(Options{Residuals: k.residuals})
		if gain := k.recorded - e.StepNs(run); gain > 0 {
			out[cause] = gain
		}
	}
	return out
}

// remove takes the edges of a cause out of a program, and says whether there were any: calls of that
// kind take no time and wait for nothing, host work of that name is not done.
func (e *Edit) remove(cause facts.Cause, doing *doings) bool {
	kinds := e.Facts.CallCauses()
	found := false
	for i := range e.Calls {
		c := &e.Calls[i]
		if c.Pred == none {
			continue
		}
		if facts.CauseKind(kinds[c.Row]) == cause.Kind && cause.Name == 0 {
			c.Wait, c.OwnNs, found = WaitNothing, 0, true
		}
		if ns := doing.of(int32(i), cause); ns > 0 {
			e.DropGap(int32(i), max(0, c.GapNs-ns))
			found = true
		}
	}
	return found
}

// doings is what the host did before each call: pieces of call i are piece[first[i]:first[i+1]].
type doings struct {
	first []int32
	piece []doing
}

type doing struct {
	cause facts.Cause
	ns    int64
}

// hostDoing asks once for all calls what the host did before them.
func (p *Program) hostDoing() *doings {
	d := &doings{first: make([]int32, 1, len(p.Calls)+1)}
	for i := range p.Calls {
		if c := &p.Calls[i]; c.Pred != none && c.GapNs > 0 {
			p.Facts.HostDoing(model.ThreadRow(c.Thread), p.GapSpan(int32(i)), func(cause facts.Cause, s interval.Span) {
				d.piece = append(d.piece, doing{cause, s.LenNs()})
			})
		}
		d.first = append(d.first, int32(len(d.piece)))
	}
	return d
}

// of is how long the host did what cause says before call i.
func (d *doings) of(i int32, cause facts.Cause) int64 {
	var ns int64
	for _, x := range d.piece[d.first[i]:d.first[i+1]] {
		if x.cause == cause {
			ns += x.ns
		}
	}
	return ns
}
