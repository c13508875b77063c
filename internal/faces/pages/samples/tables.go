package samples

import (
	"math"

	"lacuna/internal/base/unit"
	"lacuna/internal/timeline/tables"
)

// Sheet is a table like nsys' kernel summary, with rows that are hard to print.
func Sheet() tables.Sheet {
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

// NoRows is a table without rows.
func NoRows() tables.Sheet {
	return tables.Sheet{Table: &tables.Table{Name: "none", Title: "Nothing"}, Input: "b.json",
		Rows: &tables.Rows{Columns: []tables.Column{{Name: "Rank", Unit: unit.ID}}}}
}
