package writers

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"lacuna/internal/gate"
	"lacuna/internal/golden"
	"lacuna/internal/measure"
)

// aCheck has a row of every verdict, and names of strangers.
func aCheck(t *testing.T) *gate.Result {
	t.Helper()
	side := func(f float64, mhz float64) (out []*measure.Run) {
		for i := range 6 {
			d := []float64{0, 1, -1, 2, -2, 0.5}[i]
			x := func(name, unit string, better measure.Better, v float64) measure.Measure {
				return measure.Measure{Name: name, Unit: unit, Better: better, Samples: []float64{v}}
			}
			r := &measure.Run{Name: fmt.Sprintf("run%d", i), Machine: measure.Machine{GPU: "NVIDIA H200"}, Conditions: []measure.Condition{{Name: "sm_mhz", Median: mhz}}, Measures: []measure.Measure{
				x("step", "ms", measure.Lower, 10*f+0.01*d), x("noise", "ms", measure.Lower, 10*f+1*d), x("gain", "s", measure.Lower, 5/f+0.01*d),
				x("tokens_per_s", "tokens/s", measure.Higher, 1000+d), x("kernel:void f<int*>(a|b)\n`x`", "ms", measure.Lower, f*f*f*f), x("peak_memory", "bytes", measure.Lower, 4e9)}}
			r.Sort()
			out = append(out, r)
		}

		return out
	}
	twelve, err := gate.ParseBudget("step<=12ms")
	if err != nil {
		t.Fatal(err)
	}
	r, err := gate.Check(side(1, 1980), side(1.1, 1980), gate.Options{Config: "ci/lacuna.yaml", Inputs: []string{"new runs/a.json"}, Baseline: "base.json", Rules: []gate.Rule{
		{Pattern: "step", From: "ci/lacuna.yaml line 4", Line: 4}, {Pattern: "noise", From: "ci/lacuna.yaml line 5", Line: 5}, {Pattern: "gain", From: "ci/lacuna.yaml line 6", Line: 6},
		{Pattern: "noise:p90", From: "ci/lacuna.yaml line 7", Line: 7, Inconclusive: "pass"}, {Pattern: "*", From: "ci/lacuna.yaml line 8", Line: 8}}})
	if err != nil {
		t.Fatal(err)
	}
	b, err := gate.Check(nil, side(1.1, 1980), gate.Options{Rules: []gate.Rule{twelve}})
	if err != nil {
		t.Fatal(err)
	}
	r.Measures = append(r.Measures, b.Measures...)
	missing := r.Measures[0]
	missing.Name, missing.Verdict, missing.Before, missing.Why = "lost", gate.NotComparable, nil, "it was not measured before"
	r.Measures = append(r.Measures, missing)
	r.Warnings = append(r.Warnings, "other processes used the GPU in 1 of 6 new runs, before in 0 of 6: python (pid 7)")
	return r
}

func TestCheckGoldens(t *testing.T) {
	r := aCheck(t)
	var seen []gate.Verdict
	for i := range r.Measures {
		seen = append(seen, r.Measures[i].Verdict)
	}
	for _, v := range []gate.Verdict{gate.Pass, gate.Improvement, gate.Regression, gate.Inconclusive, gate.NotComparable} {
		if !slices.Contains(seen, v) {
			t.Errorf("no row is %s", v)
		}
	}
	for name, write := range map[string]func(io.Writer) error{
		"check.txt":       func(w io.Writer) error { return CheckText(w, r, Page{Width: 100}) },
		"check-ascii.txt": func(w io.Writer) error { return CheckText(w, r, Page{Width: 60, ASCII: true}) },
		"check.md":        func(w io.Writer) error { return CheckMarkdown(w, r) },
		"check.xml":       func(w io.Writer) error { return CheckJUnit(w, r) },
		"check.sarif":     func(w io.Writer) error { return CheckSARIF(w, r) },
		"check.github":    func(w io.Writer) error { return CheckGitHub(w, r) },
		"check.gitlab":    func(w io.Writer) error { return CheckGitLab(w, r) },
	} {
		var out bytes.Buffer
		if err := write(&out); err != nil {
			t.Fatal(err)
		}
		golden.File(t, "testdata/"+name, out.String())
		for _, line := range strings.Split(out.String(), "\n") {
			if strings.HasSuffix(name, "ascii.txt") && (shown(line) > 60 || strings.IndexFunc(line, func(r rune) bool { return r > 126 }) >= 0) {
				t.Errorf("%s: %q", name, line)
			}
		}
	}
}

// What SARIF 2.1.0 requires of the objects that are written, which keys it knows of them, and its enumerations
// (sarif-schema-2.1.0.json, OASIS).
var sarifSchema = map[string]struct{ required, known []string }{
	"log":      {[]string{"version", "runs"}, []string{"$schema", "version", "runs"}},
	"run":      {[]string{"tool"}, []string{"tool", "results"}},
	"tool":     {[]string{"driver"}, []string{"driver"}},
	"driver":   {[]string{"name"}, []string{"name", "rules"}},
	"rule":     {[]string{"id"}, []string{"id", "shortDescription", "help"}},
	"text":     {[]string{"text"}, []string{"text"}},
	"result":   {[]string{"message"}, []string{"ruleId", "ruleIndex", "level", "message", "locations", "partialFingerprints"}},
	"location": {nil, []string{"physicalLocation"}},
	"physical": {[]string{"artifactLocation"}, []string{"artifactLocation", "region"}},
	"artifact": {nil, []string{"uri"}},
	"region":   {nil, []string{"startLine"}},
}

func TestSARIF(t *testing.T) {
	var out bytes.Buffer
	if err := CheckSARIF(&out, aCheck(t)); err != nil {
		t.Fatal(err)
	}
	var log map[string]any
	if err := json.Unmarshal(out.Bytes(), &log); err != nil {
		t.Fatal(err)
	}
	holds := func(kind string, x any) map[string]any {
		o, ok := x.(map[string]any)
		if !ok {
			t.Fatalf("%s is no object: %v", kind, x)
		}
		for _, key := range sarifSchema[kind].required {
			if o[key] == nil {
				t.Errorf("%s has no %s", kind, key)
			}
		}
		for key := range o {
			if !slices.Contains(sarifSchema[kind].known, key) {
				t.Errorf("%s has %s, which is not of it", kind, key)
			}
		}
		return o
	}
	if holds("log", log)["version"] != "2.1.0" {
		t.Error("version")
	}
	run := holds("run", log["runs"].([]any)[0])
	rules := holds("driver", holds("tool", run["tool"])["driver"])["rules"].([]any)
	for _, r := range rules {
		holds("text", holds("rule", r)["shortDescription"])
	}
	results := run["results"].([]any)
	if len(results) < 4 {
		t.Errorf("%d results", len(results))
	}
	for _, x := range results {
		r := holds("result", x)
		holds("text", r["message"])
		if !slices.Contains([]string{"none", "note", "warning", "error"}, r["level"].(string)) {
			t.Errorf("level %v", r["level"])
		}
		if got := rules[int(r["ruleIndex"].(float64))].(map[string]any)["id"]; got != r["ruleId"] {
			t.Errorf("ruleIndex is of %v, ruleId %v", got, r["ruleId"])
		}
		p := holds("physical", holds("location", r["locations"].([]any)[0])["physicalLocation"])
		if holds("region", p["region"])["startLine"].(float64) < 1 || strings.Contains(holds("artifact", p["artifactLocation"])["uri"].(string), " ") {
			t.Errorf("%v", p)
		}
	}
}

// JUnit's counts are those of its cases.
func TestJUnitCounts(t *testing.T) {
	var out bytes.Buffer
	if err := CheckJUnit(&out, aCheck(t)); err != nil {
		t.Fatal(err)
	}
	var got junitSuites
	if err := xml.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	var failures, errs, skipped int
	for _, c := range got.Suite.Cases {
		switch {
		case c.Failure != nil:
			failures++
		case c.Error != nil:
			errs++
		case c.Skipped != nil:
			skipped++
		}
	}
	s := got.Suite
	if s.Tests != len(s.Cases) || s.Failures != failures || s.Errors != errs || s.Skipped != skipped || failures == 0 || errs == 0 || skipped == 0 {
		t.Errorf("%d, %d, %d, %d; counted %d, %d, %d, %d", s.Tests, s.Failures, s.Errors, s.Skipped, len(s.Cases), failures, errs, skipped)
	}
}

// A workflow command is one line, whatever a name holds.
func TestGitHubLines(t *testing.T) {
	var out bytes.Buffer
	if err := CheckGitHub(&out, aCheck(t)); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	for _, l := range lines[:len(lines)-1] {
		command, message, ok := strings.Cut(strings.TrimPrefix(l, "::"), "::")
		if !strings.HasPrefix(l, "::") || !ok || message == "" || !slices.Contains([]string{"error", "warning", "notice"}, strings.Fields(command)[0]) {
			t.Errorf("%q", l)
		}
	}
}

// The JSON contract of check: keys, verdicts, and lists that are never null.
func TestCheckContract(t *testing.T) {
	var out bytes.Buffer
	if err := CheckJSON(&out, aCheck(t)); err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"why_not", "warnings", "unmatched", "inputs", "measures"} {
		if _, ok := got[key].([]any); !ok {
			t.Errorf("%s is no list: %v", key, got[key])
		}
	}
	if got["schema"] != 1.0 || !slices.Contains([]string{"pass", "regression", "inconclusive", "not_comparable"}, got["verdict"].(string)) {
		t.Errorf("%v, %v", got["schema"], got["verdict"])
	}
	for _, x := range got["measures"].([]any) {
		m := x.(map[string]any)
		for _, key := range []string{"name", "before", "after", "change_pct", "low_pct", "high_pct", "limit", "verdict", "runs_needed"} {
			if _, ok := m[key]; !ok {
				t.Errorf("%v has no %s", m["name"], key)
			}
		}
		if low, ok := m["low_pct"].(float64); ok && (low > m["change_pct"].(float64) || m["high_pct"].(float64) < m["change_pct"].(float64)) {
			t.Errorf("%v: %v is not between %v and %v", m["name"], m["change_pct"], low, m["high_pct"])
		}
	}
}

func TestMeasureName(t *testing.T) {
	for name, want := range map[string]string{
		"step:p90": "step:p90",
		"kernel:void ns::f<int>(float const*, int)":    "kernel:f<int>",
		"kernel:rowdot(const float *, int):duration":   "kernel:rowdot:duration",
		"kernel:at::native::add":                       "kernel:add",
		"kernel:void a::b(c::d):occupancy_theoretical": "kernel:b:occupancy_theoretical",
		"kernel:*gemm*": "kernel:*gemm*",
	} {
		if got := measureName(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
}
