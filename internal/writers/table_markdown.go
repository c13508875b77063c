package writers

import (
	"io"

	"lacuna/internal/unit"
)

// TableMarkdown writes tables for a comment or a page: at most limit rows each (0: all), scaled for people.
func TableMarkdown(w io.Writer, sheets []Sheet, limit int) error {
	m := &markdown{printer{Page: Page{Width: 1 << 20}, w: w}}
	for i, s := range sheets {
		if i > 0 {
			m.line("")
		}
		m.line("#### " + m.text(s.Table.Name) + ": " + m.text(s.Table.Title))
		m.line("")
		if s.Input != "" {
			m.line(m.code(s.Input))
			m.line("")
		}
		m.sheet(s, limit)
	}
	return m.err
}

func (m *markdown) sheet(s Sheet, limit int) {
	rows := s.shownRows(limit)
	scales := scalesOf(s.Rows.Columns, rows)
	var heads []string
	align := ""
	for i, c := range s.Rows.Columns {
		heads = append(heads, m.text(scales[i].Header(c.Name)))
		if c.Unit.IsNumber() {
			align += "r"
		} else {
			align += "l"
		}
	}
	cells := make([][]string, len(rows))
	for n, row := range rows {
		for i, c := range s.Rows.Columns {
			text := people(scales[i], row[i])
			if c.Unit == unit.Text && text != "" {
				text = "<code>" + m.text(m.fit(m.clean(text), maxMarkdownName)) + "</code>"
			} else {
				text = m.text(text)
			}
			cells[n] = append(cells[n], text)
		}
	}
	m.table(heads, align, cells)
	notes := s.Rows.Notes
	if more := s.moreRows(limit); more != "" {
		notes = append([]string{sentence(more)}, notes...)
	}
	for _, note := range notes {
		m.line("")
		m.line("<sub>" + m.text(note) + "</sub>")
	}
}
