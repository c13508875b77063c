package tables

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"lacuna/internal/timeline/facts"
	"lacuna/internal/timeline/flops"
)

// notes says how the step uses the device, and what is not in these numbers.
func (r *roofline) notes(out *Rows, totalNs int64) {
	add := func(format string, values ...any) { out.Notes = append(out.Notes, fmt.Sprintf(format, values...)) }
	r.noteDevices(add)
	r.noteUtilisation(add)
	var knownNs int64
	left := make(map[string]int64)
	assumed, cached := 0, 0
	for _, row := range r.rows {
		if row.work.HasFLOPs {
			knownNs += row.busyNs
		} else {
			why := string(row.why)
			if row.why == flops.Known {
				why = "only its bytes are known"
			}
			if row.name != noOp {
				left[row.name+": "+why] += row.busyNs
			} else {
				left[noOp] += row.busyNs
			}
		}
		if row.assumed {
			assumed++
		}
		if _, memory := row.shares(); memory.known && memory.share > 1 {
			cached++
		}
	}
	if totalNs > 0 {
		add("FLOPs are known for %.1f %% of Busy", 100*float64(knownNs)/float64(totalNs))
	}
	if text := largest(left, 5); text != "" {
		add("not counted: %s", text)
	}
	if assumed > 0 {
		add("%d rows multiply FP32 with kernels whose names do not say whether TF32 is used: compared with FP32, "+
			"marked with ?", assumed)
	}
	if cached > 0 {
		add("%d rows exceed the memory bandwidth: caches served them, or part of the data was not touched", cached)
	}
}

func (r *roofline) noteDevices(add func(string, ...any)) {
	said := make(map[string]bool)
	for _, d := range r.f.Devices() {
		name := deviceOf(r.f.Trace, d).Name
		if said[name] {
			continue
		}
		said[name] = true
		switch p := r.peaks[d]; {
		case p != nil:
			add("peaks of %s, %g GB/s: %s", p.Name, p.MemoryGBs, p.Source)
		case name == "":
			add("the capture does not name device %d: its peaks are unknown", d)
		default:
			add("the peaks of %q are unknown: no such device, or more than one match", name)
		}
	}
}

// noteUtilisation says how much of the step the matrix units would need at their peaks.
func (r *roofline) noteUtilisation(add func(string, ...any)) {
	s, err := r.f.Steps()
	if err != nil || !s.Device || s.Window().LenNs() == 0 {
		return
	}
	window, steps := s.Window(), float64(len(s.Steady()))
	var atPeakNs, tflop float64
	var workNs, withoutOpNs int64
	counted := make(map[int32]bool)
	w := r.f.Work()
	for i, op := range r.workOp {
		if !window.Contains(w.StartNs[i]) {
			continue
		}
		workNs += w.EndNs[i] - w.StartNs[i]
		if op == facts.NotNested {
			withoutOpNs += w.EndNs[i] - w.StartNs[i]
			continue
		}
		if counted[op] {
			continue
		}
		counted[op] = true
		row := r.ofOp[op]
		if !row.work.Family.Matrix() || !row.work.HasFLOPs {
			continue
		}
		tflop += row.work.FLOPs / 1e12
		if row.peak == nil {
			continue
		}
		if peak, known := row.peak.TFLOPs(row.unit); known {
			atPeakNs += row.work.FLOPs / peak / 1e3
		}
	}
	stepMs := float64(window.LenNs()) / steps / 1e6
	if tflop == 0 {
		return
	}
	text := fmt.Sprintf("a step of %.3f ms has %.4g TFLOP of GEMM work", stepMs, tflop/steps)
	if atPeakNs > 0 {
		devices := float64(len(r.f.Devices()))
		text += fmt.Sprintf(": %.1f %% of what the peaks of its types allow (model FLOP utilization, MFU; "+
			"recomputation counts)",
			100*atPeakNs/float64(window.LenNs())/devices)
	}
	if withoutOpNs > 0 {
		text += fmt.Sprintf("; %.1f %% of the GPU work in these steps has no operator and is not in it",
			100*float64(withoutOpNs)/float64(workNs))
	}
	add("%s", text)
}

// largest lists the n largest times, "a (1.200 ms), b (0.300 ms)", and how many are left.
func largest(ns map[string]int64, n int) string {
	var names []string
	for name := range ns {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(cmp.Compare(ns[b], ns[a]), cmp.Compare(a, b)) })
	var parts []string
	for _, name := range names[:min(n, len(names))] {
		parts = append(parts, fmt.Sprintf("%s (%.3f ms)", name, float64(ns[name])/1e6))
	}
	if len(names) > n {
		parts = append(parts, fmt.Sprintf("%d more", len(names)-n))
	}
	return strings.Join(parts, ", ")
}
