package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"lacuna/internal/answer/report"
)

func TestTruth(t *testing.T) {
	dir := t.TempDir()
	files := map[string]string{
		"loop/truth.json":           `{"case":"loop","rule":"host_sync","slow":{"step_ms":4,"windows_ms":[5,3,4],"step_ms_under_torch":8},"fixed":{"step_ms":2,"step_ms_under_torch":5,"base":"slow","change":"drop-syncs + cuda-graph, as one"}}`,
		"loop/slow/torch.json.gz":   "",
		"loop/slow/nsys.sqlite.zst": "",
		"alone/truth.json":          `{"case":"alone","rule":"at_limit","fixed":{"step_ms":1}}`,
	}
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	truth := make(Truth)
	if err := truth.AddFolder(dir); err != nil {
		t.Fatal(err)
	}
	slow, fixed := truth["loop"]["slow"], truth["loop"]["fixed"]
	if slow.StepMs() != 4 || slow.Noise() != 0.25 || slow.Under["torch"] != 8 || len(slow.Paths) != 2 ||
		slow.Base != "" {
		t.Errorf("slow is %+v", slow)
	}
	if fixed.Otherwise() != "as one" || fixed.Base != "slow" ||
		!slices.Equal(fixed.Changes(), []string{"drop-syncs", "cuda-graph"}) || fixed.Noise() != 0 {
		t.Errorf("fixed is %+v with changes %q", fixed, fixed.Changes())
	}
	if alone := truth["alone"]["fixed"]; alone.Base != "" {
		t.Errorf("a program without a slow variant is a repair of %q", alone.Base)
	}

	// Runs of their own replace the windows of one, and what a variant is to its base replaces what was thought.
	runs := filepath.Join(dir, "truth-x.json")
	text := `{"gpu":"x","programs":{"loop":{"rule":"host_sync","variants":{
		"slow":{"base":null,"change":"","step_ms":6.5,"windows_ms":[1,2,3],"runs_ms":[7,6],"step_ms_under_torch":9},
		"fixed":{"base":"slow","change":"","runs_ms":[2]},
		"pad":{"base":"slow","change":"pad the vocabulary","runs_ms":[1]}}}}}`
	if err := os.WriteFile(runs, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := truth.AddFile(runs); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(slow.Runs, []float64{6, 7}) || slow.Under["torch"] != 8 || slow.Rule != "host_sync" ||
		fixed.Base != "slow" || fixed.Changes() != nil {
		t.Errorf("with runs, slow is %+v, fixed %+v", slow, fixed)
	}
	if pad := truth["loop"]["pad"]; pad.Changes() != nil || pad.StepMs() != 1 {
		t.Errorf("pad is %+v: %q", pad, pad.Changes())
	}
}

func TestTally(t *testing.T) {
	var tally Tally
	tally.Add(Estimate{10, 9, 11}, 8)
	tally.Add(Estimate{10, 9, 11}, 10)
	if got, want := strings.Join(tally.row("x"), "|"), "x|2|12.5 %|12.5 %|25.0 %|1 of 2|20.0 %"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := new(Tally).row("x"); got[2] != "-" {
		t.Errorf("a tally of nothing has a mean: %q", got)
	}
}

// A gain has an error only where there is one beyond the noise; one that is promised where there is none is counted.
func TestGains(t *testing.T) {
	before := func(ms float64) *Capture {
		return &Capture{Variant: &Variant{Case: "c", Name: "slow", Runs: []float64{ms}}, Now: Estimate{Ms: ms}}
	}
	after := func(runs ...float64) *Variant { return &Variant{Case: "c", Name: "fixed", Runs: runs} }
	set := &Set{Predictions: []*Prediction{
		{Capture: before(10), Fixed: after(8), FreeGain: Estimate{1, 0.5, 2}},              // half of it
		{Capture: before(10), Fixed: after(9.4, 9.9, 10.4), FreeGain: Estimate{2, 1, 3}},   // none beyond the noise
		{Capture: before(10), Fixed: after(9.4, 9.9, 10.4), FreeGain: Estimate{0, -1, .1}}, // none, and none promised
		{Capture: before(10), Fixed: after(2), WhyNot: "matches nothing"},
	}, Captures: []*Capture{{Variant: after(8), Now: Estimate{Ms: 8}, Again: &Again{Gain: Estimate{1, 0.5, 2}}}}}
	gains, empty := set.gainTally()
	if gains.Len() != 1 || gains.mean() != 0.5 || empty != 2 {
		t.Errorf("%d gains with a mean error of %g, %d promised in vain", gains.Len(), gains.mean(), empty)
	}
	if gains.inside != 1 || len(set.gainReach()) != 1 || set.printedTally().Len() != 0 {
		t.Errorf("%d gains in range, %d reaches, %d printed", gains.inside, len(set.gainReach()), set.printedTally().Len())
	}
	set.Predictions[0].Printed = &Estimate{1, 0.5, 1.5}
	if printed := set.printedTally(); printed.Len() != 1 || printed.inside != 0 {
		t.Errorf("%d printed, %d in range", printed.Len(), printed.inside)
	}
}

func TestJudge(t *testing.T) {
	finding := func(rule string, ms float64) report.Finding {
		return report.Finding{Rule: rule, Severity: "high", RecoverableMs: ms, Change: "x"}
	}
	for _, test := range []struct {
		rule, base string
		found      []report.Finding
		right      bool
	}{
		{"host_sync", "", []report.Finding{finding("launch_bound", 3), finding("host_sync", 2)}, true},
		{"host_sync", "", []report.Finding{finding("a", 4), finding("b", 3), finding("host_sync", 2)}, false},
		{"host_sync", "", nil, false},
		{"host_sync", "slow", []report.Finding{finding("host_sync", 2)}, false},
		{"host_sync", "slow", []report.Finding{finding("host_sync", 0.2), finding("launch_bound", 5)}, true},
		{"at_limit", "", []report.Finding{finding("launch_bound", 5)}, false},
		{"at_limit", "", []report.Finding{finding("launch_bound", 0.4)}, true},
	} {
		c := &Capture{Variant: &Variant{Rule: test.rule, Base: test.base},
			Report: &report.Report{Findings: test.found, Steps: report.Steps{MeanMs: 10}}}
		if v := judge(c); v.Right != test.right {
			t.Errorf("%+v: right is %v: %s", test, v.Right, v.Why)
		}
	}
}

// The arguments that a page shows are of no one machine, and its own name is not among them.
func TestShownArguments(t *testing.T) {
	got := strings.Join(shown([]string{"-unseen", "/a/b/heldout", "-truth", "/x/truth.json", "-o", "-", "-date",
		"2026-01-01", "-only", "x"}), " ")
	if want := "-unseen heldout -truth truth.json -only x"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A step found by rhythm may be several of the program's; one that markers give is one.
func TestStepsInOne(t *testing.T) {
	for _, test := range []struct {
		source        string
		meanMs, under float64
		want          int
	}{
		{"periodicity", 63.1, 15.8, 4},
		{"periodicity", 40, 15.8, 1}, // no whole number
		{"periodicity", 16, 15.8, 1},
		{"periodicity", 63.1, 0, 1},
		{"nvtx", 63.1, 15.8, 1},
	} {
		c := &Capture{Variant: &Variant{Under: map[string]float64{"nsys": test.under}}, Format: "nsys",
			Report: &report.Report{Steps: report.Steps{Source: test.source, MeanMs: test.meanMs}}}
		if got := c.stepsInOne(); got != test.want {
			t.Errorf("%+v: %d steps", test, got)
		}
	}
}
