package rules

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"lacuna/internal/timeline/facts"
)

// maxGaps is how many of the longest gaps are looked at for evidence.
const maxGaps = 50

// mainCause is the cause that took most of a gap.
func (c *Case) mainCause(g facts.IdleGap) string {
	best, bestNs := "", int64(-1)
	for cause, ns := range c.Facts.IdleByHost([]facts.IdleGap{g}) {
		if text := c.Facts.CauseText(cause); ns > bestNs || ns == bestNs && text < best {
			best, bestNs = text, ns
		}
	}
	return best
}

// A group is what happened at one place.
type group struct {
	name  string
	count *tally
	ns    *tally
}

// groups adds things up by the place where they happened.
type groups struct {
	c      *Case
	byName map[string]*group
}

func (c *Case) newGroups() *groups { return &groups{c, make(map[string]*group)} }

// add counts one thing of so many ns at an instant.
func (g *groups) add(name string, at int64, ns float64) {
	x := g.byName[name]
	if x == nil {
		x = &group{name, g.c.newTally(), g.c.newTally()}
		g.byName[name] = x
	}
	x.count.add(at, 1)
	x.ns.add(at, ns)
}

// allRows is the n largest groups over the whole window, stalled steps too: "3 times, 41.2 ms: cuModuleLoadData".
func (g *groups) allRows(n int) []string {
	sum := func(t *tally) (v float64) {
		for _, x := range t.byStep {
			v += x
		}
		return v
	}
	var all []*group
	for _, x := range g.byName {
		all = append(all, x)
	}
	slices.SortFunc(all, func(a, b *group) int {
		return cmp.Or(cmp.Compare(sum(b.ns), sum(a.ns)), cmp.Compare(a.name, b.name))
	})
	var rows []string
	for _, x := range all[:min(n, len(all))] {
		rows = append(rows, fmt.Sprintf("%s in all, %s: %s", times(sum(x.count)), ms(sum(x.ns)), x.name))
	}
	return rows
}

// rows is the n largest groups in words, most time first: "24.0 a step, 0.812 ms: cudaStreamSynchronize in aten::item".
func (g *groups) rows(n int) []string {
	var all []*group
	for _, x := range g.byName {
		if x.count.perStep() > 0 {
			all = append(all, x)
		}
	}
	slices.SortFunc(all, func(a, b *group) int {
		return cmp.Or(cmp.Compare(b.ns.perStep(), a.ns.perStep()), cmp.Compare(a.name, b.name))
	})
	var rows []string
	for _, x := range all[:min(n, len(all))] {
		rows = append(rows, fmt.Sprintf("%.1f per step, %s: %s", x.count.amount(), ms(x.ns.perStep()), x.name))
	}
	return rows
}

// ms is ns as milliseconds for people.
func ms(ns float64) string {
	switch {
	case ns >= 100e6:
		return fmt.Sprintf("%.0f ms", ns/1e6)
	case ns >= 1e6:
		return fmt.Sprintf("%.1f ms", ns/1e6)
	case ns >= 10e3:
		return fmt.Sprintf("%.2f ms", ns/1e6)
	}
	return fmt.Sprintf("%.1f µs", ns/1e3)
}

// number is a count per step for people: whole if it nearly is, or large.
func number(n float64) string {
	if r := math.Round(n); n >= 10 || math.Abs(n-r) < 0.05 {
		return fmt.Sprintf("%.0f", r)
	}
	return fmt.Sprintf("%.1f", n)
}

// deviceCount is the number of devices that did work, at least 1: sums over all of them are of the mean one when
// divided by it.
func (c *Case) deviceCount() float64 { return float64(max(1, len(c.Budgets))) }

// shortName is a kernel's name without its return type, templates and arguments.
func shortName(name string) string {
	name = strings.TrimPrefix(name, "void ")
	for _, nameless := range []string{"(anonymous namespace)::", "<unnamed>::"} { // of c++filt, of NVIDIA's tools
		name = strings.ReplaceAll(name, nameless, "")
	}
	if i := strings.IndexAny(name, "<("); i > 0 {
		name = name[:i]
	}
	return name
}

// several is a count per step with its noun: "1 copy", "2.5 copies".
func several(n float64, one, many string) string {
	if text := number(n); text != "1" {
		return text + " " + many
	}
	return "1 " + one
}
