package kernelrules_test

import (
	"context"
	"encoding/csv"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"lacuna/internal/base/golden"
	"lacuna/internal/kernel"
	"lacuna/internal/kernel/kernelrules"
	"lacuna/internal/reader"
	"lacuna/internal/readers"
)

// open reads a report and diagnoses every launch of it.
func open(t testing.TB, path string) ([]*kernel.Kernel, []*kernelrules.Findings) {
	t.Helper()
	report, err := reader.OpenProfile(context.Background(), path, readers.All, reader.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var all []*kernel.Kernel
	for _, l := range report.Launches {
		all = append(all, kernel.Of(l))
	}
	return all, kernelrules.Diagnose(all)
}

// planted is what was planted in each case: rules that name it, the slow kernel and the fixed one
// (workloads/kernels.md).
var planted = map[string][3]string{
	"coalesce_aos":          {"uncoalesced_access", "aos_energy_strided", "soa_energy_coalesced"},
	"coalesce_rowsum":       {"uncoalesced_access", "rowsum_thread_per_row", "rowsum_warp_per_row"},
	"transpose":             {"uncoalesced_access", "transpose_uncoalesced", "transpose_tiled"},
	"bank_transpose":        {"shared_bank_conflicts", "transpose_tile32_conflict", "transpose_tile33_padded"},
	"bank_rowdot":           {"shared_bank_conflicts", "rowdot_pitch32", "rowdot_pitch33"},
	"spill_launch_bounds":   {"register_spills", "filterbank_capped_regs", "filterbank_free_regs"},
	"low_occupancy":         {"low_occupancy", "lut_scale_smem200k", "lut_scale_smem1k"},
	"small_grid":            {"small_grid", "axpb_32_blocks", "axpb_full_grid"},
	"load_imbalance":        {"load_imbalance thread_divergence", "csrsum_thread_per_row", "csrsum_balanced_chunks"},
	"thread_divergence":     {"thread_divergence", "update_mixed_kinds", "update_sorted_kinds"},
	"reduction":             {"thread_divergence barrier_stalls", "reduce_interleaved", "reduce_shuffle"},
	"barrier_stalls":        {"barrier_stalls", "rowsum_block_barriers", "rowsum_warp_shuffles"},
	"sfu_precise":           {"sfu_pipe", "wave_precise", "wave_fast"},
	"dependency_stalls":     {"dependency_stalls low_occupancy", "chains_sequential", "chains_interleaved"},
	"memory_latency":        {"memory_latency", "chase_one_list", "chase_eight_lists"},
	"narrow_access":         {"narrow_access", "invert_bytes", "invert_vec16"},
	"tensor_cores_idle":     {"tensor_cores_idle", "hgemm_cuda_cores", "hgemm_wmma"},
	"non_fused_fp":          {"non_fused_fp", "recur_mul_add", "recur_fma"},
	"gemm":                  {"missing_tiling", "sgemm_naive", "sgemm_tiled"},
	"layernorm":             {"extra_passes", "layernorm_stats", "layernorm_fused"},
	"dram_bound_at_peak":    {"dram_bound_at_peak", "triad_at_peak", ""},
	"compute_bound_at_peak": {"compute_bound_at_peak", "fma_at_peak", ""},
}

// isHigh says that a finding claims a fifth of the time or more with half or more of confidence.
func isHigh(k *kernel.Kernel, f kernelrules.Finding) bool {
	us, _ := k.Microseconds()
	return !f.Rule.Healthy && f.PredictedUs > 0 && f.PredictedUs < 0.8*us && f.Confidence >= 0.5
}

// times is the measured time of each case's variants, us.
func times(t *testing.T, path string) map[string]float64 {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	out := make(map[string]float64)
	for _, r := range rows[1:] {
		out[r[0]+" "+r[1]], _ = strconv.ParseFloat(r[2], 64)
	}
	return out
}

// The planted fault of each kernel is among its first two findings, and not high on the fixed one.
func TestPlanted(t *testing.T) {
	corpus := golden.Corpus(t)
	measured := times(t, filepath.Join(corpus, "kernel/times.csv"))
	var inside, near, pairs int
	var widths []float64
	for _, name := range slices.Sorted(func(yield func(string) bool) {
		for n := range planted {
			if !yield(n) {
				return
			}
		}
	}) {
		want := planted[name]
		ks, found := open(t, filepath.Join(corpus, "kernel", name, "report.ncu-rep.zst"))
		for i, k := range ks {
			base := strings.TrimPrefix(k.Launch.Name, "void ")
			var names []string
			for _, f := range found[i].All {
				names = append(names, f.Rule.ID)
			}
			us, _ := k.Microseconds()
			t.Logf("%-20s %-26s %7.1f us: %s | mentioned %s", name, k.Launch.Base, us, brief(found[i].All),
				brief(found[i].Mentioned))
			ids := strings.Fields(want[0])
			switch {
			case strings.HasPrefix(base, want[1]):
				if !slices.ContainsFunc(names[:min(2, len(names))],
					func(n string) bool { return slices.Contains(ids, n) }) {
					t.Errorf("%s: want %s among two, got %v", k.Launch.Base, want[0], names)
				}
				if fixed := measured[name+" fixed"]; fixed > 0 && len(found[i].All) > 0 {
					f := found[i].All[0]
					truth := fixed / measured[name+" slow"]
					got, low, high := f.PredictedUs/us, f.LowUs/us, f.HighUs/us
					pairs++
					off := math.Abs(math.Log(got)-math.Log(truth)) / math.Abs(math.Log(truth))
					if off <= 0.25 {
						near++
					}
					if low <= truth && truth <= high {
						inside++
					}
					widths = append(widths, high/low)
					t.Logf("    %s: x%.3f [%.3f, %.3f] measured x%.3f: factor %.2f, log off by %.0f %%, width "+
						"%.2f, then %s", f.Rule.ID, got, low, high, truth, got/truth, 100*off, high/low, f.Next)
				}
			case want[2] != "" && strings.HasPrefix(base, want[2]):
				for _, f := range found[i].All {
					if slices.Contains(ids, f.Rule.ID) && isHigh(k, f) {
						t.Errorf("%s: repaired, but accused of %s", k.Launch.Base, f.Rule.ID)
					}
				}
			}
		}
	}
	slices.Sort(widths)
	t.Logf("%d pairs: %d within a quarter of the log gain, %d inside the range, median width %.2f", pairs, near,
		inside, widths[len(widths)/2])
	if pairs < 20 || 10*near < 7*pairs || 10*inside < 8*pairs || widths[len(widths)/2] > 1.6 {
		t.Error("want 20 pairs, 7 of 10 within a quarter, 8 of 10 inside the range, and a median width of 1.6 at most")
	}
}

func brief(all []kernelrules.Finding) string {
	var b strings.Builder
	for _, f := range all {
		fmt.Fprintf(&b, "%s %.2f %.0f us [%.0f, %.0f]; ", f.Rule.ID, f.Confidence, f.PredictedUs, f.LowUs, f.HighUs)
	}
	return b.String()
}
