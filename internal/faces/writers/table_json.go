package writers

import (
	"bufio"
	"io"
	"strconv"

	"lacuna/internal/base/unit"
	"lacuna/internal/timeline/tables"
)

// TableJSON writes tables as one object, a row a line. Numbers are in the unit at the end of their
// key; what is absent is null.
func TableJSON(w io.Writer, sheets []tables.Sheet) error {
	return flushed(w, func(out *bufio.Writer) {
		_, _ = out.WriteString(`{"schema":1,"tables":[`)
		for i, s := range sheets {
			if i > 0 {
				_ = out.WriteByte(',')
			}
			jsonOf(s, out)
		}
		_, _ = out.WriteString("\n]}\n")
	})
}

// jsonOf writes one table. The writer keeps its first error, and Flush returns it.
func jsonOf(s tables.Sheet, out *bufio.Writer) {
	line := unit.AppendQuoted([]byte("\n{\"name\":"), s.Table.Name)
	if s.Input != "" {
		line = unit.AppendQuoted(append(line, `,"input":`...), s.Input)
	}
	line = append(line, ",\"columns\":["...)
	keys := keysOf(s.Rows.Columns)
	for i, c := range s.Rows.Columns {
		if i > 0 {
			line = append(line, ',')
		}
		line = unit.AppendQuoted(append(line, "\n {\"name\":"...), c.Name)
		line = unit.AppendQuoted(append(line, `,"key":`...), keys[i])
		line = unit.AppendQuoted(append(line, `,"unit":`...), c.Unit.Symbol())
		line = unit.AppendQuoted(append(line, `,"doc":`...), c.Doc)
		line = append(line, '}')
	}
	_, err := out.Write(append(line, "],\"rows\":["...))
	for n, row := range s.Rows.Rows {
		if err != nil {
			return
		}
		line = line[:0]
		if n > 0 {
			line = append(line, ',')
		}
		line = append(line, "\n {"...)
		for i, c := range s.Rows.Columns {
			if i > 0 {
				line = append(line, ',')
			}
			line = append(unit.AppendQuoted(line, keys[i]), ':')
			line = appendJSONCell(line, c, row[i])
		}
		_, err = out.Write(append(line, '}'))
	}
	_, _ = out.WriteString("],\"notes\":[")
	for i, note := range s.Rows.Notes {
		if i > 0 {
			_ = out.WriteByte(',')
		}
		_, _ = out.Write(unit.AppendQuoted(nil, note))
	}
	_, _ = out.WriteString("]}")
}

// keysOf is the key of each column; of two that are equal the second gets a number.
func keysOf(columns []tables.Column) []string {
	out := make([]string, len(columns))
	seen := make(map[string]int)
	for i, c := range columns {
		key := c.Unit.Key(c.Name)
		if seen[key]++; seen[key] > 1 {
			key += "_" + strconv.Itoa(seen[key])
		}
		out[i] = key
	}
	return out
}

func appendJSONCell(b []byte, c tables.Column, cell tables.Cell) []byte {
	if cell.Kind == tables.TextCell {
		return unit.AppendQuoted(b, cell.Text)
	}
	n := len(b)
	if b = appendCell(b, c.Unit, cell); len(b) == n {
		b = append(b, "null"...)
	}
	return b
}
