package rules

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"lacuna/internal/base/golden"
)

// A seed is a row of the tables of symptoms, causes and fixes that this project started from, beside the rules that
// find it.
type seed struct {
	symptom string   // the row's first cell
	rules   []string // of this shelf
	level   string   // where else it is answered, if it is no fault of a whole program: kernel, roofline
}

// seeds is every row of the tables and lists of symptoms. What is wrong in them is in docs/seeds.md.
var seeds = []seed{
	// Observation, likely cause, fix: what a PyTorch trace shows.
	{"Large gaps between GPU kernels", []string{"input_pipeline", "launch_bound", "host_sync"}, ""},
	{"One step much slower than others", []string{"periodic_stall", "cold_start", "recompilation"}, ""},
	{"aten::copy_ dominates", []string{"excess_transfer", "pageable_copy", "dtype_cast_churn"}, ""},
	{"aten::to appears frequently", []string{"dtype_cast_churn", "many_small_copies"}, ""},
	{"Forward time >> backward time", []string{"forward_heavy", "host_sync"}, ""},
	{"Backward time >> 2x forward", []string{"backward_heavy", "recompute"}, ""},

	// Timeline pattern, diagnosis, solution: what Nsight Systems shows.
	{"GPU idle, CPU busy", []string{"input_pipeline"}, ""},
	{"GPU idle, CPU idle", []string{"host_barrier", "worker_bound"}, ""},
	{"Many short GPU kernels with gaps", []string{"launch_bound"}, ""},
	{"Long cudaMemcpyAsync blocks", []string{"pageable_copy", "copy_not_overlapped", "excess_transfer"}, ""},
	{"NCCL calls between backward and optimizer", []string{"comm_exposed"}, ""},
	{"Backward kernels with large gaps", []string{"comm_exposed", "comm_many_small"}, ""},

	// The numbered list of what to look for in a timeline.
	{"GPU idle gaps", []string{"input_pipeline", "launch_bound", "host_sync"}, ""},
	{"Long cudaMemcpy", []string{"pageable_copy", "excess_transfer"}, ""},
	{"NCCL AllReduce", []string{"comm_exposed", "comm_straggler"}, ""},
	{"Many tiny kernels", []string{"launch_bound", "unfused_elementwise", "looped_optimizer"}, ""},
	{"cudaMalloc calls", []string{"allocator_churn"}, ""},

	// Symptom, how to diagnose, root cause, fix.
	{"GPU utilization < 80%", []string{"input_pipeline", "worker_bound"}, ""},
	{"Throughput does not scale with GPUs", []string{"comm_exposed", "comm_straggler", "comm_many_small"}, ""},
	{"Many tiny GPU kernels (< 10 us each)", []string{"launch_bound", "looped_optimizer"}, ""},
	{"OOM despite small model", []string{"memory_fragmentation", "memory_growth"}, ""},
	{"Forward pass slower than expected", []string{"unfused_attention", "unfused_elementwise", "tensor_cores_idle",
		"layout_conversion", "misaligned_shapes", "dominant_kernel"}, ""},
	{"Training slower after adding logging", []string{"host_sync", "forward_heavy"}, ""},
	{"First epoch much slower", []string{"cold_start"}, ""},
	{"Memory grows over time", []string{"memory_growth"}, ""},

	// Common causes of idle time, and warnings between the tables.
	{"CPU-GPU synchronization", []string{"host_sync"}, ""},
	{"DataLoader bottleneck", []string{"input_pipeline", "worker_bound"}, ""},
	{"Memory transfer serialization", []string{"copy_not_overlapped", "stream_serialization"}, ""},
	{"Launch overhead", []string{"launch_bound"}, ""},
	{"AllReduce start skew", []string{"comm_straggler"}, ""},
	{"Compute-communication overlap", []string{"comm_exposed"}, ""},
	{"Beware of power throttling", []string{"throttled"}, ""},
	{"Profiling Warmup Iterations", []string{"cold_start"}, ""},
	{"Low stalls + High throughput", []string{"at_limit"}, ""},

	// Metric, good, poor; stall reasons: one kernel's own report.
	{"SM Throughput (%)", nil, "kernel"},
	{"Memory Throughput (%)", nil, "kernel"},
	{"Achieved Occupancy", nil, "kernel"},
	{"L2 Hit Rate", nil, "kernel"},
	{"Warp Stall: Memory", nil, "kernel"},
	{"Warp Stall: Sync", nil, "kernel"},
	{"Warp Stall: Not Selected", nil, "kernel"},
	{"Instructions per Cycle", nil, "kernel"},
	{"Long Scoreboard", nil, "kernel"},
	{"Short Scoreboard", nil, "kernel"},
	{"Synchronization", nil, "kernel"},
	{"Execution Dependency", nil, "kernel"},
	{"Memory Throttle", nil, "kernel"},
	{"Wait", nil, "kernel"},
	{"Not Selected", nil, "kernel"},

	// Operation, FLOPs, bytes, intensity: docs/roofline.md checks each.
	{"ReLU / element-wise", nil, "roofline"},
	{"Reduction (sum, mean)", nil, "roofline"},
	{"Layer norm", nil, "roofline"},
	{"Softmax", nil, "roofline"},
	{"Attention (seq=2K, d=128)", nil, "roofline"},
	{"GEMM (M=N=K=4096, FP16)", nil, "roofline"},
	{"Conv2d (large channels)", nil, "roofline"},
}

// TestSeeds: every row of the seeds names rules that exist, or the level that answers it.
func TestSeeds(t *testing.T) {
	seen := make(map[string]bool)
	for _, s := range seeds {
		if seen[s.symptom] {
			t.Errorf("%s is listed twice", s.symptom)
		}
		seen[s.symptom] = true
		if (len(s.rules) == 0) == (s.level == "") {
			t.Errorf("%s: wants rules, or the level that answers it", s.symptom)
		}
		for _, id := range s.rules {
			if !slices.ContainsFunc(All, func(r *Rule) bool { return r.ID == id }) {
				t.Errorf("%s: no rule %s", s.symptom, id)
			}
		}
	}
}

// symptomTables is tables whose rows must be listed, by the first cell of their heads. The others list tools.
var symptomTables = []string{"Observation", "Timeline Pattern", "Symptom", "Metric", "Stall Reason", "Operation"}

var lookFor = regexp.MustCompile(`^# \d\. (.*?) +->`)

// TestSeedsAreComplete: the list above has every row of the tables in the seeds' own files.
func TestSeedsAreComplete(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(golden.Shared(t, "seeds"), "*.txt"))
	if err != nil || len(files) == 0 {
		t.Fatal("no seeds: ", err)
	}
	listed := make(map[string]bool)
	for _, s := range seeds {
		listed[s.symptom] = true
	}
	rows := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range seedRows(string(text)) {
			rows++
			if !listed[row] {
				t.Errorf("%s: %q is in no row of seeds", filepath.Base(file), row)
			}
		}
	}
	if rows < 40 {
		t.Errorf("%d rows were found in the seeds, which cannot be all", rows)
	}
}

// seedRows is the first cells of the tables of symptoms, and the items of the list of what to look for.
func seedRows(text string) []string {
	var out []string
	head := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if m := lookFor.FindStringSubmatch(line); m != nil {
			out = append(out, m[1])
		}
		if strings.HasPrefix(line, "|---") {
			continue
		}
		if !strings.Contains(line, " | ") {
			head = ""
			continue
		}
		cell, _, _ := strings.Cut(strings.TrimPrefix(line, "| "), " | ")
		switch {
		case head == "":
			head = cell
		case slices.Contains(symptomTables, head) && cell != "":
			out = append(out, strings.Trim(strings.ReplaceAll(cell, "`", ""), "| "))
		}
	}
	return out
}
