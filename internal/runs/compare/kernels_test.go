package compare

import (
	"slices"
	"testing"

	"lacuna/internal/kernel/kernelreport"
)

func f(x float64) *float64 { return &x }

func insideKernel(name string, us float64, l2 float64, rules ...string) kernelreport.Kernel {
	k := kernelreport.Kernel{Name: name, DurationUs: f(us), Class: "memory:l1",
		Memory: &kernelreport.Memory{Links: []kernelreport.Link{{From: "L1", To: "L2", ReadBytes: f(l2),
			WriteBytes: f(0), HitPct: f(40)}}},
		StallParts: []kernelreport.StallPart{{Name: "waiting for global or local memory", Share: us / 1000}}}
	for _, r := range rules {
		k.Findings = append(k.Findings, kernelreport.Finding{Rule: r})
	}
	return k
}

// Kernels of two reports are paired by name and, where one is left on each side, with each other; rows are what moved.
func TestSheets(t *testing.T) {
	before := &kernelreport.Report{Kernels: []kernelreport.Kernel{insideKernel("copy(float*)", 100, 1e6),
		insideKernel("naive(float*)", 800, 8e6, "missing_tiling", "low_ipc")}}
	after := &kernelreport.Report{Kernels: []kernelreport.Kernel{insideKernel("tiled(float*)", 200, 1e6, "low_ipc",
		"shared_bank_conflicts"), insideKernel("copy(float*)", 101, 1e6)}}
	sheets := sheetsOf(before, after)
	if len(sheets) != 2 || sheets[0].Before != "naive(float*)" || sheets[0].After != "tiled(float*)" ||
		sheets[1].Before != "copy(float*)" {
		t.Fatalf("%+v", sheets)
	}
	s := sheets[0]
	if !slices.Equal(s.Gone, []string{"missing_tiling"}) || !slices.Equal(s.New, []string{"shared_bank_conflicts"}) ||
		!slices.Equal(s.Stayed, []string{"low_ipc"}) {
		t.Errorf("findings %v %v %v", s.Gone, s.New, s.Stayed)
	}
	want := map[string]string{"time": "4 times as fast", "L1-L2 traffic": "8 times less L2 traffic",
		"warps: global or local memory": "60 points less of warp time"}
	for _, r := range s.Rows {
		if want[r.Metric] != r.Meaning {
			t.Errorf("%s: %q, want %q", r.Metric, r.Meaning, want[r.Metric])
		}
		delete(want, r.Metric)
	}
	if len(want) > 0 {
		t.Errorf("no row: %v", want)
	}
	if rows := sheets[1].Rows; len(rows) != 1 || rows[0].Meaning != "the same" {
		t.Errorf("a kernel that stayed as it was: %+v", rows)
	}
}

func TestRatio(t *testing.T) {
	for _, test := range []struct {
		b, a float64
		want string
	}{{100, 90, "10 % less"}, {100, 25, "4 times less"}, {100, 112, "12 % more"}, {1, 40, "40 times as much"}} {
		if got := ratio(test.b, test.a); got != test.want {
			t.Errorf("%g to %g is %q, want %q", test.b, test.a, got, test.want)
		}
	}
}
