package ncu

import (
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"

	"lacuna/internal/base/golden"
	"lacuna/internal/kernel/profile"
	"lacuna/internal/reader"
)

// small is a report made for this project: two launches of streaming kernels on an H200, by version 2025.3.1 with a
// full set.
const small = "testdata/dram_bound_at_peak/report.ncu-rep.zst"

// reports is the report that lies here and, in a long test, every report of the corpus.
func reports(t *testing.T) []string {
	t.Helper()
	all := []string{small}
	if !golden.IsLong() {
		return all
	}
	corpus := golden.Corpus(t)
	for _, glob := range []string{"kernel/*/report.ncu-rep*", "public/ncu/*/report.ncu-rep*"} {
		found, err := filepath.Glob(filepath.Join(corpus, glob))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, found...)
	}
	return all
}

func open(t testing.TB, path string) *profile.Report {
	t.Helper()
	r, err := reader.OpenProfile(context.Background(), path, []*reader.Format{&Format}, reader.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// page reads a printed page beside a report: rows of cells.
func page(t *testing.T, report, name string) [][]string {
	t.Helper()
	path := filepath.Join(filepath.Dir(report), name)
	var in io.Reader
	if f, err := os.Open(path); err == nil {
		defer f.Close()
		in = f
	} else if f, err := os.Open(path + ".gz"); err == nil {
		defer f.Close()
		if in, err = gzip.NewReader(f); err != nil {
			t.Fatal(err)
		}
	} else {
		t.Skipf("NO PAGE: %s", path)
	}
	text, err := io.ReadAll(in)
	if err != nil {
		t.Fatal(err)
	}
	for strings.HasPrefix(string(text), "==") {
		_, after, _ := strings.Cut(string(text), "\n")
		text = []byte(after)
	}
	rows := csv.NewReader(strings.NewReader(string(text)))
	rows.FieldsPerRecord = -1
	all, err := rows.ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// named is the name of a report's folder.
func named(path string) string { return filepath.Base(filepath.Dir(path)) }

// Every metric that ncu prints is there with its value, and nothing is lost.
func TestRawPages(t *testing.T) {
	for _, path := range reports(t) {
		t.Run(named(path), func(t *testing.T) {
			t.Parallel()
			r := open(t, path)
			for _, l := range r.Losses.All() {
				t.Errorf("lost: %s %d: %s", l.Code, l.Count, l.Example)
			}
			for _, w := range r.Warnings {
				t.Errorf("warned: %s", w)
			}
			rows := page(t, path, "raw_base.csv")
			if len(rows)-2 != len(r.Launches) {
				t.Fatalf("%d launches, ncu prints %d", len(r.Launches), len(rows)-2)
			}
			compareRaw(t, r, rows)
		})
	}
}

// hidden says that the raw page leaves a metric out: it is a list of others.
func hidden(name string) bool {
	return strings.HasPrefix(name, "breakdown:") || strings.HasPrefix(name, "group:") ||
		strings.HasPrefix(name, "regex:")
}

func compareRaw(t *testing.T, r *profile.Report, rows [][]string) {
	t.Helper()
	const fixed = 11 // columns before the metrics
	shown := make(map[string]bool)
	for i, l := range r.Launches {
		for j, cell := range rows[i+2] {
			if j < fixed {
				continue
			}
			name := rows[0][j]
			shown[name] = true
			m := l.Metric(name)
			if (m == nil) != (cell == "") && (m == nil || !m.HasInstances()) {
				t.Errorf("launch %d: %s is there: %v, ncu prints %q", i, name, m != nil, cell)
			}
			if got := cellOf(m); got != cell {
				t.Errorf("launch %d: %s is %q, ncu prints %q", i, name, got, cell)
			}
		}
		head := rows[i+2]
		for _, x := range []struct{ what, got, want string }{
			{"process", fmt.Sprint(l.PID), head[1]},
			{"program", filepath.Base(l.Process), head[2]},
			{"host", l.Host, head[3]},
			{"name", l.Name, head[4]},
			{"context", fmt.Sprint(l.Context), head[5]},
			{"stream", fmt.Sprint(l.Stream), head[6]},
			{"block", fmt.Sprintf("(%d, %d, %d)", l.Block[0], l.Block[1], l.Block[2]), head[7]},
			{"grid", fmt.Sprintf("(%d, %d, %d)", l.Grid[0], l.Grid[1], l.Grid[2]), head[8]},
			{"device", fmt.Sprint(l.Device), head[9]},
		} {
			if x.got != x.want {
				t.Errorf("launch %d: %s is %q, ncu prints %q", i, x.what, x.got, x.want)
			}
		}
	}
	for _, name := range r.Names.All() {
		if !shown[name] && !hidden(name) {
			t.Errorf("%s is a metric that ncu does not print", name)
		}
	}
}

// cellOf prints a metric as the raw page in base units does.
func cellOf(m *profile.Metric) string {
	if m == nil {
		return ""
	}
	switch m.Value.Kind {
	case profile.Text:
		return m.Value.String
	case profile.Unsigned:
		return strconv.FormatUint(m.Value.Uint, 10)
	case profile.Double:
		switch v := m.Value.Float; {
		case v != v:
			return "nan"
		case v == float64(int64(v)):
			return strconv.FormatInt(int64(v), 10)
		default:
			return strconv.FormatFloat(v, 'f', 2, 64)
		}
	}
	if m.HasInstances() {
		return ""
	}
	return "no data"
}
