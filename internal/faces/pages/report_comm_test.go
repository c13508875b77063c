package pages

import (
	"strings"
	"testing"

	"lacuna/internal/answer/report"
	"lacuna/internal/faces/page"
	"lacuna/internal/faces/page/pagetest"
)

// commReport is a step with two process groups.
func commReport(wait *float64) *report.Report {
	r := codeReport()
	r.Communication = []report.Communication{
		{Group: "TP", Name: "3", Size: 8, Ms: 30, ExposedMs: 20, OverlappedMs: 10, WaitMs: wait, KernelMs: 31,
			Operations: []report.CommOperation{
				{Name: "all-reduce", CallsPerStep: 64, Ms: 30, MBPerCall: 67.1, BusGBs: 310},
				{Name: "broadcast", Ms: 1}}},
		{Group: "DP", Name: "7", Ms: 12, OverlappedMs: 12, KernelMs: 12,
			Operations: []report.CommOperation{{Name: "reduce-scatter", CallsPerStep: 1, Ms: 12}}},
		{Group: "tiny", Ms: 0.01, Operations: []report.CommOperation{{Name: "broadcast"}}},
	}
	return r
}

// Process groups are told apart where there are several; waiting only where it is known.
func TestReportCommunication(t *testing.T) {
	show := func(r *report.Report) string {
		p := Report(r, nil, Detail{})
		pagetest.Check(t, p)
		return strings.Join(strings.Fields(textOf(t, p, page.Layout{Width: 100})), " ")
	}
	wait := 4.5
	for _, test := range []struct {
		r    *report.Report
		want string
	}{
		{commReport(nil), "group exposed overlapped mostly TP, 8 ranks 20.0 10.0 64 all-reduce of 67 MB at 310 GB/s " +
			"DP 0.0 12.0 1 reduce-scatter"},
		{commReport(&wait), "group exposed overlapped waiting mostly TP, 8 ranks 20.0 10.0 4.5 64 all-reduce"},
	} {
		if text := show(test.r); !strings.Contains(text, test.want) || strings.Contains(text, "tiny") {
			t.Errorf("no %q in %s", test.want, text)
		}
	}
	one := commReport(nil)
	one.Communication = one.Communication[:1]
	if text := show(one); strings.Contains(text, "process group") {
		t.Errorf("one group alone is shown: %s", text)
	}
}
