package pages

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"lacuna/internal/base/unit"
	"lacuna/internal/faces/page"
	"lacuna/internal/kernel/kernelname"
	"lacuna/internal/timeline/tables"
)

// Tables is tables for people: at most limit rows of each (0: all), each column on a scale of its own.
func Tables(sheets []tables.Sheet, limit int) *page.Page {
	p := &page.Page{}
	for _, s := range sheets {
		var blocks []page.Block
		if s.Input != "" {
			blocks = append(blocks, page.Prose{Text: page.Of(page.Path, s.Input), Style: page.Dim, OneLine: true})
		}
		p.Add(page.Section{Title: page.T(s.Table.Name + ": " + s.Table.Title), Level: 1, OneLine: true,
			Blocks: append(blocks, tableOf(s, limit))})
	}
	return p
}

func tableOf(s tables.Sheet, limit int) page.Table {
	columns, rows := s.Rows.Columns, s.Rows.Rows
	if limit > 0 && len(rows) > limit {
		rows = rows[:limit]
	}
	out := page.Table{Wide: true, More: moreRows(len(s.Rows.Rows) - len(rows)),
		Columns: make([]page.Column, len(columns)), Rows: make([][]page.Text, len(rows))}
	scales := scalesOf(columns, rows)
	kinds := make([]page.Kind, len(columns))
	for i, c := range columns {
		out.Columns[i] = page.Column{Head: scales[i].Header(c.Name), Short: c.Name, Right: c.Unit.IsNumber()}
		if first := s.Table.First; len(first) > 0 && !slices.Contains(first, c.Name) {
			out.Columns[i].Drop = 1 + i
		}
		if c.Unit == unit.Text {
			kinds[i] = page.Name
		}
	}
	names := shortNames(s.Table, columns, rows)
	spans := make([]page.Span, len(rows)*len(columns)) // in one piece: a capture has millions of rows
	cells := make([]page.Text, len(spans))
	for n, row := range rows {
		for i := range columns {
			at := n*len(columns) + i
			spans[at] = page.Span{Kind: kinds[i], Text: people(scales[i], row[i])}
			if short, ok := names[spans[at].Text]; ok && columns[i].Name == s.Table.KernelNames {
				spans[at].Text = short
			}
			cells[at] = spans[at : at+1 : at+1]
		}
		out.Rows[n] = cells[n*len(columns) : (n+1)*len(columns)]
	}
	for _, note := range s.Rows.Notes {
		out.Notes = append(out.Notes, page.Sentence(page.T(note)))
	}
	return out
}

// shortNames is the kernels' names of a table without namespaces and arguments, but for those that only these tell
// apart, and for mangled ones, which somebody asked for.
func shortNames(t *tables.Table, columns []tables.Column, rows [][]tables.Cell) map[string]string {
	at := slices.IndexFunc(columns, func(c tables.Column) bool { return c.Name == t.KernelNames })
	if t.KernelNames == "" || at < 0 {
		return nil
	}
	out, whose := make(map[string]string), make(map[string]string)
	for _, row := range rows {
		name := row[at].Text
		if _, done := out[name]; done || row[at].Kind != tables.TextCell || strings.HasPrefix(name, "_Z") {
			continue
		}
		short := kernelname.Short(name)
		if other, taken := whose[short]; taken {
			out[other], short = other, name
		} else {
			whose[short] = name
		}
		out[name] = short
	}
	return out
}

// scalesOf is the scale of each column, from the rows that are shown.
func scalesOf(columns []tables.Column, rows [][]tables.Cell) []unit.Scale {
	out := make([]unit.Scale, len(columns))
	for i, c := range columns {
		largest := 0.0
		for _, row := range rows {
			switch v := row[i]; v.Kind {
			case tables.IntCell:
				largest = max(largest, math.Abs(float64(v.Int)))
			case tables.FloatCell:
				if a := math.Abs(v.Float); a <= math.MaxFloat64 {
					largest = max(largest, a)
				}
			}
		}
		out[i] = unit.ScaleOf(c.Unit, largest)
	}
	return out
}

// people is a cell for people; text as it is.
func people(s unit.Scale, c tables.Cell) string {
	switch c.Kind {
	case tables.TextCell:
		return c.Text
	case tables.IntCell:
		return s.Int(c.Int)
	case tables.FloatCell:
		return s.Float(c.Float)
	}
	return ""
}

// moreRows says what a limit left out; "" if nothing.
func moreRows(left int) string {
	switch left {
	case 0:
		return ""
	case 1:
		return "and 1 more row; --limit 0 shows all"
	}
	return fmt.Sprintf("and %s more rows; --limit 0 shows all", unit.FormatCount(int64(left)))
}
