package tables

import (
	"context"
	"encoding/csv"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"lacuna/internal/base/golden"
	"lacuna/internal/reader"
	"lacuna/internal/readers/kineto"
	"lacuna/internal/timeline/facts"
	"lacuna/internal/timeline/model"
)

// htaFiles is HTA's file for each table and the columns that tell its rows apart.
var htaFiles = []struct {
	table *Table
	file  string
	keys  []string
}{
	{&temporal, "temporal_breakdown", []string{"rank"}},
	{&kernelType, "kernel_type_breakdown", []string{"kernel_type"}},
	{&overlap, "comm_comp_overlap", []string{"rank"}},
	{&idle, "idle_time_breakdown", []string{"rank", "stream", "idle_category"}},
	{&launch, "cuda_kernel_launch_stats", []string{"rank", "correlation"}},
	{&queue, "queue_length_summary", []string{"rank", "stream"}},
	{&memBW, "memory_bw_summary", []string{"rank", "name"}},
}

// htaDiffers is where HTA's numbers are not what the capture says: tables, sets and why. The numbers in
// brackets are those of docs/hta.md.
var htaDiffers = []struct{ tables, sets, why string }{
	{"*", "hta_mtia_*", "MTIA is no GPU that lacuna knows"},
	{"*", "hta_cpu_only|hta_cupti_profiler|hta_rank_missing__*|kineto_tb_2020_list",
		"HTA raises or prints an empty row (10)"},
	{"*", "hta_negative_queue|hta_trace_compare__*|tl_mi300_resnet_rccl",
		"the last step stays, work without a launch vanishes (4, 5)"},
	{"temporal|kernel_type", "hta_triton_example|tl_mi300_triton", "operators count as GPU work (2)"},
	{"temporal|kernel_type", "hta_critical_path__*|kineto_out_of_order__*", "waiting counts as working (3)"},
	{"idle", "tl_h100_qwen|param_dlrm_8rank_v100", "work without a launch is taken off its stream (5)"},
	{"idle", "hta_ns_resolution", "times in float64"},
	{"kernel_type", "ao_*|hta_amd_mi250|hta_nccl_parser_config|hta_ns_resolution|tl_*",
		"pieces are cut to whole us before they are summed"},
	{"launch", "hta_amd_mi250|tl_mi*|hta_triton_example", "HIP and driver launches are unknown (6)"},
	{"queue", "hta_inference_rank_1|tl_mi300_*", "only four launch calls count, and no graph launch (6, 7)"},
	{"mem_bw", "hta_amd_mi250", "copies count only if the trace states their bandwidth"},
}

func htaIsRight(table, set string) (why string, right bool) {
	matches := func(patterns, name string) bool {
		return slices.ContainsFunc(strings.Split(patterns, "|"), func(p string) bool {
			ok, err := filepath.Match(p, name)
			return ok && err == nil
		})
	}
	for _, d := range htaDiffers {
		if matches(d.tables, table) && matches(d.sets, set) {
			return d.why, false
		}
	}
	return "", true
}

// TestHTACorpus holds the tables against what HTA prints for the captures of the corpus.
func TestHTACorpus(t *testing.T) {
	root := filepath.Join(golden.Corpus(t), "public")
	given := kinetoRanks(t, filepath.Join(root, "kineto", "INDEX.tsv"))
	sets, err := os.ReadDir(filepath.Join(root, "hta_expected"))
	if err != nil {
		t.Fatal(err)
	}
	compared := 0
	for _, set := range sets {
		if !set.IsDir() {
			continue
		}
		base, one, _ := strings.Cut(set.Name(), "__")
		var in []*facts.Facts
		for _, path := range sortedKeys(given) {
			if !strings.HasPrefix(path, base+"/") || one != "" && !strings.HasPrefix(filepath.Base(path), one+".") {
				continue
			}
			trace := openKineto(t, filepath.Join(root, "kineto", path))
			trace.Info.Rank = given[path] // as HTA was told
			in = append(in, facts.Of(trace))
		}
		for _, x := range htaFiles {
			path := filepath.Join(root, "hta_expected", set.Name(), x.file+".csv")
			if _, err := os.Stat(path); err != nil {
				path += ".gz"
			}
			if _, err := os.Stat(path); err != nil || len(in) == 0 {
				continue
			}
			if why, right := htaIsRight(x.table.Name, set.Name()); !right {
				t.Logf("%s %s is not compared: %s", set.Name(), x.table.Name, why)
				continue
			}
			compared++
			out := &Rows{Columns: x.table.Columns}
			if err := x.table.Fill(in, nil, out); err != nil {
				t.Errorf("%s %s: %v", set.Name(), x.table.Name, err)
				continue
			}
			for _, diff := range htaDifferences(readCSV(t, path), csvOf(out), x.keys) {
				t.Errorf("%s %s: %s", set.Name(), x.table.Name, diff)
			}
		}
	}
	if compared < 100 {
		t.Errorf("only %d tables were compared: is the corpus whole?", compared)
	}
}

// kinetoRanks is the rank that HTA was given for each trace.
func kinetoRanks(t *testing.T, index string) map[string]int32 {
	t.Helper()
	data, err := os.ReadFile(index)
	if err != nil {
		t.Fatal(err)
	}
	r := csv.NewReader(strings.NewReader(string(data)))
	r.Comma, r.LazyQuotes = '\t', true
	rows, err := r.ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	path, rank := slices.Index(rows[0], "path"), slices.Index(rows[0], "rank_given_to_hta")
	out := make(map[string]int32)
	for _, row := range rows[1:] {
		n, _ := strconv.Atoi(row[rank])
		out[row[path]] = int32(n)
	}
	return out
}

func openKineto(t *testing.T, path string) *model.Trace {
	t.Helper()
	trace, err := reader.Open(context.Background(), path, []*reader.Format{&kineto.Format}, reader.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return trace
}

var unitInHead = regexp.MustCompile(`\s*\([^)]*\)`)

// keyed is rows by their key columns, as cells by the name of their column without unit.
func keyed(rows [][]string, keys []string) (out map[string]map[string]string, order []string) {
	out = make(map[string]map[string]string)
	if len(rows) == 0 {
		return
	}
	for _, row := range rows[1:] {
		cells := make(map[string]string)
		for i, head := range rows[0] {
			cells[unitInHead.ReplaceAllString(head, "")] = row[i]
		}
		var key []string
		for _, k := range keys {
			text := cells[k]
			if n, err := strconv.ParseFloat(text, 64); err == nil {
				text = fmt.Sprint(n) // HTA prints some integers as floats
			}
			key = append(key, k+"="+text)
		}
		name := strings.Join(key, " ")
		out[name] = cells
		order = append(order, name)
	}
	return out, order
}

// htaDifferences says which of HTA's cells the rows do not have. Rows of zeros may be there or not.
func htaDifferences(want, got [][]string, keys []string) (out []string) {
	wants, order := keyed(want, keys)
	gots, _ := keyed(got, keys)
	if len(wants) == 0 && len(gots) > 0 {
		return []string{fmt.Sprintf("%d rows, want none", len(gots))}
	}
	for _, key := range order {
		row, there := gots[key]
		for column, value := range wants[key] {
			if slices.Contains(keys, column) || column == "rank" {
				continue
			}
			cell, has := row[column]
			switch n, err := strconv.ParseFloat(value, 64); {
			case there && !has:
				out = append(out, fmt.Sprintf("%s: no column %s", key, column))
			case !there && err == nil && math.Abs(n) > 1:
				out = append(out, fmt.Sprintf("no row %s", key))
			case there && !htaNear(column, value, cell):
				out = append(out, fmt.Sprintf("%s: %s is %s, want %s", key, column, cell, value))
			}
		}
	}
	slices.Sort(out)
	return out
}

// htaNear says whether got is want as HTA prints it: float64 of microseconds, and rounded shares.
func htaNear(column, want, got string) bool {
	a, errA := strconv.ParseFloat(want, 64)
	b, errB := strconv.ParseFloat(got, 64)
	if errA != nil || errB != nil || math.IsNaN(a) {
		return want == "" && got == "" || want == got
	}
	most := max(1, 1e-6*math.Abs(a)) // us
	switch {
	case strings.Contains(column, "queue"):
		most = 0.05 + 0.01*math.Abs(a) // HTA samples events of equal time in any order
	case column == "percentage":
		most = 0.15
	case strings.Contains(column, "pctg"), strings.Contains(column, "ratio"):
		most = 0.011
	case strings.Contains(column, "bw"):
		most = 1e-6*math.Abs(a) + 1e-12
	}
	return math.Abs(a-b) <= most
}
