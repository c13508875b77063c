package gate

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"lacuna/internal/runs/measure"
)

const whole = `# limits of the training loop
check:
  baseline: perf/*.json
  inconclusive: pass
  same: [model, batch]
  measures:
    step: {change: 3%, floor: 50us, max: 12ms, family: steps}
    "step:p90":
    gpu_busy:
      min: 90%
    "kernel:*gemm*": {sum: true, optional: true, change: 0.05, noise: 0.8%, noise_runs: 10}
    tokens_per_s: {better: higher, inconclusive: fail, min: 300 tokens/s}
    launches: {max: 800}
`

func TestParseConfig(t *testing.T) {
	c, err := ParseConfig("lacuna.yaml", []byte(whole))
	if err != nil {
		t.Fatal(err)
	}
	if c.Baseline != "perf/*.json" || c.Inconclusive != "pass" ||
		!reflect.DeepEqual(c.Same, []string{"model", "batch"}) || len(c.Rules) != 6 {
		t.Fatalf("%+v", c)
	}
	step, busy, gemm, tokens := c.Rules[0], c.Rules[2], c.Rules[3], c.Rules[4]
	if *step.Change != 0.03 || step.Floor.String() != "50us" || step.Max.String() != "12ms" ||
		step.Family != "steps" || step.Line != 7 || step.From != "lacuna.yaml line 7" {
		t.Errorf("%+v", step)
	}
	if x, ok := busy.Min.In("share"); !ok || x != 0.9 || busy.Relative() || !c.Rules[1].Relative() {
		t.Errorf("%+v", busy)
	}
	if !gemm.Sum || !gemm.Optional || *gemm.Change != 0.05 || *gemm.Noise != 0.008 || gemm.NoiseRuns != 10 {
		t.Errorf("%+v", gemm)
	}
	if *tokens.Better != measure.Higher || tokens.Inconclusive != "fail" || tokens.Min.Symbol != "tokens/s" {
		t.Errorf("%+v", tokens)
	}
}

func TestConfigErrors(t *testing.T) {
	under := func(lines string) string { return "check:\n  measures:\n    step:\n" + lines }
	for _, test := range []struct{ name, text, want string }{
		{"an unknown key at the top", "chekc: {}\n", `line 1: no key "chekc" (keys are check)`},
		{"an unknown key of check", "check:\n  measure: {}\n",
			`line 2: check: no key "measure" (keys are baseline, inconclusive, measures, same)`},
		{"an unknown key of a measure", under("      chnge: 2%\n"),
			`line 4: check: measures: step: no key "chnge" (keys are better, change, `},
		{"twice", under("      change: 2%\n      change: 3%\n"), `line 5`},
		{"a pattern twice", "check:\n  measures:\n    step: {change: 1%}\n    step: {change: 2%}\n", "line 4"},
		{"no share", under("      change: 20us\n"),
			`line 4: check: measures: step: change: want a share of before such as 2% or 0.02 (is "20us")`},
		{"a negative share", under("      change: -2%\n"), "want a share"},
		{"no amount", under("      floor: soon\n"), `want an amount with its unit such as 20us`},
		{"a negative floor", under("      floor: -3us\n"), `want an amount`},
		{"an odd word", under("      better: up\n"), `want lower or higher or neither (is "up")`},
		{"an odd policy", "check: {inconclusive: maybe}\n", `want pass or fail (is "maybe")`},
		{"no truth", under("      sum: perhaps\n"), "want true or false"},
		{"no count", under("      noise_runs: 2.5\n"), "want a whole number from 1"},
		{"no list", "check: {same: batch}\n", "want a list such as [model, batch]"},
		{"a list for a rule", "check:\n  measures:\n    step: [1]\n",
			"line 3: check: measures: step: want keys and values"},
		{"a rule for a text", under("      family: {a: b}\n"), "want one value"},
		{"an alias", "check:\n  measures:\n    step: &a {change: 1%}\n    loss: *a\n", "aliases"},
		{"no value", under("      change:\n"), "has no value"},
		{"a text", "step <= 12ms\n", "want keys and values"},
		{"no value for a mapping's key", "check:\n  baseline:\n", "line 2: check: baseline: has no value"},
		{"no value in a list", "check: {same: [model, ~]}\n", "check: same: a label has no value"},
		{"a mapping for a share", under("      change: {a: b}\n"),
			"line 4: check: measures: step: change: want a share"},
		{"a list for a text", under("      family: [a]\n"), "line 4: check: measures: step: family: want one value"},
		{"a list in a list", "check: {same: [[a]]}\n", "line 1: check: same: want one value"},
		{"a key that is a number", under("      5: 2%\n"), `line 4: check: measures: step: no key "5"`},
		{"a text for true", under("      sum: \"true\"\n"), "line 4: check: measures: step: sum: want true or false"},
		{"a tag", under("      family: !!str a\n"), "line 4: anchors, aliases and tags"},
		{"a merge", "check:\n  measures:\n    step:\n      <<: {change: 2%}\n", "line 4"},
		{"the first of two unknown keys", under("      chnge: 2%\n      flor: 2us\n"),
			`line 4: check: measures: step: no key "chnge"`},
		{"a pattern twice, quoted", "check:\n  measures:\n    step: {change: 1%}\n    \"step\": {change: 2%}\n",
			"line 4"},
		{"two documents", "check: {}\n---\ncheck: {}\n", "more than one document"},
		{"no YAML", "check: [\n", "is not YAML"},
		{"no YAML: tabs", "check:\n\tmeasures: {}\n", "is not YAML"},
		{"nested deeply", strings.Repeat("[", 10000), "nested too deeply"},
		{"long", strings.Repeat("#", maxConfig+1), "at most"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := ParseConfig("lacuna.yaml", []byte(test.text))
			if err == nil || !strings.Contains(err.Error(), test.want) ||
				!strings.HasPrefix(err.Error(), "lacuna.yaml: ") {
				t.Errorf("error %v, want %q", err, test.want)
			}
		})
	}
	for _, text := range []string{"", "# nothing\n", "check:\n", "check: {measures: }\n"} {
		if c, err := ParseConfig("lacuna.yaml", []byte(text)); err != nil || len(c.Rules) != 0 {
			t.Errorf("%q: %+v, %v", text, c, err)
		}
	}
}

// The schema that is shipped for editors takes what the reader takes: every key of the example is in it.
func TestSchemaIsCurrent(t *testing.T) {
	var root struct {
		Properties map[string]struct {
			Properties map[string]struct {
				Additional struct {
					Properties map[string]struct{ Description string }
				} `json:"additionalProperties"`
			}
		}
	}
	if err := json.Unmarshal(ConfigSchema(), &root); err != nil ||
		len(root.Properties["check"].Properties["measures"].Additional.Properties) != len(ruleFields) {
		t.Errorf("the schema has %d keys of a rule, the reader %d (%v)",
			len(root.Properties["check"].Properties["measures"].Additional.Properties), len(ruleFields), err)
	}
	for name, text := range map[string]string{"lacuna.schema.json": string(ConfigSchema()), "README.md": ConfigPage()} {
		have, err := os.ReadFile(filepath.Join("../../../docs/schema", name))
		if err != nil || string(have) != text {
			t.Errorf("docs/schema/%s is stale; run go generate ./... (%v)", name, err)
		}
	}
	for _, f := range ruleFields {
		if f.doc == "" || f.def == "" || f.example == "" {
			t.Errorf("%s is not documented", f.name)
		}
		line := "check: {measures: {x: {" + f.name + ": " + f.example + "}}}"
		if _, err := ParseConfig("x", []byte(line)); err != nil {
			t.Errorf("the example of %s: %v", f.name, err)
		}
	}
}

func FuzzParseConfig(f *testing.F) {
	f.Add([]byte(whole))
	f.Add([]byte("check: {measures: {step: {max: 1e9ms}}}"))
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := ParseConfig("x", text)
		if err != nil {
			return
		}
		for _, r := range c.Rules {
			if r.Line < 1 || r.Pattern == "" || r.Change != nil && !(*r.Change >= 0) {
				t.Errorf("%+v", r)
			}
		}
	})
}
