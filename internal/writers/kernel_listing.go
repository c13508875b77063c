package writers

import (
	"fmt"
	"io"

	"lacuna/internal/kernelname"
	"lacuna/internal/kernelreport"
	"lacuna/internal/unit"
)

// ListingsJSON writes source lines of kernels with what was counted of them.
func ListingsJSON(w io.Writer, l *kernelreport.Listings) error { return JSON(w, l) }

// ListingsText prints source lines of kernels with what was counted of them, and the instructions of the one asked for.
func ListingsText(w io.Writer, l *kernelreport.Listings, page Page) error {
	p := &printer{Page: page, w: w}
	for i := range l.Kernels {
		if i > 0 {
			p.line("")
		}
		p.listing(&l.Kernels[i])
	}
	return p.err
}

// Of a line of many instructions, those are listed that cause waiting or access global memory.
const (
	fewInstructions = 24
	maxListedCode   = 40
	minListedWait   = 0.002 // of the kernel's waiting
	maxOpcode       = 14    // columns
)

func (p *printer) listing(l *kernelreport.Listing) {
	p.prose("", 2, p.name(kernelname.Profiled(l.Name))+", "+p.clean(l.File)+":"+fmt.Sprint(l.Line))
	p.line("")
	p.line(p.paint(bold, "  waits %   run %   line"))
	for _, x := range l.Lines {
		mark := " "
		if x.Line == l.Line {
			mark = p.pick("▶", ">")
		}
		head := fmt.Sprintf("%s %6s  %6s  %5d  ", mark, shareOrNone(x.Waits), shareOrNone(x.Executed), x.Line)
		p.line(head + p.paint(cyan, p.fit(p.clean(x.Text), p.width()-shown(head))))
	}
	p.line("")
	p.line(p.paint(bold, fmt.Sprintf("Instructions of line %d", l.Line)))
	columns := []gridColumn{{head: "at", right: true}, {head: "opcode"}, {head: "executed", right: true, drop: 1}, {head: "lanes", right: true, drop: 3}, {head: "sectors", right: true, drop: 2},
		{head: "excess %", right: true, drop: 4}, {head: "waits %", right: true}, {head: "for", flex: true}}
	var rows [][]string
	left := 0
	for _, x := range l.Instructions {
		if len(l.Instructions) > fewInstructions && (x.Waits < minListedWait && x.Sectors == 0 || len(rows) == maxListedCode) {
			left++
			continue
		}
		row := []string{fmt.Sprintf("0x%x", x.Offset), p.fit(p.clean(x.Opcode), maxOpcode), unit.FormatCount(int64(x.Executed)), "", "", "", shareOrNone(x.Waits), p.clean(waitWords(x.Reason))}
		if x.Lanes > 0 {
			row[3] = unit.Fixed(x.Lanes, 1)
		}
		if x.Sectors > 0 {
			row[4], row[5] = unit.FormatCount(int64(x.Sectors)), unit.Percent(x.Excess/x.Sectors)
		}
		rows = append(rows, row)
	}
	p.grid(columns, rows)
	if left > 0 {
		p.prose("  ", 2, fmt.Sprintf("and %d more, which cause little waiting; --format json has all", left))
	}
	p.prose("", 0, "Waits are counted where they are caused: at the load or the barrier that warps wait for. Excess is sectors that would not be needed if the lanes of a warp accessed neighbours.")
}

// shareOrNone is a share in percent, nothing for nothing.
func shareOrNone(v float64) string {
	if v <= 0 {
		return ""
	}
	return unit.Percent(v)
}
