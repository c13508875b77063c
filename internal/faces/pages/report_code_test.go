package pages

import (
	"strings"
	"testing"

	"lacuna/internal/answer/report"
	"lacuna/internal/faces/page"
	"lacuna/internal/faces/page/pagetest"
)

// codeReport is a step of 100 ms that is idle for 90, of which functions are known.
func codeReport() *report.Report {
	code := []report.CodeOfCause{
		{Cause: "range:load", Ms: 60, Code: []report.CodeTime{
			{Name: "zoom (ndimage/_interpolation.py:739)", Ms: 48, Share: 0.8, Called: "zoom_shift"},
			{Name: "normalize (a/b.py:3)", Ms: 3, Share: 0.05}}},
		{Cause: "host", Ms: 20, Samples: 40, OffCPUMs: 12, Code: []report.CodeTime{
			{Name: "inflate (libz.so.1)", Ms: 6, Share: 0.3, Samples: 30}}},
		{Cause: "sync", Ms: 9.5, OffCPUMs: 9.4, Code: []report.CodeTime{}},
		{Cause: "launch", Ms: 0.5, Code: []report.CodeTime{{Name: "tiny (c.py:1)", Ms: 0.5, Share: 1}}},
	}
	budget := report.Budget{Compute: 10, Idle: 90, IdleByCode: code,
		IdleByHost: map[string]float64{"range:load": 60, "host": 20, "sync": 9.5, "launch": 0.5}}
	return &report.Report{Schema: 1, Inputs: []report.Input{{Path: "a.json", Producer: "PyTorch profiler"}},
		Steps:  report.Steps{Count: 1, Source: "nvtx", Basis: "device", MeanMs: 100, MedianMs: 100},
		Budget: budget, PerDevice: []report.Device{{Name: "H200", Budget: budget}},
		Gaps: []report.Gap{{DurMs: 20, Cause: "host", Code: &report.CodeOfCause{Cause: "host", Ms: 20, Samples: 40,
			Code: []report.CodeTime{{Name: "inflate (libz.so.1)", Ms: 18, Share: 0.9, Samples: 36}}}}}}
}

// Functions stand under the cause of idle time that they explain, and only where they explain something.
func TestReportCode(t *testing.T) {
	p := Report(codeReport(), nil, Detail{})
	pagetest.Check(t, p)
	text := strings.Join(strings.Fields(textOf(t, p, page.Layout{Width: 100})), " ")
	for _, want := range []string{
		"is in load 60.0 ms 60.0 % in zoom (ndimage/_interpolation.py:739), most of it calling zoom_shift 48.0 ms",
		"in inflate (libz.so.1), 30 of 40 samples 6.0 ms 6.0 % not running on a CPU 12.0 ms 12.0 %",
		"waits in a synchronizing call 9.5 ms 9.5 % launches",
		"the host runs code outside any range, 90.0 % of it in inflate (libz.so.1), 36 of 40 samples",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in %s", want, text)
		}
	}
	for _, not := range []string{"normalize", "tiny"} {
		if strings.Contains(text, not) {
			t.Errorf("%q explains nothing and is shown", not)
		}
	}
}
