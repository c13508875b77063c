package tables

import (
	"fmt"
	"strings"
	"testing"

	"lacuna/internal/evtext"
	"lacuna/internal/facts"
	"lacuna/internal/golden"
)

// testCases runs every case of testdata/NAME.txtar. Lines "== " part several captures of a case; args are
// as on the command line, words between blanks.
func testCases(t *testing.T, table *Table) {
	golden.CasesWithArgs(t, "testdata/"+table.Name+".txtar", func(t *testing.T, c golden.Case) string {
		var in []*facts.Facts
		for _, events := range strings.Split("\n"+c.Events, "\n==\n") {
			trace, err := evtext.Parse(events)
			if err != nil {
				t.Fatal(err)
			}
			in = append(in, facts.Of(trace))
		}
		args := make(Args)
		for _, word := range strings.Fields(c.Args) {
			name, value, _ := strings.Cut(word, "=")
			args[name] = value
		}
		if !table.ManyRanks && len(in) > 1 {
			t.Fatalf("%s takes one capture at a time", table.Name)
		}
		out := &Rows{Columns: table.Columns}
		if err := table.Fill(in, args, out); err != nil {
			return err.Error()
		}
		return rowsText(out)
	})
}

// rowsText prints rows as they are held: times in ns whatever the unit, "-" where there is no value.
func rowsText(r *Rows) string {
	var b strings.Builder
	line := func(n int, cell func(i int) string) {
		for i := range n {
			if i > 0 {
				b.WriteString(" | ")
			}
			b.WriteString(cell(i))
		}
		b.WriteByte('\n')
	}
	line(len(r.Columns), func(i int) string { return r.Columns[i].Name })
	for _, row := range r.Rows {
		line(len(row), func(i int) string { return cellText(row[i]) })
	}
	for _, note := range r.Notes {
		b.WriteString("note: " + note + "\n")
	}
	return b.String()
}

func cellText(c Cell) string {
	switch c.Kind {
	case TextCell:
		return c.Text
	case IntCell:
		return fmt.Sprint(c.Int)
	case FloatCell:
		return fmt.Sprintf("%.6g", c.Float)
	}
	return "-"
}
