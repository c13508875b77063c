package engine

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lacuna/internal/runs/compare"
)

// TestOneRank: of files that hold several ranks one is taken, and of all files the same: the slowest of the first, or
// the one of an earlier file, or the one that was asked for.
func TestOneRank(t *testing.T) {
	both, other := write(t, "both.txt", rankText(0, 300, 600)), write(t, "other.txt", rankText(0, 500, 310))
	zero := write(t, "zero.txt", rankText(0, 400))
	for _, test := range []struct {
		rank  int
		paths []string
		want  []float64 // ms of a step
		said  string
	}{
		{AllRanks, []string{both, other}, []float64{0.66, 0.37}, "rank 1 is taken: the one with the longest step"},
		{AllRanks, []string{zero, both, other}, []float64{0.46, 0.36, 0.56}, "rank 0 is taken: as of " + zero},
		{0, []string{both, other, zero}, []float64{0.36, 0.56, 0.46}, "rank 0 is taken: as --rank says"},
		{1, []string{zero, both}, []float64{0.66}, "rank 1 is taken: as --rank says"},
	} {
		in := OpenRuns(Options{Rank: test.rank})
		runs, err := in.Read(t.Context(), test.paths)
		if err != nil || len(runs) != len(test.want) {
			t.Errorf("%v: %d runs, %v", test.paths, len(runs), err)
			continue
		}
		for i, want := range test.want {
			if got := runs[i].Find("step").Samples[2]; got < want*0.999 || got > want*1.001 {
				t.Errorf("rank %d of %v: step %v, want %v", test.rank, test.paths, got, want)
			}
		}
		if said := strings.Join(in.Said(), "; "); !strings.Contains(said, test.said) {
			t.Errorf("rank %d: said %q, want %q", test.rank, said, test.said)
		}
	}
}

// TestOtherRanks: a file without the rank that is chosen is refused.
func TestOtherRanks(t *testing.T) {
	two, both := write(t, "two.txt", rankText(2, 400)), write(t, "both.txt", rankText(0, 300, 600))
	_, err := OpenRuns(Options{Rank: AllRanks}).Read(t.Context(), []string{two, both})
	var others *OtherRanksError
	if !errors.As(err, &others) || others.Rank != 2 || others.Of != two || len(others.Have) != 2 {
		t.Errorf("rank 2 and ranks 0, 1: %v", err)
	}
	_, err = OpenRuns(Options{Rank: 7}).Read(t.Context(), []string{two, both})
	var none *NoRankError
	if !errors.As(err, &none) || len(none.Have) != 3 {
		t.Errorf("rank 7: %v", err)
	}
}

func TestDiff(t *testing.T) {
	before, after := write(t, "before.txt", rankText(0, 300)), write(t, "after.txt", rankText(0, 600))
	opt := DiffOptions{Open: Options{Rank: AllRanks}, Compare: compare.Options{MinEffect: 0.02}}
	d, err := Diff(t.Context(), before, after, opt)
	if err != nil || d.Step == nil || d.Step.Verdict != "slower" || NotComparable(before, after, d) != nil {
		t.Errorf("%+v, %v", d, err)
	}
	metrics := write(t, "m.json", `{"schema":"lacuna.metrics/1","runs":[{"measures":{"tok":{"unit":"1/s","better":"higher","values":[1,2]}}}]}`)
	_, err = Diff(t.Context(), before, metrics, opt)
	var nothing *NothingInCommonError
	if !errors.As(err, &nothing) || nothing.AfterHas != "tok" {
		t.Errorf("steps and tokens: %v", err)
	}
}

// TestKernels: what reports on kernels say is in the report of the question that names them, and in no other.
func TestKernels(t *testing.T) {
	k, err := OpenKernels(t.Context(), []string{filepath.Join("..", "..", "faces", "commands", "testdata",
		"gemm.ncu-rep.zst")}, nil)
	if err != nil || len(k.Launches()) == 0 {
		t.Fatalf("%v", err)
	}
	r, err := k.inside()
	if err != nil || len(r.Kernels) == 0 {
		t.Errorf("%+v, %v", r, err)
	}
	job := Open([]string{write(t, "a.txt", rankText(0, 300))}, Options{Rank: AllRanks})
	joined, err := job.Report(t.Context(), ReportOptions{Kernels: k})
	if err != nil || joined.KernelReports == nil || len(joined.KernelReports.Unmatched) == 0 {
		t.Errorf("%+v, %v", joined, err)
	}
	plain, err := job.Report(t.Context(), ReportOptions{})
	if err != nil || plain.KernelReports != nil {
		t.Errorf("kernels of another question are in the report: %+v, %v", plain, err)
	}
}

func TestRunFiles(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"b.json", "a.json", ".hidden"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, arg := range []string{dir, filepath.Join(dir, "*.json")} {
		files, err := RunFiles([]string{arg})
		if err != nil || len(files) != 2 || filepath.Base(files[0]) != "a.json" {
			t.Errorf("%s: %v, %v", arg, files, err)
		}
	}
	if _, err := RunFiles([]string{filepath.Join(dir, "*.none")}); err == nil {
		t.Error("a glob that matches nothing is taken")
	}
}
