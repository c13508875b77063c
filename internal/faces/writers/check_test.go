package writers

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"io"
	"slices"
	"strings"
	"testing"

	"lacuna/internal/base/golden"
	"lacuna/internal/faces/pages/samples"
	"lacuna/internal/runs/gate"
)

func TestCheckGoldens(t *testing.T) {
	r := samples.Check(t)
	for name, write := range map[string]func(io.Writer, *gate.Result) error{"check.xml": CheckJUnit,
		"check.sarif": CheckSARIF, "check.github": CheckGitHub, "check.gitlab": CheckGitLab} {
		var out bytes.Buffer
		if err := write(&out, r); err != nil {
			t.Fatal(err)
		}
		golden.File(t, "testdata/"+name, out.String())
	}
}

// What SARIF 2.1.0 requires of the objects that are written, which keys it knows of them, and its enumerations
// (sarif-schema-2.1.0.json, OASIS).
var sarifSchema = map[string]struct{ required, known []string }{
	"log":    {[]string{"version", "runs"}, []string{"$schema", "version", "runs"}},
	"run":    {[]string{"tool"}, []string{"tool", "results"}},
	"tool":   {[]string{"driver"}, []string{"driver"}},
	"driver": {[]string{"name"}, []string{"name", "rules"}},
	"rule":   {[]string{"id"}, []string{"id", "shortDescription", "help"}},
	"text":   {[]string{"text"}, []string{"text"}},
	"result": {[]string{"message"}, []string{"ruleId", "ruleIndex", "level", "message", "locations",
		"partialFingerprints"}},
	"location": {nil, []string{"physicalLocation"}},
	"physical": {[]string{"artifactLocation"}, []string{"artifactLocation", "region"}},
	"artifact": {nil, []string{"uri"}},
	"region":   {nil, []string{"startLine"}},
}

func TestSARIF(t *testing.T) {
	var out bytes.Buffer
	if err := CheckSARIF(&out, samples.Check(t)); err != nil {
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
		if holds("region", p["region"])["startLine"].(float64) < 1 ||
			strings.Contains(holds("artifact", p["artifactLocation"])["uri"].(string), " ") {
			t.Errorf("%v", p)
		}
	}
}

// JUnit's counts are those of its cases.
func TestJUnitCounts(t *testing.T) {
	var out bytes.Buffer
	if err := CheckJUnit(&out, samples.Check(t)); err != nil {
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
	if s.Tests != len(s.Cases) || s.Failures != failures || s.Errors != errs || s.Skipped != skipped ||
		failures == 0 || errs == 0 || skipped == 0 {
		t.Errorf("%d, %d, %d, %d; counted %d, %d, %d, %d", s.Tests, s.Failures, s.Errors, s.Skipped, len(s.Cases),
			failures, errs, skipped)
	}
}

// A workflow command is one line, whatever a name holds.
func TestGitHubLines(t *testing.T) {
	var out bytes.Buffer
	if err := CheckGitHub(&out, samples.Check(t)); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	for _, l := range lines[:len(lines)-1] {
		command, message, ok := strings.Cut(strings.TrimPrefix(l, "::"), "::")
		if !strings.HasPrefix(l, "::") || !ok || message == "" ||
			!slices.Contains([]string{"error", "warning", "notice"}, strings.Fields(command)[0]) {
			t.Errorf("%q", l)
		}
	}
}

// The JSON contract of check: keys, verdicts, and lists that are never null.
func TestCheckContract(t *testing.T) {
	var out bytes.Buffer
	if err := JSON(&out, samples.Check(t)); err != nil {
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
	if got["schema"] != 1.0 || !slices.Contains([]string{"pass", "regression", "inconclusive", "not_comparable"},
		got["verdict"].(string)) {
		t.Errorf("%v, %v", got["schema"], got["verdict"])
	}
	for _, x := range got["measures"].([]any) {
		m := x.(map[string]any)
		for _, key := range []string{"name", "before", "after", "change_pct", "low_pct", "high_pct", "limit",
			"verdict", "runs_needed"} {
			if _, ok := m[key]; !ok {
				t.Errorf("%v has no %s", m["name"], key)
			}
		}
		if low, ok := m["low_pct"].(float64); ok &&
			(low > m["change_pct"].(float64) || m["high_pct"].(float64) < m["change_pct"].(float64)) {
			t.Errorf("%v: %v is not between %v and %v", m["name"], m["change_pct"], low, m["high_pct"])
		}
	}
}

// Verdicts stand at the place that was asked for; a capture's path, which no code host knows, never is one.
func TestCheckPlace(t *testing.T) {
	for _, test := range []struct {
		at   gate.Location
		want map[string]string // by form
	}{
		{gate.Location{File: "train.py", Line: 12}, map[string]string{"github": "file=train.py,line=12,",
			"sarif": `"startLine": 12`, "gitlab": `"path": "train.py"`}},
		{gate.Location{File: "lacuna.yaml"}, map[string]string{"github": "file=lacuna.yaml,line=4,",
			"sarif": `"startLine": 4`, "gitlab": `"begin": 4`}},
		{gate.Location{}, map[string]string{"github": "::error title=", "sarif": `"uri": "lacuna.yaml"`,
			"gitlab": `"path": "lacuna.yaml"`}},
	} {
		r := samples.Check(t)
		r.Location = test.at
		for form, write := range map[string]func(io.Writer, *gate.Result) error{"github": CheckGitHub,
			"sarif": CheckSARIF, "gitlab": CheckGitLab} {
			var out bytes.Buffer
			if err := write(&out, r); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(out.String(), test.want[form]) || strings.Contains(out.String(), "a.json") {
				t.Errorf("%s at %+v: want %s:\n%s", form, test.at, test.want[form], out.String())
			}
		}
	}
}
