package writers

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"lacuna/internal/base/golden"
	"lacuna/internal/base/unit"
	"lacuna/internal/timeline/tables"
)

// sheet is a table like nsys' kernel summary, with rows that are hard to print.
func sheet() tables.Sheet {
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
	add(1_234_567, 1234, tables.Float(16.7772), "void at::native::vectorized_elementwise_kernel<4, "+
		"at::native::FillFunctor<float>, std::array<char*, 1ul> >(int, float)")
	add(999_999, 3, tables.Cell{}, `gemm "quoted", with a comma`)
	add(500, 1, tables.Float(math.NaN()), "\x1b[31mred\x1b[0m\r\nsecond line\t\u202eevil\xff")
	add(1, 1, tables.Float(0), "内核名字 with 全角 letters")
	return tables.Sheet{Table: &tables.Table{Name: "demo", Title: "One row per name"}, Rows: rows}
}

func empty() tables.Sheet {
	return tables.Sheet{Table: &tables.Table{Name: "none", Title: "Nothing"}, Input: "b.json",
		Rows: &tables.Rows{Columns: []tables.Column{{Name: "Rank", Unit: unit.ID}}}}
}

func render(t testing.TB, write func(b *bytes.Buffer) error) string {
	t.Helper()
	var b bytes.Buffer
	if err := write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// What every writer makes of the same two tables.
func TestTableWriters(t *testing.T) {
	for name, write := range map[string]func(b *bytes.Buffer) error{
		"table.csv":  func(b *bytes.Buffer) error { return TableCSV(b, []tables.Sheet{sheet(), empty()}) },
		"table.json": func(b *bytes.Buffer) error { return TableJSON(b, []tables.Sheet{sheet(), empty()}) },
	} {
		t.Run(name, func(t *testing.T) { golden.File(t, "testdata/"+name, render(t, write)) })
	}
}

func TestTableCSVIsCSV(t *testing.T) {
	text := render(t, func(b *bytes.Buffer) error { return TableCSV(b, []tables.Sheet{sheet()}) })
	rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) != 5 || rows[2][6] != `gemm "quoted", with a comma` || rows[2][4] != "" || rows[1][3] != "1000.5" {
		t.Errorf("read back as %q", rows)
	}
}

func TestTableJSONIsJSON(t *testing.T) {
	text := render(t, func(b *bytes.Buffer) error { return TableJSON(b, []tables.Sheet{sheet(), empty()}) })
	var got struct {
		Schema int
		Tables []struct {
			Name, Input string
			Columns     []struct{ Name, Key, Unit, Doc string }
			Rows        []map[string]any
		}
	}
	if err := json.Unmarshal([]byte(text), &got); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	row := got.Tables[0].Rows[1]
	if got.Schema != 1 || len(got.Tables) != 2 || row["total_time_ns"] != 999999.0 || row["size_mb"] != nil ||
		row["name"] != `gemm "quoted", with a comma` {
		t.Errorf("read back as %+v", got)
	}
	if k := keysOf([]tables.Column{{Name: "A"}, {Name: "a"}, {Name: "a"}}); fmt.Sprint(k) != "[a a_2 a_3]" {
		t.Errorf("keys are %v", k)
	}
}

func BenchmarkTableCSV(b *testing.B) {
	s := sheet()
	for len(s.Rows.Rows) < 100_000 {
		s.Rows.Rows = append(s.Rows.Rows, s.Rows.Rows[:4]...)
	}
	for b.Loop() {
		if err := TableCSV(discard{}, []tables.Sheet{s}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(len(s.Rows.Rows))*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }
