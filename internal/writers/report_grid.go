package writers

import (
	"slices"
	"strings"
)

// A gridColumn is a column of a grid.
type gridColumn struct {
	head  string
	right bool
	drop  int  // where the page is too narrow, columns go in the order of this number, largest first; 0: stays
	flex  bool // is shortened in the middle to the room that is left
}

// minFlex is the least room for a column that gives way, if it needs as much, before others are dropped.
const minFlex = 24

// grid writes rows under their columns. Cells must be clean.
func (p *printer) grid(columns []gridColumn, rows [][]string) {
	const gap = 2
	columns = slices.Clone(columns)
	keep := make([]int, len(columns)) // the columns shown
	widths := make([]int, len(columns))
	least := 0
	for i, c := range columns {
		keep[i] = i
		widths[i] = shown(c.head)
		for _, row := range rows {
			widths[i] = max(widths[i], shown(row[i]))
		}
		if c.flex {
			least = min(minFlex, widths[i])
		}
	}
	room := func() int { // what is left for the flexible column
		left := p.width() - 2 + gap
		for _, i := range keep {
			left -= gap
			if !columns[i].flex {
				left -= widths[i]
			}
		}
		return left
	}
	for room() < least {
		at := -1
		for k, i := range keep {
			if columns[i].drop > 0 && (at < 0 || columns[i].drop > columns[keep[at]].drop) {
				at = k
			}
		}
		if at < 0 {
			break
		}
		keep = slices.Delete(keep, at, at+1)
	}
	left := max(room(), 4)
	for i, c := range columns {
		if c.flex {
			widths[i] = min(widths[i], left)
		}
	}
	write := func(cells []string, style string, indent int) {
		line := ""
		for k, i := range keep {
			room := widths[i]
			switch {
			case k > 0:
				line += strings.Repeat(" ", gap)
			case columns[i].right:
				line = strings.Repeat(" ", 2)
			default: // a heading on the left begins at the margin, its rows are indented
				line = strings.Repeat(" ", indent)
				room += 2 - indent
			}
			line += pad(p.fit(cells[i], room), room, columns[i].right)
		}
		p.line(p.paint(style, strings.TrimRight(line, " ")))
	}
	heads := make([]string, len(columns))
	for i, c := range columns {
		heads[i] = c.head
	}
	write(heads, bold, 0)
	for _, row := range rows {
		write(row, "", 2)
	}
}
