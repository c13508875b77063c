// Package writers turns results into bytes: one file a result and form (text, Markdown, CSV, JSON, SVG, what CI reads).
package writers

import (
	"bufio"
	"io"

	"lacuna/internal/base/unit"
	"lacuna/internal/timeline/tables"
)

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
