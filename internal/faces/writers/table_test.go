package writers

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"lacuna/internal/base/golden"
	"lacuna/internal/faces/pages/samples"
	"lacuna/internal/timeline/tables"
)

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
		"table.csv": func(b *bytes.Buffer) error {
			return TableCSV(b,
				[]tables.Sheet{samples.Sheet(), samples.NoRows()})
		},
		"table.json": func(b *bytes.Buffer) error {
			return TableJSON(b,
				[]tables.Sheet{samples.Sheet(), samples.NoRows()})
		},
	} {
		t.Run(name, func(t *testing.T) { golden.File(t, "testdata/"+name, render(t, write)) })
	}
}

func TestTableCSVIsCSV(t *testing.T) {
	text := render(t, func(b *bytes.Buffer) error { return TableCSV(b, []tables.Sheet{samples.Sheet()}) })
	rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) != 5 || rows[2][6] != `gemm "quoted", with a comma` || rows[2][4] != "" || rows[1][3] != "1000.5" {
		t.Errorf("read back as %q", rows)
	}
}

func TestTableJSONIsJSON(t *testing.T) {
	text := render(t, func(b *bytes.Buffer) error {
		return TableJSON(b,
			[]tables.Sheet{samples.Sheet(), samples.NoRows()})
	})
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
	s := samples.Sheet()
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
