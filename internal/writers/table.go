// Package writers turns results into bytes: one file a result and form (text, Markdown, CSV, JSON, SVG, what CI reads).
package writers

import (
	"bufio"
	"fmt"
	"io"
	"math"

	"lacuna/internal/tables"
	"lacuna/internal/unit"
)

// A Sheet is a table that was filled.
type Sheet struct {
	Table *tables.Table
	Rows  *tables.Rows
	Input string // the capture it is of, where there are several; else ""
}

// flushed gives fn a buffered w.
func flushed(w io.Writer, fn func(w *bufio.Writer)) error {
	b := bufio.NewWriterSize(w, 1<<16)
	fn(b)
	return b.Flush()
}

// appendCell writes a cell for programs. An absent one is nothing.
func appendCell(b []byte, u unit.Unit, c tables.Cell) []byte {
	switch c.Kind {
	case tables.TextCell:
		return append(b, c.Text...)
	case tables.IntCell:
		return u.AppendInt(b, c.Int)
	case tables.FloatCell:
		return u.AppendFloat(b, c.Float)
	}
	return b
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

// shownRows is the first rows, at most limit of them; 0: all.
func (s Sheet) shownRows(limit int) [][]tables.Cell {
	if limit > 0 && len(s.Rows.Rows) > limit {
		return s.Rows.Rows[:limit]
	}
	return s.Rows.Rows
}

// moreRows says what a limit left out; "" if nothing.
func (s Sheet) moreRows(limit int) string {
	left := len(s.Rows.Rows) - len(s.shownRows(limit))
	switch left {
	case 0:
		return ""
	case 1:
		return "and 1 more row; --limit 0 shows all"
	}
	return fmt.Sprintf("and %s more rows; --limit 0 shows all", unit.FormatCount(int64(left)))
}
