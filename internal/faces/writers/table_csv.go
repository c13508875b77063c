package writers

import (
	"bufio"
	"bytes"
	"io"

	"lacuna/internal/timeline/tables"
)

// TableCSV writes tables as nsys stats does: a header with units, plain numbers, nothing for what is
// absent, quotes only where needed, \n at line ends, and an empty line between tables.
func TableCSV(w io.Writer, sheets []tables.Sheet) error {
	return flushed(w, func(out *bufio.Writer) {
		for i, s := range sheets {
			if i > 0 {
				_ = out.WriteByte('\n')
			}
			csvOf(s, out)
		}
	})
}

// csvOf writes one table. The writer keeps its first error, and Flush returns it.
func csvOf(s tables.Sheet, out *bufio.Writer) {
	columns := s.Rows.Columns
	var line, cell []byte
	for i, c := range columns {
		line = appendField(line, i, []byte(c.Unit.Header(c.Name)))
	}
	_, err := out.Write(append(line, '\n'))
	for _, row := range s.Rows.Rows {
		if err != nil {
			return
		}
		line = line[:0]
		for i, c := range columns {
			cell = appendCell(cell[:0], c.Unit, row[i])
			line = appendField(line, i, cell)
		}
		if len(line) == 0 {
			line = append(line, `""`...) // an empty line would be no row
		}
		_, err = out.Write(append(line, '\n'))
	}
}

func appendField(line []byte, i int, field []byte) []byte {
	if i > 0 {
		line = append(line, ',')
	}
	if !bytes.ContainsAny(field, ",\"\r\n") {
		return append(line, field...)
	}
	line = append(line, '"')
	for _, c := range field {
		if c == '"' {
			line = append(line, '"')
		}
		line = append(line, c)
	}
	return append(line, '"')
}
