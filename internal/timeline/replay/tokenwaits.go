package replay

import (
	"cmp"
	"slices"

	"lacuna/internal/timeline/facts"
	"lacuna/internal/timeline/model"
)

// tokenWaits finds what a serving engine's host waits for behind an event. Captures say seldom where an event was
// recorded; but an engine waits for one thing, the tokens of a step, and the wait returns when the copy of them ends.
type tokenWaits struct {
	p     *Program
	byEnd []int32 // what may be waited for, by its end
}

// newTokenWaits looks at programs of an engine's steps; nil: these are none. Elsewhere a wait may be for anything, and
// what ends just before it returns may do so by chance.
func (p *Program) newTokenWaits() *tokenWaits {
	if p.Steps.Engine == nil {
		return nil
	}
	x := &tokenWaits{p: p}
	for i := range p.Works {
		// an event stands behind all that a call issued
		if c := p.Works[i].Call; c != none && int32(i) == p.Calls[c].First+p.Calls[c].N-1 {
			x.byEnd = append(x.byEnd, int32(i))
		}
	}
	slices.SortStableFunc(x.byEnd, func(a, b int32) int { return cmp.Compare(p.endNs(a), p.endNs(b)) })
	return x
}

// of is the work that call i waited for: of what was issued before it and ended while it blocked, at most slackNs
// before it returned, the last copy to the host, or failing that the last of all; none: it did not block.
func (x *tokenWaits) of(i int32) int32 {
	if x == nil {
		return none
	}
	p, c := x.p, &x.p.Calls[i]
	at, _ := slices.BinarySearchFunc(x.byEnd, c.EndNs+1,
		func(k int32, ns int64) int { return cmp.Compare(p.endNs(k), ns) })
	found := none
	for at--; at >= 0; at-- {
		k := x.byEnd[at]
		if end := p.endNs(k); end < c.StartNs || end < c.EndNs-slackNs {
			break
		}
		switch {
		case p.Works[k].Call >= i:
		case p.toHost(k):
			return k
		case found == none:
			found = k
		}
	}
	return found
}

// toHost says whether work is a copy from the device to the host.
func (p *Program) toHost(k int32) bool {
	w := p.Facts.Work()
	row := p.Works[k].Row
	if w.Kind[row] != facts.WorkCopy {
		return false
	}
	kinds := p.Facts.Trace.Copies.Kind
	return int(w.Row[row]) < len(kinds) && kinds[w.Row[row]] == model.CopyDtoH
}

// recordBehind lets the call that issued a piece of work, the last of what it issued, record an event behind it.
func (p *Program) recordBehind(k int32) (call int32, ok bool) {
	c := &p.Calls[p.Works[k].Call]
	if c.Records != none && c.Records != p.Works[k].Lane {
		return none, false
	}
	c.Records = p.Works[k].Lane
	return p.Works[k].Call, true
}
