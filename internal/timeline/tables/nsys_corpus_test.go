package tables

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"lacuna/internal/base/golden"
	"lacuna/internal/reader"
	"lacuna/internal/readers/nsys"
	"lacuna/internal/timeline/facts"
	"lacuna/internal/timeline/model"
)

// nsysTables is the tables that equal NVIDIA's, with the columns that their rows are ordered by. Rows that
// tie on them may be in any order: NVIDIA's order then follows the numbers of strings in the file.
var nsysTables = []struct {
	table     *Table
	orderedBy []string
}{
	{&cudaGPUKernSum, []string{"Total Time (ns)", "Instances", "Name"}},
	{&cudaGPUKernGBSum, []string{"Total Time (ns)"}},
	{&cudaAPISum, []string{"Total Time (ns)"}},
	{&cudaGPUMemTimeSum, []string{"Total Time (ns)"}},
	{&cudaGPUMemSizeSum, []string{"Total (MB)"}},
	{&cudaGPUSum, []string{"Total Time (ns)"}},
	{&cudaAPIGPUSum, []string{"Total Time (ns)"}},
	{&cudaKernExecSum, []string{"TAvg (ns)"}},
	{&osrtSum, []string{"Total Time (ns)"}},
	{&nvtxSum, []string{"Total Time (ns)"}},
	{&nvtxPushPopSum, []string{"Total Time (ns)"}},
	{&nvtxStartEndSum, []string{"Total Time (ns)"}},
	{&nvtxGPUProjSum, []string{"Total Proj Time (ns)"}},
	{&openaccSum, []string{"Total Time (ns)"}},
	{&umSum, nil},
	{&umTotalSum, nil},
	{&openmpSum, []string{"Total Time (ns)"}},
	{&mpiEventSum, []string{"Total Time (ns)"}},
	{&cudaGPUTrace, []string{"Start (ns)"}},
	{&cudaAPITrace, []string{"Start (ns)"}},
	{&cudaKernExecTrace, []string{"API Start (ns)"}},
	{&nvtxPushPopTrace, []string{"Start (ns)"}},
	{&nvtxGPUProjTrace, []string{"Orig Start (ns)"}},
	{&mpiEventTrace, []string{"Start (ns)"}},
	{&nvtxKernSum, []string{"NVTX Range", "PID", "TID", "Total Time (ns)"}},
}

// notEqual is where NVIDIA's output is not what the capture says, by the folder's name and the report's, with the
// reason.
var notEqual = map[string]string{
	"bsc-p2p-mpi-power9 nvtx_gpu_proj_trace": "of four processes nsys counts distinct correlation IDs, which " +
		"repeat from process to process; NumGPUOps here counts calls",
}

// TestNsysTables holds every table against what nsys stats prints for the captures of the corpus, cell by cell.
func TestNsysTables(t *testing.T) {
	var wants []string
	for _, folder := range []string{"system", "public/nsys"} {
		wants = append(wants, golden.CorpusFiles(t, folder, ".csv", ".csv.gz")...)
	}
	byCapture := make(map[string][]string)
	for _, path := range wants {
		if dir := filepath.Dir(path); filepath.Base(dir) == "nsys_stats" {
			byCapture[filepath.Dir(dir)] = append(byCapture[filepath.Dir(dir)], path)
		}
	}
	compared := 0
	for _, folder := range sortedKeys(byCapture) {
		name := strings.TrimPrefix(folder, golden.Corpus(t)+string(filepath.Separator))
		t.Run(name, func(t *testing.T) {
			f := facts.Of(openNsys(t, folder))
			for _, path := range byCapture[folder] {
				compared += compareNsys(t, f, path)
			}
		})
	}
	t.Logf("%d reports compared", compared)
}

func sortedKeys[V any](m map[string]V) []string {
	var keys []string
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

func openNsys(t *testing.T, folder string) *model.Trace {
	t.Helper()
	for _, name := range []string{"nsys.sqlite.zst", "capture.sqlite.zst"} {
		path := filepath.Join(folder, name)
		if _, err := os.Stat(path); err != nil {
			continue
		}
		trace, err := reader.Open(context.Background(), path, []*reader.Format{&nsys.Format},
			reader.Options{TempDir: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		return trace
	}
	t.Fatalf("no capture in %s", folder)
	return nil
}

// compareNsys compares one report and says how many were compared: 1 or, if there is no such table, 0.
func compareNsys(t *testing.T, f *facts.Facts, path string) int {
	report, arg, _ := strings.Cut(reportName(path), ":")
	at := slices.IndexFunc(nsysTables, func(x struct {
		table     *Table
		orderedBy []string
	}) bool {
		return x.table.Name == report
	})
	if at < 0 {
		return 0
	}
	table := nsysTables[at].table
	args := make(Args)
	if arg != "" {
		args[arg] = ""
	}
	name := table.Name + strings.TrimPrefix(reportName(path), report)
	if why := notEqual[filepath.Base(filepath.Dir(filepath.Dir(path)))+" "+name]; why != "" {
		t.Logf("%s is not compared: %s", name, why)
		return 0
	}
	out := &Rows{Columns: table.Columns}
	if err := table.Fill([]*facts.Facts{f}, args, out); err != nil {
		t.Errorf("%s: %v", name, err)
		return 1
	}
	if diff := firstDifference(readCSV(t, path), csvOf(out), nsysTables[at].orderedBy); diff != "" {
		t.Errorf("%s: %s", name, diff)
	}
	return 1
}

// reportName is cuda_gpu_kern_sum:base for cuda_gpu_kern_sum_base.csv.
func reportName(path string) string {
	name := strings.TrimSuffix(strings.TrimSuffix(filepath.Base(path), ".gz"), ".csv")
	for _, arg := range []string{"base", "mangled", "nvtx-name"} {
		if report, ok := strings.CutSuffix(name, "_"+arg); ok {
			return report + ":" + arg
		}
	}
	return name
}

func readCSV(t *testing.T, path string) [][]string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var r io.Reader = bytes.NewReader(data)
	if strings.HasSuffix(path, ".gz") {
		if r, err = gzip.NewReader(r); err != nil {
			t.Fatal(err)
		}
	}
	c := csv.NewReader(r)
	c.FieldsPerRecord = -1
	rows, err := c.ReadAll()
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return rows
}

// csvOf is rows as they are printed for programs.
func csvOf(r *Rows) [][]string {
	head := make([]string, len(r.Columns))
	for i, c := range r.Columns {
		head[i] = c.Unit.Header(c.Name)
	}
	out := [][]string{head}
	for _, row := range r.Rows {
		line := make([]string, len(row))
		for i, cell := range row {
			switch u := r.Columns[i].Unit; cell.Kind {
			case TextCell:
				line[i] = strings.ReplaceAll(cell.Text, "\r\n", "\n") // as encoding/csv reads it
			case IntCell:
				line[i] = string(u.AppendInt(nil, cell.Int))
			case FloatCell:
				line[i] = string(u.AppendFloat(nil, cell.Float))
			}
		}
		out = append(out, line)
	}
	return out
}

// firstDifference says where got is not want. Rows that tie on the named columns are sorted first.
func firstDifference(want, got [][]string, orderedBy []string) string {
	if len(want) == 0 {
		return "nothing is expected"
	}
	if !slices.Equal(want[0], got[0]) {
		return fmt.Sprintf("columns are %q, want %q", got[0], want[0])
	}
	if len(want) != len(got) {
		return fmt.Sprintf("%d rows, want %d; %s", len(got)-1, len(want)-1, strayRow(want, got))
	}
	want, got = sortTies(want, orderedBy), sortTies(got, orderedBy)
	for i := range want {
		for j := range want[i] {
			if got[i][j] != want[i][j] {
				return fmt.Sprintf("row %d: %s is %q, want %q\ngot  %q\nwant %q", i, want[0][j], got[i][j], want[i][j],
					got[i], want[i])
			}
		}
	}
	return ""
}

// strayRow is a row that only one side has.
func strayRow(want, got [][]string) string {
	has := make(map[string]int)
	for _, r := range want {
		has[fmt.Sprintf("%q", r)]++
	}
	for _, r := range got {
		key := fmt.Sprintf("%q", r)
		if has[key]--; has[key] < 0 {
			return "not wanted: " + key
		}
	}
	for _, r := range want {
		if key := fmt.Sprintf("%q", r); has[key] > 0 {
			return "lacks " + key
		}
	}
	return ""
}

func sortTies(rows [][]string, orderedBy []string) [][]string {
	rows = slices.Clone(rows)
	key := func(r []string) (k []string) {
		for _, name := range orderedBy {
			k = append(k, r[slices.Index(rows[0], name)])
		}
		return k
	}
	for from := 1; from < len(rows); {
		to := from + 1
		for to < len(rows) && slices.Equal(key(rows[from]), key(rows[to])) {
			to++
		}
		slices.SortFunc(rows[from:to], func(a, b []string) int { return cmp.Or(slices.Compare(a, b)) })
		from = to
	}
	return rows
}
