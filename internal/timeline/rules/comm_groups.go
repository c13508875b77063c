package rules

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"lacuna/internal/timeline/facts"
)

// maxGroupRows is how many process groups a finding names.
const maxGroupRows = 4

// commGroupRows is what each process group communicates, most exposed first; none where nothing is recorded of
// collectives. Of several devices, what each of them does is one row.
func (c *Case) commGroupRows(x *rankWaits) []string {
	type row struct {
		exposedNs int64
		text      string
	}
	var rows []row
	known := false
	for _, b := range c.Budgets {
		for _, g := range c.Facts.CommGroups(b.Device, c.Steps.Window()) {
			if g.ExposedNs <= 0 {
				continue
			}
			known = known || g.Size > 0 || g.Desc != ""
			text := c.groupText(&g, x)
			if len(c.Budgets) > 1 {
				text = fmt.Sprintf("GPU %d, %s", b.Device, text)
			}
			rows = append(rows, row{g.ExposedNs, text})
		}
	}
	if !known {
		return nil
	}
	slices.SortStableFunc(rows, func(a, b row) int { return cmp.Compare(b.exposedNs, a.exposedNs) })
	var out []string
	for _, r := range rows[:min(len(rows), maxGroupRows)] {
		out = append(out, r.text)
	}
	return out
}

// groupText is a process group in words.
func (c *Case) groupText(g *facts.CommGroup, x *rankWaits) string {
	name := cmp.Or(g.Desc, g.Name, "no group recorded")
	if g.Size > 0 {
		name += fmt.Sprintf(", %d ranks", g.Size)
	}
	text := fmt.Sprintf("%s: %s exposed, %s overlapped", name, ms(float64(g.ExposedNs)*c.PerStep),
		ms(float64(g.HiddenNs)*c.PerStep))
	for _, op := range g.Ops[:min(len(g.Ops), 2)] {
		text += fmt.Sprintf("; %s %s", number(float64(op.Count)*c.PerStep), op.Name)
		if op.Sized == 0 {
			continue
		}
		text += " of " + megabytes(float64(op.Bytes)/float64(op.Sized))
		ns := op.BytesNs
		if x != nil { // their waiting is no transfer
			ns -= c.waitedNs(g, op.Name, x)
		}
		if factor := facts.BusFactor(op.Name, g.Size); factor > 0 && ns > 0 {
			text += fmt.Sprintf(" at %.3g GB/s", float64(op.Bytes)*factor/float64(ns))
		}
	}
	return text
}

// waitedNs is how long the kernels of one operation of a group, of which the size is known, waited for other ranks.
func (c *Case) waitedNs(g *facts.CommGroup, op string, x *rankWaits) (ns int64) {
	for _, row := range g.Rows {
		if c.Facts.CommOpOf(row) == op && c.commBytes(row) > 0 {
			ns += x.own[row]
		}
	}
	return ns
}

// megabytes is a size for people.
func megabytes(bytes float64) string {
	if bytes < 1e6 {
		return fmt.Sprintf("%.3g kB", bytes/1e3)
	}
	return strings.TrimSuffix(fmt.Sprintf("%.1f", bytes/1e6), ".0") + " MB"
}

// linkWords is what the link from GPU to GPU carries that this device can have; "": none is known.
func (c *Case) linkWords() string {
	p, ok := c.peak()
	if !ok {
		return ""
	}
	link, ok := p.GPULink()
	if !ok {
		return ""
	}
	return fmt.Sprintf("; %s, which %s has within a node, carries %g GB/s", link.Name, p.Name, link.GBs)
}
