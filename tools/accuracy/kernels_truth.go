package main

import (
	"encoding/csv"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// A kernelTruth is what is known of a kernel: how long it runs without a profiler, and what is wrong with it.
type kernelTruth struct {
	Case, Variant string // slow, fixed, healthy
	Us            float64
	Kernel        string   // prefix of its name
	Rules         []string // that name the fault; of a fixed kernel the fault that it no longer has
	NoGain        bool     // what the rules name shows, but its fix gains nothing
	Healthy       bool
	Unknown       bool // neither healthy nor fixed here
}

// plantedKernels is what was planted in the corpus: rules, prefix of the slow kernel, prefix of the fixed one
// (workloads/kernels.md beside the corpus).
var plantedKernels = map[string][3]string{
	"bank_rowdot":           {"shared_bank_conflicts", "rowdot_pitch32", "rowdot_pitch33"},
	"bank_transpose":        {"shared_bank_conflicts", "transpose_tile32_conflict", "transpose_tile33_padded"},
	"barrier_stalls":        {"barrier_stalls", "rowsum_block_barriers", "rowsum_warp_shuffles"},
	"coalesce_aos":          {"uncoalesced_access", "aos_energy_strided", "soa_energy_coalesced"},
	"coalesce_rowsum":       {"uncoalesced_access", "rowsum_thread_per_row", "rowsum_warp_per_row"},
	"compute_bound_at_peak": {"healthy", "fma_at_peak", ""},
	"dependency_stalls":     {"dependency_stalls low_occupancy", "chains_sequential", "chains_interleaved"},
	"dram_bound_at_peak":    {"healthy", "triad_at_peak", ""},
	"gemm":                  {"missing_tiling", "sgemm_naive", "sgemm_tiled"},
	"layernorm":             {"extra_passes", "layernorm_stats", "layernorm_fused"},
	"load_imbalance":        {"load_imbalance thread_divergence", "csrsum_thread_per_row", "csrsum_balanced_chunks"},
	"low_occupancy":         {"low_occupancy", "lut_scale_smem200k", "lut_scale_smem1k"},
	"memory_latency":        {"memory_latency", "chase_one_list", "chase_eight_lists"},
	"narrow_access":         {"narrow_access", "invert_bytes", "invert_vec16"},
	"non_fused_fp":          {"non_fused_fp", "recur_mul_add", "recur_fma"},
	"reduction":             {"thread_divergence barrier_stalls", "reduce_interleaved", "reduce_shuffle"},
	"sfu_precise":           {"sfu_pipe", "wave_precise", "wave_fast"},
	"small_grid":            {"small_grid", "axpb_32_blocks", "axpb_full_grid"},
	"spill_launch_bounds":   {"register_spills", "filterbank_capped_regs", "filterbank_free_regs"},
	"tensor_cores_idle":     {"tensor_cores_idle", "hgemm_cuda_cores", "hgemm_wmma"},
	"thread_divergence":     {"thread_divergence", "update_mixed_kinds", "update_sorted_kinds"},
	"transpose":             {"uncoalesced_access", "transpose_uncoalesced", "transpose_tiled"},
}

// kernelTruths reads times.csv of a folder: case, variant, median_us and, where the folder has them, fault and kernel.
func kernelTruths(folder string) ([]kernelTruth, error) {
	path := filepath.Join(folder, "times.csv")
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	var out []kernelTruth
	for _, row := range rows[1:] {
		k := kernelTruth{Case: row[0], Variant: row[1]}
		if k.Us, err = strconv.ParseFloat(row[2], 64); err != nil {
			return nil, fmt.Errorf("%s: %s: %w", path, row[0], err)
		}
		fault := ""
		if len(row) >= 5 {
			fault, k.Kernel = row[3], row[4]
		} else if p, ok := plantedKernels[k.Case]; ok {
			fault, k.Kernel = p[0], p[1]
			if k.Variant == "fixed" {
				k.Kernel = p[2]
			}
		} else {
			continue // its report was not kept
		}
		fault, k.NoGain = strings.CutPrefix(fault, "no_gain:")
		switch fault {
		case "healthy":
			k.Healthy = true
		case "not_at_peak":
			k.Unknown = true
		default:
			k.Rules = strings.Fields(fault)
		}
		out = append(out, k)
	}
	slices.SortStableFunc(out, func(a, b kernelTruth) int { return strings.Compare(a.Case, b.Case) })
	return out, nil
}
