package tables

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"lacuna/internal/base/golden"
	"lacuna/internal/timeline/evtext"
	"lacuna/internal/timeline/facts"
)

// TestTables: every table has testdata/NAME.txtar, in which some case has rows; no file is of a table that is gone.
func TestTables(t *testing.T) {
	for _, table := range All {
		t.Run(table.Name, func(t *testing.T) {
			if rows := testCases(t, table); rows == 0 {
				t.Errorf("testdata/%s.txtar: no case has a row", table.Name)
			}
		})
	}
	golden.NoStrangers(t, "testdata", func(name string) bool {
		return slices.ContainsFunc(All, func(x *Table) bool { return x.Name == name })
	})
}

// Every table and every column of it says what a person must know.
func TestTablesAreDocumented(t *testing.T) {
	for _, table := range All {
		if strings.TrimSpace(table.Title) == "" || strings.TrimSpace(table.Doc) == "" {
			t.Errorf("%s: no Title or Doc", table.Name)
		}
		for _, c := range table.Columns {
			if c.Name == "" || strings.TrimSpace(c.Doc) == "" {
				t.Errorf("%s: column %q has no Name or Doc", table.Name, c.Name)
			}
		}
	}
}

// testCases runs every case of testdata/NAME.txtar and returns how many rows they have together. Lines "== " part
// several captures of a case; args are as on the command line, words between blanks.
func testCases(t *testing.T, table *Table) (rows int) {
	t.Helper()
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
		rows += len(out.Rows)
		return rowsText(out)
	})
	return rows
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
