package kernel

import (
	"compress/gzip"
	"encoding/csv"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"lacuna/internal/profile"
)

// corpusRoot is the real captures, beside the repository.
const corpusRoot = "../../../shared/corpus"

// corpusReports is every report of the corpus by its folder, from the profiler's own raw page: this
// package is tested without a reader. Instances (opcodes, addresses) are not on that page, nor are
// the texts of breakdown: metrics.
func corpusReports(t testing.TB) map[string][]*Kernel {
	t.Helper()
	out := make(map[string][]*Kernel)
	for _, pattern := range []string{"kernel/*/raw_base.csv*", "public/ncu/*/raw_base.csv*"} {
		files, err := filepath.Glob(filepath.Join(corpusRoot, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			report := readRaw(t, file)
			var all []*Kernel
			for _, l := range report.Launches {
				all = append(all, Of(l))
			}
			out[filepath.Base(filepath.Dir(file))] = all
		}
	}
	if len(out) == 0 {
		t.Skip("no corpus beside the repository: nothing was tested")
	}
	return out
}

// names of a map in order.
func names(m map[string][]*Kernel) []string {
	var out []string
	for name := range m {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// readRaw reads a page made by --page raw --csv --print-units base.
func readRaw(t testing.TB, path string) *profile.Report {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var r io.Reader = f
	if strings.HasSuffix(path, ".gz") {
		if r, err = gzip.NewReader(f); err != nil {
			t.Fatal(err)
		}
	}
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	page := string(text)
	for strings.HasPrefix(page, "==") { // remarks of the profiler
		_, page, _ = strings.Cut(page, "\n")
	}
	rows, err := csv.NewReader(strings.NewReader(page)).ReadAll()
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return rawReport(path, rows)
}

func rawReport(path string, rows [][]string) *profile.Report {
	const fixed = 11 // columns before the metrics
	report := &profile.Report{Path: path}
	head := rows[0]
	for _, row := range rows[min(2, len(rows)):] {
		l := &profile.Launch{ID: len(report.Launches), Name: row[4], Report: report, Grid: dims(row[8]), Block: dims(row[7])}
		l.Base, _, _ = strings.Cut(row[4], "(")
		for i := fixed; i < len(row); i++ {
			if row[i] != "" {
				l.Metrics = append(l.Metrics, profile.Metric{Name: report.Names.ID(head[i]), Value: rawValue(row[i])})
			}
		}
		slices.SortFunc(l.Metrics, func(a, b profile.Metric) int { return int(a.Name) - int(b.Name) })
		report.Launches = append(report.Launches, l)
	}
	return report
}

func rawValue(cell string) profile.Value {
	if v, err := strconv.ParseUint(cell, 10, 64); err == nil {
		return profile.Value{Kind: profile.Unsigned, Uint: v}
	}
	if v, err := strconv.ParseFloat(cell, 64); err == nil {
		return profile.Value{Kind: profile.Double, Float: v}
	}
	if cell == "no data" {
		return profile.Value{}
	}
	return profile.Value{Kind: profile.Text, String: cell}
}

// dims reads "(256, 1, 1)".
func dims(cell string) (d [3]uint32) {
	for i, part := range strings.SplitN(strings.Trim(cell, "()"), ",", 3) {
		v, _ := strconv.ParseUint(strings.TrimSpace(part), 10, 32)
		d[i] = uint32(v)
	}
	return d
}

// launch makes one of metrics, for tests by hand.
func launch(metrics map[string]float64) *Kernel {
	report := &profile.Report{}
	l := &profile.Launch{Report: report, Name: "k", Base: "k"}
	for name, v := range metrics {
		l.Metrics = append(l.Metrics, profile.Metric{Name: report.Names.ID(name), Value: profile.Value{Kind: profile.Double, Float: v}})
	}
	slices.SortFunc(l.Metrics, func(a, b profile.Metric) int { return int(a.Name) - int(b.Name) })
	report.Launches = []*profile.Launch{l}
	return Of(l)
}
