package rules

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"lacuna/internal/timeline/facts"
)

// Rules about the host's time in captures without GPU work. They are silent where there is some: there the GPU's
// waiting says what the host's time costs.

// minHostShare is the share of the host's time from which something is worth a finding where no GPU says what it
// costs: XProf calls a program input-bound from 5 % of its step on.
const minHostShare = 0.05

// hostOnly says whether the capture shows a host at work and no GPU.
func (c *Case) hostOnly() bool {
	return c.Facts.Work().Len() == 0 && (c.Trace.Ops.Len() > 0 || c.Trace.Calls.Len() > 0) && c.StepNs > 0
}

// A hostPart is things of one name on the host.
type hostPart struct {
	name    string
	n       int
	ns      int64 // within the steps looked at
	longest int64
	events  []int32 // of the OpTree
}

// perStep is a part's time of a mean step.
func (c *Case) hostPerStep(ns int64) float64 { return float64(ns) * c.PerStep }

// hostParts is the outermost host events that are wanted, by the name that want gives them, most time first. What is
// not wanted has no name.
func (c *Case) hostParts(want func(i int) string) []*hostPart {
	o, window := c.Facts.OpTree(), c.Steps.HostWindow()
	in := make([]bool, o.Len()) // within one that is wanted
	byName := make(map[string]*hostPart)
	var out []*hostPart
	for i := range o.Len() {
		if p := o.Parent[i]; p != facts.NotNested && in[p] {
			in[i] = true
			continue
		}
		name := want(i)
		if name == "" {
			continue
		}
		in[i] = true
		s := c.Facts.OpSpan(i).Clip(window)
		if s.LenNs() == 0 {
			continue
		}
		p := byName[name]
		if p == nil {
			p = &hostPart{name: name}
			byName[name], out = p, append(out, p)
		}
		p.n++
		p.ns += s.LenNs()
		p.longest = max(p.longest, s.LenNs())
		p.events = append(p.events, int32(i))
	}
	slices.SortStableFunc(out, func(a, b *hostPart) int {
		return cmp.Or(cmp.Compare(b.ns, a.ns), cmp.Compare(a.name, b.name))
	})
	return out
}

// sumOfParts is the time of parts.
func sumOfParts(parts []*hostPart) (ns int64) {
	for _, p := range parts {
		ns += p.ns
	}
	return ns
}

// inside is what runs in host events, by its own name, without what runs in it, most time first; last is the time in
// which nothing that is recorded runs.
func (c *Case) inside(events []int32) (parts []*hostPart, unnamed int64) {
	o, window := c.Facts.OpTree(), c.Steps.HostWindow()
	is, own := make(map[int32]bool, len(events)), make(map[int32]int64)
	for _, i := range events {
		is[i] = true
	}
	root := make([]int32, o.Len())
	for i := range root {
		p := o.Parent[i]
		switch {
		case is[int32(i)]:
			root[i] = int32(i)
		case p != facts.NotNested:
			root[i] = root[p]
		default:
			root[i] = facts.NotNested
		}
		if root[i] == facts.NotNested {
			continue
		}
		ns := c.Facts.OpSpan(i).Clip(window).LenNs()
		own[int32(i)] += ns
		if p != facts.NotNested && root[i] != int32(i) {
			own[p] -= ns
		}
	}
	byName := make(map[string]*hostPart)
	for i := range root {
		if root[i] == facts.NotNested {
			continue
		}
		ns := max(0, own[int32(i)])
		if root[i] == int32(i) {
			unnamed += ns
			continue
		}
		name := o.Labels[o.Label[i]]
		if byName[name] == nil {
			byName[name] = &hostPart{name: name}
			parts = append(parts, byName[name])
		}
		p := byName[name]
		p.n, p.ns, p.longest = p.n+1, p.ns+ns, max(p.longest, ns)
		p.events = append(p.events, int32(i))
	}
	slices.SortStableFunc(parts, func(a, b *hostPart) int {
		return cmp.Or(cmp.Compare(b.ns, a.ns), cmp.Compare(a.name, b.name))
	})
	return parts, unnamed
}

// hostName is the name of a host event, as operators and ranges have it.
func (c *Case) hostName(i int) string {
	o := c.Facts.OpTree()
	return o.Labels[o.Label[i]]
}

// around is the innermost range or operator around a host event that is none of its own kind, or "".
func (c *Case) around(i int32, own func(name string) bool) string {
	o := c.Facts.OpTree()
	for p := o.Parent[i]; p != facts.NotNested; p = o.Parent[p] {
		if name := c.hostName(int(p)); o.Kind[p] != facts.HostCall && !own(name) && name != "ProfilerStep*" {
			return facts.OpWords(name)
		}
	}
	return ""
}

// partRows is the n largest parts in words: "6.5 ms per step, 5 times: cudaMalloc".
func (c *Case) partRows(parts []*hostPart, n int) (rows []string) {
	for _, p := range parts[:min(n, len(parts))] {
		rows = append(rows, fmt.Sprintf("%s per step, %s: %s", ms(c.hostPerStep(p.ns)),
			times(float64(p.n)*c.PerStep), facts.OpWords(p.name)))
	}
	return rows
}

// shareOfHost is ns over the steps as a share of them, as "82 %".
func (c *Case) shareOfHost(ns int64) string { return fmt.Sprintf("%.0f %%", 100*c.Share(ns)) }

// onceWords warns of what is seen once only.
func onceWords(n int, what string) string {
	if n > 1 {
		return ""
	}
	return fmt.Sprintf("seen once: of one %s little follows for the next", what)
}

// isHostOp says whether a host event is an operator.
func (c *Case) isHostOp(i int) bool { return c.Facts.OpTree().Kind[i] == facts.HostOp }

// backwardNs is the time of operators of backward, as far as the capture has them.
func (c *Case) hasBackward() bool {
	for _, label := range c.Facts.OpTree().Labels {
		if strings.HasPrefix(label, "autograd::engine::evaluate_function") {
			return true
		}
	}
	return false
}
