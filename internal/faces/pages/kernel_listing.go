package pages

import (
	"fmt"

	"lacuna/internal/base/unit"
	"lacuna/internal/faces/page"
	"lacuna/internal/kernel/kernelname"
	"lacuna/internal/kernel/kernelreport"
)

// Listings is source lines of kernels with what was counted of them, and the instructions of the one asked for.
func Listings(l *kernelreport.Listings) *page.Page {
	p := &page.Page{Title: page.T("Source lines with their counters")}
	for i := range l.Kernels {
		if i > 0 {
			p.Add(page.Gap{})
		}
		p.Add(listing(&l.Kernels[i])...)
	}
	return p
}

// Of a line of many instructions, those are listed that cause waiting or access global memory.
const (
	fewInstructions = 24
	maxListedCode   = 40
	minListedWait   = 0.002 // of the kernel's waiting
	maxOpcode       = 14    // columns
)

// listing is the lines of one kernel.
func listing(l *kernelreport.Listing) []page.Block {
	lines := page.Listing{Counts: []string{"stall %", "run %"}}
	for _, x := range l.Lines {
		lines.Lines = append(
			lines.Lines,
			page.Listed{
				Counts: []string{shareOrNone(x.Waits), shareOrNone(x.Executed)},
				Number: x.Line,
				Code:   x.Text,
				Here:   x.Line == l.Line,
			},
		)
	}
	return []page.Block{
		page.Prose{
			Hang: 2,
			Text: page.Sayf(
				"%s, %s",
				page.Named(kernelname.Profiled(l.Name)),
				page.Of(page.Word, fmt.Sprintf("%s:%d", l.File, l.Line)),
			),
		},
		page.Gap{}, lines,
		page.Section{Title: page.Sayf("Instructions of line %d", l.Line), Level: 1,
			Blocks: []page.Block{instructions(l)}},
		page.Prose{Text: page.T("Stalls count where they are caused: at the load or the barrier that warps wait for. " +
			"Excess: sectors that coalesced accesses would not need.")},
	}
}

// instructions is the machine instructions of the line that was asked for.
func instructions(l *kernelreport.Listing) page.Table {
	t := page.Table{
		Columns: []page.Column{
			{Head: "at", Right: true},
			{Head: "opcode", Most: maxOpcode},
			{Head: "executed", Right: true, Drop: 1},
			{
				Head:  "lanes",
				Right: true,
				Drop:  3,
			},
			{Head: "sectors", Right: true, Drop: 2},
			{Head: "excess %", Right: true, Drop: 4},
			{Head: "stall %", Right: true},
			{Head: "reason", Flex: true},
		},
	}
	left := 0
	for _, x := range l.Instructions {
		if len(l.Instructions) > fewInstructions &&
			(x.Waits < minListedWait && x.Sectors == 0 || len(t.Rows) == maxListedCode) {
			left++
			continue
		}
		row := page.Row(
			fmt.Sprintf("0x%x", x.Offset),
			"",
			unit.FormatCount(int64(x.Executed)),
			"",
			"",
			"",
			shareOrNone(x.Waits),
			stallName(x.Reason),
		)
		row[1] = page.Of(page.Word, x.Opcode)
		if x.Lanes > 0 {
			row[3] = page.T(unit.Fixed(x.Lanes, 1))
		}
		if x.Sectors > 0 {
			row[4], row[5] = page.T(unit.FormatCount(int64(x.Sectors))), page.T(unit.Percent(x.Excess/x.Sectors))
		}
		t.Rows = append(t.Rows, row)
	}
	if left > 0 {
		t.More = fmt.Sprintf("and %d more, which cause few stalls; --format json has all", left)
	}
	return t
}

// shareOrNone is a share in percent, nothing for nothing.
func shareOrNone(v float64) string {
	if v <= 0 {
		return ""
	}
	return unit.Percent(v)
}
