package commands

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// jobText is a job of ranks without collectives, so that each has steps of its own, as one capture in text form: rank
// r computes for gemmUs[r] µs a step on GPU r. Of only one rank it is what that rank's capture alone would be.
func jobText(gemmUs []int, only int) string {
	var head, rows []string
	events := make(map[int][]string)
	row := 0
	for r, gemm := range gemmUs {
		if only >= 0 && r != only {
			continue
		}
		row++
		head = append(head, fmt.Sprintf("process %d pid=%d rank=%d python", row, 100+r, r))
		rows = append(rows, fmt.Sprintf("thread %d process=%d tid=%d", row, row, 100+r),
			fmt.Sprintf("device %d NVIDIA H200", r))
		for step := range 12 {
			at, corr := 1000+step*(gemm+60), 3*step+1
			events[at] = append(events[at],
				fmt.Sprintf("range t%d %dus+40us step_%d", row, at, step),
				fmt.Sprintf("call t%d c%d %dus+2us cudaLaunchKernel", row, corr, at),
				fmt.Sprintf("call t%d c%d %dus+2us cudaLaunchKernel", row, corr+1, at),
				fmt.Sprintf("kernel d%d p%d s7 c%d %dus+%dus gemm", r, row, corr, at+10, gemm-step*7%5),
				fmt.Sprintf("kernel d%d p%d s7 c%d %dus+30us relu", r, row, corr+1, at+11+gemm))
		}
	}
	info := fmt.Sprintf("info rank=-1 world=%d merged=%d", len(gemmUs), len(gemmUs))
	if only >= 0 {
		info = fmt.Sprintf("info rank=%d world=%d", only, len(gemmUs))
	}
	lines := append([]string{"# lacuna trace, text form 1", info}, append(head, rows...)...)
	var times []int
	for at := range events {
		times = append(times, at)
	}
	slices.Sort(times)
	for _, at := range times {
		lines = append(lines, events[at]...)
	}
	return strings.Join(lines, "\n") + "\n"
}

// jobFiles writes the captures of two versions of a job: whole, and each rank of it alone.
func jobFiles(t *testing.T) {
	t.Helper()
	t.Chdir(t.TempDir())
	for name, gemmUs := range map[string][]int{"slow": {300, 600}, "fast": {300, 320}, "three": {300, 310, 320}} {
		for file, only := range map[string]int{name + ".txt": -1, name + "0.txt": 0, name + "1.txt": 1} {
			if err := os.WriteFile(file, []byte(jobText(gemmUs, only)), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// told runs a command and gives what it prints.
func told(t *testing.T, status int, args ...string) (out, errs string) {
	t.Helper()
	var o, e bytes.Buffer
	if got := Main(args, strings.NewReader(""), &o, &e); got != status {
		t.Fatalf("%v: exit status %d, want %d: %s", args, got, status, e.String())
	}
	return o.String(), e.String()
}

// TestRankIsACapture holds what is said of one rank of a recording against what is said of its capture alone.
func TestRankIsACapture(t *testing.T) {
	jobFiles(t)
	for _, call := range []string{
		"stats slow.txt -r cuda_gpu_kern_sum,cuda_api_sum,nvtx_sum --format csv",
		"report slow.txt --format json",
		"whatif slow.txt -x drop-syncs --format json",
		"diff slow.txt fast.txt --format json",
		"check --baseline slow.txt fast.txt --measure kernel:* --format json",
	} {
		for rank := range 2 {
			args := append(strings.Fields(call), "--rank", fmt.Sprint(rank))
			var whole, alone, errs bytes.Buffer
			first := Main(args, nil, &whole, &errs)
			for i, a := range args {
				args[i] = strings.Replace(a, ".txt", fmt.Sprint(rank)+".txt", 1)
			}
			second := Main(args, nil, &alone, &errs)
			if got, want := namelessly(whole.String()), namelessly(alone.String()); got != want || first != second ||
				len(want) < 100 {
				t.Errorf("%s, rank %d: exit status %d and %d; of the whole:\n%s\nalone:\n%s", call, rank, first,
					second, got, want)
			}
		}
	}
}

var (
	fileNames = regexp.MustCompile(`(slow|fast)[01]?\.txt`)
	warnings  = regexp.MustCompile(`(?s)"warnings": \[.*?\]`)
)

// namelessly is an output without the names of files, and without what is said of files of several ranks.
func namelessly(out string) string {
	return warnings.ReplaceAllString(fileNames.ReplaceAllString(out, "$1"), `"warnings": []`)
}

// TestRankChosen says which rank of recordings a comparison takes.
func TestRankChosen(t *testing.T) {
	jobFiles(t)
	told(t, Done, "check", "--save", "all.json", "slow.txt", "--rank", "0")
	told(t, Done, "check", "--save", "one.json", "slow1.txt")
	for _, tt := range []struct{ call, before, after, warning string }{
		{"diff slow.txt fast.txt", "0.660", "0.380",
			"of ranks 0, 1 in slow.txt, rank 1 is taken: the one with the longest step; --rank takes another"},
		{"diff slow.txt fast.txt", "0.660", "0.380", "rank 1 is taken of fast.txt, too"},
		{"diff slow.txt fast.txt --rank 0", "0.360", "0.360", "as --rank says"},
		{"diff slow0.txt fast.txt", "0.360", "0.360", "of ranks 0, 1 in fast.txt, rank 0 is taken: as of slow0.txt"},
		{"diff all.json fast.txt", "0.360", "0.360", "as of slow.txt"},
		// it is of nobody's rank that is known
		{"diff one.json three.txt", "0.660", "0.380", "of ranks 0, 1, 2 in three.txt, rank 2 is taken: the one with"},
	} {
		out, _ := told(t, Done, append(strings.Fields(tt.call), "--format", "json")...)
		var d struct {
			Step     struct{ Before, After float64 } `json:"step_ms"`
			Warnings []string
		}
		if err := json.Unmarshal([]byte(out), &d); err != nil {
			t.Fatal(err)
		}
		if fmt.Sprintf("%.3f", d.Step.Before) != tt.before || fmt.Sprintf("%.3f", d.Step.After) != tt.after ||
			!strings.Contains(strings.Join(d.Warnings, "\n"), tt.warning) {
			t.Errorf("%s: %+v", tt.call, d)
		}
	}
	// The gate: of a baseline that was saved, the same rank; new runs that are slower elsewhere are another question.
	out, _ := told(t, Done, "check", "--baseline", "all.json", "fast.txt")
	if !strings.Contains(out, "Of ranks 0, 1 in fast.txt, rank 0 is taken") {
		t.Error(out)
	}
	out, _ = told(t, Done, "diff", "slow.txt", "fast.txt", "--format", "json", "-q")
	if strings.Count(out, "is taken") != 2 {
		t.Error(out)
	}
	out, _ = told(t, Done, "check", "--baseline", "slow.txt", "fast.txt", "fast.txt", "three.txt", "--rank", "0")
	if !strings.Contains(out, "Rank 0 is taken of 3 more files, too") {
		t.Error(out)
	}
	out, _ = told(t, No, "check", "--baseline", "fast.txt", "slow.txt")
	if !strings.Contains(out, "0.660 ms (was 0.380 ms)") {
		t.Error(out)
	}
	// Captures of single ranks: --rank keeps one, as it does in a report; without it all are runs, as they were.
	_, errs := told(t, Wrong, "diff", "slow0.txt", "fast.txt", "--rank", "1")
	if !strings.Contains(errs, "--rank 1: no input is that rank (have 0)") {
		t.Error(errs)
	}
	_, errs = told(t, Wrong, "check", "--baseline", "slow.txt", "fast.txt", "--rank", "2")
	if !strings.Contains(errs, "--rank 2: no input is that rank (have 0, 1)") {
		t.Error(errs)
	}
	_, errs = told(t, Wrong, "diff", "three.txt", "fast.txt") // rank 2 is the slowest of three
	if !strings.Contains(errs, "fast.txt: holds ranks 0, 1, not 2, which three.txt is") {
		t.Error(errs)
	}
}

// TestRankInHistory keeps runs of the ranks of one recording apart.
func TestRankInHistory(t *testing.T) {
	jobFiles(t)
	for _, rank := range []string{"0", "1"} {
		store := "h" + rank + ".db"
		told(t, Done, "history", "add", "slow.txt", "--program", "train", "--store", store, "--rank", rank)
		out, errs := told(t, Done, "check", "fast.txt", "--baseline", "history:train", "--store", store, "--rank", rank)
		if !strings.Contains(out, "rank "+rank+" is taken") {
			t.Errorf("%s%s", out, errs)
		}
	}
	_, errs := told(t, Wrong, "check", "fast.txt", "--baseline", "history:train", "--store", "h0.db")
	if !strings.Contains(errs, "its runs are of rank 0, not of 1") {
		t.Error(errs)
	}
}

// TestRanksInInfo says which ranks a file holds, and of each how many steps it has.
func TestRanksInInfo(t *testing.T) {
	jobFiles(t)
	out, _ := told(t, Done, "info", "slow.txt", "--width", "80")
	for _, line := range []string{"  ranks       0, 1 of 2\n",
		"  rank 0  100    0       24       0         11          11  NVTX ranges\n", "  rank 1  101    1       24"} {
		if !strings.Contains(out, line) {
			t.Errorf("info lacks %q:\n%s", line, out)
		}
	}
	if out, _ = told(t, Done, "info", "slow1.txt", "--format", "json"); strings.Contains(out, `"ranks"`) {
		t.Error("a capture of one rank lists ranks")
	}
	out, _ = told(t, Done, "stats", "slow.txt", "-r", "cuda_gpu_kern_sum,temporal")
	if strings.Count(out, "\nslow.txt, rank ") != 2 || strings.Count(out, "gemm") != 2 {
		t.Error(out)
	}
	told(t, Wrong, "diff", "slow.txt", "fast.txt", "--rank", "4294967296")
	for _, command := range []string{"stats", "report", "diff slow.txt", "check --baseline slow.txt", "history add"} {
		_, errs := told(t, Wrong, append(strings.Fields(command), "slow.txt", "--rank", "-2")...)
		if !strings.Contains(errs, "want 0") {
			t.Error(errs)
		}
	}
}
