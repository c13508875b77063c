package kernel

import (
	"math"
	"testing"

	"lacuna/internal/kernel/profile"
)

// A name that stands in for another must mean the same: where a report has both, they agree.
func TestFallbacksAgree(t *testing.T) {
	reports := corpusReports(t)
	compared := 0
	for _, name := range names(reports) {
		for _, k := range reports[name] {
			if us, ok := k.Microseconds(); !ok || us < 20 {
				continue // passes of so short a kernel differ
			}
			same := func(what string, a, b, tolerance float64) {
				compared++
				if math.Abs(a-b) > tolerance*max(a, b)+0.03 { // some instructions of a pipe take two of its cycles
					t.Errorf("%s %s: %s %.4g and %.4g", name, k.Launch.Base, what, a, b)
				}
			}
			for _, l := range loads {
				if l.Resource == Tensor {
					continue
				}
				first, ok := k.Load(l.Resource)
				for _, other := range l.Names[1:] {
					if v, known := k.percent(other + ofPeak); known && ok {
						same(string(l.Resource)+" "+other, first, v, 0.06)
					}
				}
			}
			checkFallbacks(k, same)
		}
	}
	if compared < 400 {
		t.Errorf("%d comparisons, which cannot be all", compared)
	}
	t.Logf("%d comparisons", compared)
}

// checkFallbacks compares a quantity with what it would be if its first name were not there.
func checkFallbacks(k *Kernel, same func(what string, a, b, tolerance float64)) {
	without := func(prefixes ...string) *Kernel {
		l := *k.Launch
		l.Metrics = nil
		for _, m := range k.Launch.Metrics {
			text := k.Launch.Report.Names.Text(m.Name)
			keep := true
			for _, p := range prefixes {
				keep = keep && text != p
			}
			if keep {
				l.Metrics = append(l.Metrics, m)
			}
		}
		return Of(&l)
	}
	both := func(what string, tolerance float64, f func(*Kernel) (float64, bool), names ...string) {
		a, ok1 := f(k)
		b, ok2 := f(without(names...))
		if ok1 && ok2 {
			same(what, a/b, 1, tolerance)
		}
	}
	both("cycles", 0.05, (*Kernel).Cycles, "sm__cycles_elapsed.sum")
	both("instructions", 0.02, (*Kernel).Instructions, "sass__inst_executed_per_opcode")
	both("waves", 0.01, (*Kernel).Waves, "launch__waves_per_multiprocessor")
	both("DRAM bytes", 0.05, func(k *Kernel) (float64, bool) { r, w, ok := k.DRAMBytes(); return r + w, ok },
		"dram__bytes_read.sum", "dram__bytes_write.sum")
	for _, op := range []string{"ffma", "dfma"} {
		if v, _ := k.ThreadOps(op); v > 0 {
			both(op, 0.05, func(k *Kernel) (float64, bool) { return k.ThreadOps(op) },
				"smsp__sass_thread_inst_executed_op_"+op+"_pred_on.sum.per_cycle_elapsed")
		}
	}
}

func TestAttributeOfTheSession(t *testing.T) {
	k := launch(map[string]float64{"gpu__time_duration.sum": 1e6})
	k.Launch.Report.Session.Devices = []profile.Device{
		{ID: 1, Name: "other"},
		{ID: 0, Name: "NVIDIA H200", Attributes: []profile.Attribute{{Name: "multiprocessor_count",
			Value: profile.Value{Kind: profile.Unsigned, Uint: 132}}}},
	}
	if v, ok := k.SMs(); !ok || v != 132 || k.DeviceName() != "NVIDIA H200" {
		t.Errorf("%g %v %q", v, ok, k.DeviceName())
	}
}

// 2020.3 names its theoretical sectors otherwise.
func TestGlobalSectorsOf2020(t *testing.T) {
	k := corpusReports(t)["mistic-a100-2020.3-bigcross3"][0]
	total, excessive, ok := k.GlobalSectors()
	ld, _ := k.number("l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum")
	st, _ := k.number("l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum")
	if !ok || math.Abs(total/(ld+st)-1) > 0.01 || excessive <= 0 || excessive > 0.1*total {
		t.Errorf("%g, %g excessive; L1 looked up %g", total, excessive, ld+st)
	}
}
