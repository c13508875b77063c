package pages

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"lacuna/internal/base/golden"
	"lacuna/internal/base/unit"
	"lacuna/internal/faces/page"
	"lacuna/internal/faces/page/pagetest"
	"lacuna/internal/timeline/tables"
)

// demoSheet is a table like nsys' kernel summary, with rows that are hard to print.
func demoSheet() tables.Sheet {
	columns := []tables.Column{
		{Name: "Time", Unit: unit.Percent1, Doc: "of all rows"},
		{Name: "Total Time", Unit: unit.Ns, Doc: "sum"},
		{Name: "Instances", Unit: unit.Count},
		{Name: "Avg", Unit: unit.NsFloat},
		{Name: "Size", Unit: unit.MB},
		{Name: "PID", Unit: unit.ID},
		{Name: "Name", Unit: unit.Text},
	}
	rows := &tables.Rows{Columns: columns, Notes: []string{"two rows are hostile"}}
	add := func(total, n int64, mb tables.Cell, name string) {
		rows.Add(tables.Float(float64(total)/2e6), tables.Int(total), tables.Int(n),
			tables.Float(float64(total)/float64(n)), mb, tables.Int(4711), tables.Str(name))
	}
	add(1_234_567, 1234, tables.Float(16.7772),
		"void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>, std::array<char*, 1ul> "+
			">(int, float)")
	add(999_999, 3, tables.Cell{}, `gemm "quoted", with a comma`)
	add(500, 1, tables.Float(math.NaN()), "\x1b[31mred\x1b[0m\r\nsecond line\t\u202eevil\xff")
	add(1, 1, tables.Float(0), "内核名字 with 全角 letters")
	return tables.Sheet{Table: &tables.Table{Name: "demo", Title: "One row per name"}, Rows: rows}
}

func emptySheet() tables.Sheet {
	return tables.Sheet{Table: &tables.Table{Name: "none", Title: "Nothing"}, Input: "b.json",
		Rows: &tables.Rows{Columns: []tables.Column{{Name: "Rank", Unit: unit.ID}}}}
}

func TestTables(t *testing.T) {
	both := []tables.Sheet{demoSheet(), emptySheet()}
	for name, got := range map[string]string{
		"table.txt":      textOf(t, Tables(both, 0), page.Layout{Width: page.NoEdge}),
		"table_80.txt":   textOf(t, Tables(both, 2), page.Layout{Width: 80}),
		"table_40.txt":   textOf(t, Tables(both[:1], 0), page.Layout{Width: 40, ASCII: true}),
		"table_ansi.txt": textOf(t, Tables(both, 1), page.Layout{Width: 80, Color: true}),
	} {
		t.Run(name, func(t *testing.T) { golden.File(t, "testdata/"+name, got) })
	}
	pagetest.Goldens(t, "tables", Tables(both, 3))
}

// No line is wider than the page and none holds what a terminal would obey, however many columns there are.
func TestTablesStayOnPage(t *testing.T) {
	wide := demoSheet()
	for i := range 30 {
		wide.Rows.Columns = append(wide.Rows.Columns, tables.Column{Name: fmt.Sprintf("Column %d", i),
			Unit: unit.Unit(i%2) * unit.Ns})
		for n, row := range wide.Rows.Rows {
			cell := tables.Int(i * 1000)
			if i%2 == 0 {
				cell = tables.Str(strings.Repeat("内x", i))
			}
			wide.Rows.Rows[n] = append(row, cell)
		}
	}
	pagetest.Check(t, Tables([]tables.Sheet{wide}, 0))
}

func BenchmarkTables(b *testing.B) {
	s := demoSheet()
	for len(s.Rows.Rows) < 100_000 {
		s.Rows.Rows = append(s.Rows.Rows, s.Rows.Rows[:4]...)
	}
	for _, width := range []int{page.NoEdge, 100} {
		b.Run(fmt.Sprint(width), func(b *testing.B) {
			for b.Loop() {
				textOf(b, Tables([]tables.Sheet{s}, 0), page.Layout{Width: width})
			}
			b.ReportMetric(float64(len(s.Rows.Rows))*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
		})
	}
}
