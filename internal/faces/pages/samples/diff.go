package samples

import "lacuna/internal/runs/compare"

// change is a measure with its change and interval in per cent.
func change(name, unit string, before, after, pct, low, high float64, verdict string, runs int) compare.Change {
	return compare.Change{Name: name, Unit: unit, Before: before, After: after, ChangePct: &pct, LowPct: &low,
		HighPct: &high, LimitPct: 2, Verdict: compare.Verdict(verdict), RunsNeeded: runs}
}

// Diff is a comparison in which something of every kind happened, of runs that are not comparable.
func Diff() *compare.Difference {
	ms := func(x float64) *float64 { return &x }
	step := change("step", "ms", 100, 42.5, -57.5, -59, -56, "faster", 0)
	return &compare.Difference{
		Schema: compare.Schema,
		Before: compare.Side{Runs: []string{"b/1.json", "b/2.json", "b/\x1b[2J.json", "b/4.json"},
			Tools: []string{"kineto"}, GPU: "NVIDIA H200", Steps: 40},
		After:    compare.Side{Runs: []string{"a.json"}, Tools: []string{"kineto"}, GPU: "NVIDIA H100", Steps: 1},
		WhyNot:   []string{"GPU: before NVIDIA H200, after NVIDIA H100"},
		Warnings: []string{"a warning with a long text that does not fit a line of a narrow page"},
		Step:     &step, MeanMs: [2]float64{101, 43},
		Explained: []compare.Cause{{What: "load|er left the critical path", Ms: -60, Key: "idle:range:load|er"},
			{What: "more casts in forward", Ms: 2, Key: "kernels:casts"}},
		Measures: []compare.Change{
			change("gpu_busy", "share", 0.2, 0.9, 350, 300, 400, "more", 0),
			change("copies", "count", 25, 0, -100, -100, -100, "less", 0),
			{Name: "syncs", Unit: "count", After: 3, Verdict: "more"},
			change("kernel:void ns::sgemm<4>(float*):dram_bytes", "bytes", 2e9, 1e9, -50, -55, -45, "less", 0),
			change("kernel:a(int) -> b(int):sm", "%", 40, 50, 25, 20, 30, "more", 0),
			change("throughput", "tokens/s", 1000, 990, -1, -4, 2, "undecided", 7),
			change("range:evil\x1b[2J`<b>", "ms", 1, 1, 0, -1, 1, "same", 0),
		},
		Kernels: []compare.KernelChange{
			{Before: []string{"void cutlass::Kernel<128>(P)", "tanh"}, After: []string{"void cutlass::Kernel<64>(P)"},
				How: "same operator", CallsBefore: 8, CallsAfter: 2.5,
				Change: change("kernel:x", "ms", 20, 5, -75, -80, -70, "faster", 0), ChangeMs: -15},
			{Before: []string{"gone_k"}, CallsBefore: 1,
				Change: change("kernel:gone_k", "ms", 1, 0, -100, -100, -100, "faster", 0), ChangeMs: -1},
			{Before: []string{"k"}, After: []string{"k"}, How: "name", CallsBefore: 1, CallsAfter: 1,
				Change: change("kernel:k", "ms", 1, 1.0001, 0, -1, 1, "same", 0), ChangeMs: 0.0001},
		},
		Operators: []compare.PathChange{
			{Path: "forward > autograd::engine::evaluate_function: AddmmBackward0 > AddmmBackward0 > aten::mm",
				BeforeMs: 30, AfterMs: 2, ChangeMs: -28, CallsBefore: 13, CallsAfter: 13},
			{Path: "aten::relu", BeforeMs: 5, AfterMs: 5.01, ChangeMs: 0.01, CallsBefore: 1, CallsAfter: 1},
		},
		Findings: compare.Findings{
			Gone: []compare.Finding{{Rule: "input_pipeline", Title: "The GPU waits for load|er", BeforeMs: ms(60)}},
			New:  []compare.Finding{{Rule: "dtype_cast_churn", Title: "Casts", AfterMs: ms(2)}},
			Stayed: []compare.Finding{{Rule: "host_sync", Title: "The host waits", BeforeMs: ms(3),
				AfterMs: ms(0.0001)}},
		},
		Predicted: &compare.Predicted{Changes: []string{"prefetch:load|er@8"}, Ratio: 0.4, Low: 0.3, High: 0.45,
			Achieved: 0.425, ErrorPct: -5.9, InRange: true},
	}
}
