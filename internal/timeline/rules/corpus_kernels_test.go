package rules

import (
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"lacuna/internal/base/golden"
	"lacuna/internal/timeline/facts"
)

// kernelRules is the rules about what the GPU does, and the programs of the corpus in which they are right: the one
// they were planted in, and those that have the fault besides their own.
var kernelRules = map[string][]string{
	"backward_heavy":    nil,
	"comm_exposed":      nil,
	"comm_many_small":   nil,
	"comm_straggler":    nil,
	"dominant_kernel":   {"dominant_kernel/slow"},
	"dtype_cast_churn":  {"dtype_churn/slow"},
	"forward_heavy":     {"forward_heavy/slow"},
	"layout_conversion": {"data_loading/fixed"}, // its convolutions convert, which shows once the loader is quick
	"looped_optimizer":  {"looped_optimizer/slow"},
	"misaligned_shapes": nil,
	"recompute":         {"recompute/slow"},
	// all of them compute in FP32
	"tensor_cores_idle": {"fp32_matmul/slow", "looped_optimizer/slow", "looped_optimizer/fixed",
		"memory_growth/slow"},
	"unfused_attention":   {"unfused_attention/slow"},
	"unfused_elementwise": {"unfused_elementwise/slow"},
}

// TestKernelRulesAccuseNobodyElse: a rule about kernels is told where it is true, and nowhere else at over 5 % of the
// step, in both formats alike.
func TestKernelRulesAccuseNobodyElse(t *testing.T) {
	for name, capture := range captures(t, filepath.Join(golden.Corpus(t), "system")) {
		t.Run(name, func(t *testing.T) {
			program, _, _ := strings.Cut(name, " ")
			shares, text := told(t, capture[0], nil)
			for id, right := range kernelRules {
				share, found := shares[id]
				if slices.Contains(right, program) {
					if !found {
						t.Errorf("%s is not told\n%s", id, text)
					}
				} else if share > 0.05 {
					t.Errorf("%s is told, at %.1f %%\n%s", id, 100*share, text)
				}
			}
		})
	}
}

// TestHealthy: of a healthy program at_limit is told, and nothing that would be worth a day's work.
func TestHealthy(t *testing.T) {
	for name, capture := range captures(t, filepath.Join(golden.Corpus(t), "system")) {
		if capture[1] != "at_limit" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			shares, text := told(t, capture[0], nil)
			if _, found := shares["at_limit"]; !found || len(shares) > 1 {
				t.Errorf("wants at_limit alone, got\n%s", text)
			}
		})
	}
}

// TestPassesAgree: forward and backward of a training loop take the same time on the device in both formats, which
// tell them apart by different signs. Programs with few kernels a step, or that idle most of it, have no clear
// boundary.
func TestPassesAgree(t *testing.T) {
	ratios := make(map[string][]float64)
	for name, capture := range captures(t, filepath.Join(golden.Corpus(t), "system")) {
		program, _, _ := strings.Cut(name, " ")
		times := load(t, capture[0], nil).passTimes()
		if f, b := times[facts.PassForward].computeNs, times[facts.PassBackward].computeNs; f > 0 && b > 0 {
			ratios[program] = append(ratios[program], float64(b)/float64(f))
		}
	}
	both := 0
	for program, r := range ratios {
		if len(r) < 2 {
			continue
		}
		both++
		if math.Abs(r[0]/r[1]-1) > 0.05 {
			t.Errorf("%s: backward is %.2f times forward in one format and %.2f in the other", program, r[0], r[1])
		}
	}
	if both < 10 {
		t.Errorf("%d programs train in both formats, which cannot be all", both)
	}
}
