package pages

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"lacuna/internal/base/golden"
	"lacuna/internal/base/unit"
	"lacuna/internal/faces/page"
	"lacuna/internal/faces/page/pagetest"
	"lacuna/internal/faces/pages/samples"
	"lacuna/internal/timeline/tables"
)

func TestTables(t *testing.T) {
	both := []tables.Sheet{samples.Sheet(), samples.NoRows()}
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
	wide := samples.Sheet()
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
	s := samples.Sheet()
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

// People see kernels' names without namespaces and arguments, unless only these tell two apart.
func TestKernelNamesAreShort(t *testing.T) {
	table := &tables.Table{Name: "x", KernelNames: "Name", Columns: []tables.Column{{Name: "Name", Unit: unit.Text},
		{Name: "Range", Unit: unit.Text}}}
	rows := &tables.Rows{Columns: table.Columns}
	for _, name := range []string{"void at::native::fill<float>(int)", "void a::copy<int>(int)",
		"void b::copy<int>(int)", "void c::copy<int>(int)", "_ZN2at4fillEv", "sm80_gemm"} {
		rows.Add(tables.Str(name), tables.Str("void x::y()"))
	}
	out := tableOf(tables.Sheet{Table: table, Rows: rows}, 0)
	var got []string
	for _, row := range out.Rows {
		got = append(got, row[0].String())
		if row[1].String() != "void x::y()" {
			t.Errorf("another column: %q", row[1].String())
		}
	}
	want := []string{"fill<float>", "void a::copy<int>(int)", "void b::copy<int>(int)", "void c::copy<int>(int)",
		"_ZN2at4fillEv", "sm80_gemm"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}
