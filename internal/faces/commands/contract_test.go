package commands

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"
)

// A shape says what a JSON value must be: "number", "string", "bool", each with ? where it may be null or absent;
// fields: an object that has at least these; list: one whose elements are all so, never null; filled: a list that is
// not empty for the captures of this test; mapOf: an object with any names.
type (
	fields map[string]any
	list   struct{ of any }
	filled struct{ of any }
	mapOf  struct{ of any }
)

// misfits tells where v, at a path, is not of a shape.
func misfits(path string, v any, shape any) (out []string) {
	wrong := func(want string) []string { return []string{fmt.Sprintf("%s is %.60v, want %s", path, v, want)} }
	each := func(of any) {
		all, ok := v.([]any)
		if !ok {
			out = wrong("a list")
		}
		for i, x := range all {
			out = append(out, misfits(fmt.Sprintf("%s[%d]", path, i), x, of)...)
		}
	}
	switch s := shape.(type) {
	case string:
		kind, optional := strings.CutSuffix(s, "?")
		_, isNumber := v.(float64)
		_, isString := v.(string)
		_, isBool := v.(bool)
		if !(v == nil && optional || map[string]bool{"number": isNumber, "string": isString, "bool": isBool}[kind]) {
			return wrong(s)
		}
	case list:
		each(s.of)
	case filled:
		if each(s.of); len(out) == 0 && len(v.([]any)) == 0 {
			return wrong("a list with elements")
		}
	case mapOf:
		m, ok := v.(map[string]any)
		if !ok {
			return wrong("an object")
		}
		for name, x := range m {
			out = append(out, misfits(path+"."+name, x, s.of)...)
		}
	case fields:
		m, ok := v.(map[string]any)
		if !ok {
			return wrong("an object")
		}
		for name, of := range s {
			optional, _ := of.(string)
			if x, there := m[name]; there {
				out = append(out, misfits(path+"."+name, x, of)...)
			} else if !strings.HasSuffix(optional, "?") {
				out = append(out, path+"."+name+" is not there")
			}
		}
	default:
		panic(fmt.Sprintf("%T is no shape", shape))
	}
	return out
}

var (
	finding = fields{"rule": "string", "title": "string", "severity": "string", "confidence": "number",
		"recoverable_ms": "number", "predicted_step_ms": "number",
		"low_ms": "number", "high_ms": "number", "change": "string", "assumes": list{"string"}, "fix": "string",
		"refuted_by": "string",
		"evidence":   filled{fields{"text": "string", "rows": list{"string"}}}}
	budget = fields{"compute": "number", "copy": "number", "comm_exposed": "number", "idle": "number",
		"idle_by_host": mapOf{"number"}, "idle_because_of": mapOf{"number"}}
	change = fields{"before": "number", "after": "number", "change_pct": "number?", "low_pct": "number?",
		"high_pct": "number?", "verdict": "string"}

	reportContract = fields{
		"schema": "number",
		"inputs": filled{fields{"path": "string", "format": "string", "producer": "string", "host": "string",
			"gpus": filled{fields{"name": "string", "ordinal": "number"}}}},
		"steps": fields{"count": "number", "source": "string", "basis": "string", "window_ms": filled{"number"},
			"mean_ms": "number", "median_ms": "number", "p10_ms": "number", "p90_ms": "number",
			"host_median_ms": "number", "startup": list{fields{"index": "number", "ms": "number", "why": "string"}}},
		"budget_ms":  budget,
		"per_device": filled{fields{"device": "number", "budget_ms": fields{"compute": "number", "idle": "number"}}},
		"profiler": fields{"measured_step_ms": "number", "unprofiled_step_ms": "number", "low_ms": "number",
			"high_ms": "number"},
		"top_kernels": filled{fields{"name": "string", "calls_per_step": "number", "ms_per_step": "number",
			"share_of_step": "number"}},
		"top_ops": list{fields{"name": "string"}},
		"gaps": filled{fields{"start_ms": "number", "dur_ms": "number", "cause": "string", "call": "string",
			"range": "string"}},
		"findings":  filled{finding},
		"after_all": fields{"step_ms": "number", "low_ms": "number", "high_ms": "number", "bound_by": "string"},
		"abstained": filled{fields{"rule": "string", "reason": "string", "missing": "string",
			"get_it_with": "string"}},
		"capture": fields{"events": "number", "dropped": "number",
			"losses":   list{fields{"code": "string", "count": "number", "example": "string"}},
			"warnings": list{"string"}},
	}
	whatifContract = fields{
		"schema": "number", "measured_step_ms": "number", "replayed_step_ms": "number", "self_error_pct": "number",
		"predicted_step_ms": "number", "low_ms": "number", "high_ms": "number",
		"critical_path_ms": mapOf{"number"}, "unprofiled": fields{"now_ms": "number", "predicted_ms": "number",
			"low_ms": "number", "high_ms": "number"},
		"changes": filled{fields{"change": "string", "applied": "bool", "matched": "number",
			"assumes": list{"string"}}},
	}
	kernelContract = fields{
		"schema": "number", "device": fields{"name": "string"},
		"kernels": filled{fields{"name": "string", "count": "number", "duration_us": "number", "class": "string",
			"sol": fields{"sm_pct": "number", "memory_pct": "number"},
			"roofline": filled{fields{"precision": "string", "level": "string", "flops": "number",
				"intensity": "number", "ceiling": "number"}},
			"occupancy": fields{"theoretical_pct": "number", "achieved_pct": "number", "limiter": "string"},
			"stalls":    mapOf{"number"},
			"findings": list{fields{"rule": "string", "title": "string", "confidence": "number",
				"predicted_us": "number", "low_us": "number", "high_us": "number", "fix": "string"}}}},
	}
	diffContract = fields{
		"schema": "number", "comparable": "bool", "why_not": list{"string"}, "step_ms": change,
		"explained": list{fields{"what": "string", "ms": "number"}},
		"kernels":   list{fields{"before": list{"string"}, "after": list{"string"}}},
		"findings": fields{"gone": list{fields{"rule": "string"}}, "new": list{fields{"rule": "string"}},
			"stayed": list{fields{"rule": "string"}}},
	}
)

// The contracts of the design hold for what real captures give: every field is there, of its type, and no list is null.
func TestContracts(t *testing.T) {
	dir := t.TempDir()
	if err := captures(dir); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	doctorContract := fields{"schema": "number", "verdicts": filled{fields{"purpose": "string", "answer": "string",
		"because": list{"string"}}},
		"checks": filled{fields{"check": "string", "title": "string", "state": "string", "text": "string",
			"cost": "string", "fix": "string", "commands": list{"string"}, "stops": list{"string"},
			"limits": list{"string"}}}}
	nothingToChange := maps.Clone(reportContract) // there is no after all changes, and no idle time because of anything
	nothingToChange["budget_ms"] = fields{"compute": "number", "copy": "number", "comm_exposed": "number",
		"idle": "number", "idle_by_host": mapOf{"number"}}
	delete(nothingToChange, "after_all")
	for _, test := range []struct {
		args  string
		shape fields
	}{
		{"report trace.json.gz", reportContract},
		{"report " + demoPath, reportContract},
		{"report run.sqlite", nothingToChange},
		{"whatif trace.json.gz -x drop-syncs", whatifContract},
		{"whatif run.sqlite -x scale:gemm=0.5", whatifContract},
		{"kernel gemm.ncu-rep", kernelContract},
		{"diff run.sqlite trace.json.gz --force", diffContract},
		{"doctor", doctorContract},
		{"diff before.json.gz after.json.gz", diffContract},
		{"diff before.sqlite after", diffContract},
		{"diff slow.ncu-rep fixed.ncu-rep", fields{"schema": "number", "comparable": "bool", "why_not": list{"string"},
			"measures": filled{change}}},
	} {
		t.Run(test.args, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			args := append(strings.Fields(test.args), "--format", "json")
			if status := Main(args, strings.NewReader(""), &stdout, &stderr); status > 1 {
				t.Fatalf("status %d: %s", status, &stderr)
			}
			var got any
			if err := json.Unmarshal(stdout.Bytes(), &got); err != nil {
				t.Fatal(err)
			}
			for _, m := range misfits("", got, test.shape) {
				t.Error(m)
			}
		})
	}
}

// The test of contracts sees what is missing, null, empty or of another type.
func TestMisfits(t *testing.T) {
	shape := fields{"a": "number", "b": filled{"string"}, "c": mapOf{"bool"}, "d": "string?",
		"e": list{fields{"x": "number"}}}
	for text, want := range map[string]int{
		`{"a":1,"b":["x"],"c":{"y":true},"e":[]}`:                  0,
		`{"a":1,"b":["x"],"c":{"y":true},"d":null,"e":[{"x":1}]}`:  0,
		`{"b":["x"],"c":{},"e":[]}`:                                1,
		`{"a":"1","b":[],"c":{"y":1},"d":2,"e":null}`:              5,
		`{"a":null,"b":null,"c":null,"d":"d","e":[{"x":null},{}]}`: 5,
		`{"a":1,"b":["x",2],"c":{"y":true,"z":null},"e":[1]}`:      3,
		`[]`: 1,
	} {
		var v any
		if err := json.Unmarshal([]byte(text), &v); err != nil {
			t.Fatal(err)
		}
		if got := misfits("", v, shape); len(got) != want {
			t.Errorf("%s: %d misfits, want %d: %q", text, len(got), want, got)
		}
	}
}
