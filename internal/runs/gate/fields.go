package gate

import (
	"encoding/json"
	"fmt"
	"strings"
)

// A field is one key of lacuna.yaml. The JSON schema for editors and the page in docs are made of these tables, and
// the file's reader takes these keys and no others, so that none of them can drift from another.
type field struct {
	name    string
	kind    kind
	words   []string // of an enum
	def     string   // what holds where it is not given
	doc     string
	example string
}

type fields []field

// A kind is what values a field takes.
type kind string

const (
	kindText     kind = "text"
	kindTexts    kind = "list of texts"
	kindShare    kind = "share"
	kindQuantity kind = "amount"
	kindWord     kind = "word"
	kindBool     kind = "true or false"
	kindCount    kind = "whole number"
	kindCheck    kind = "keys"
	kindRules    kind = "keys by measure"
)

func (t fields) names() (out []string) {
	for _, f := range t {
		out = append(out, f.name)
	}
	return out
}

var policies = []string{"pass", "fail"}

// fileFields is the top of the file: other commands may have keys of their own one day.
var fileFields = fields{
	{name: "check", kind: kindCheck, doc: "What lacuna check judges."},
}

var checkFields = fields{
	{name: "baseline", kind: kindText, def: "none", example: "perf/baseline.json",
		doc: "What new runs are compared with: a file, a directory, a glob, or history:PROGRAM for the accepted " +
			"runs of lacuna history. --baseline wins."},
	{name: "inconclusive", kind: kindWord, words: policies, def: "exit status 3", example: "pass",
		doc: "How an inconclusive verdict counts. --inconclusive wins."},
	{name: "same", kind: kindTexts, def: "none", example: "[model, batch]",
		doc: "Labels of runs that must be equal on both sides, beside GPU, driver, CUDA, clocks and libraries; " +
			"else the two are not comparable."},
	{name: "measures", kind: kindRules, def: "step, peak_memory; of kernel reports the duration and spills of " +
		"each kernel",
		doc: "Rules by measure. A name may hold * and ?, and may end in :p1 to :p99, :mean, :min or :max of a " +
			"run's steps (default: their median). A measure is judged by the first rule that matches."},
}

var ruleFields = fields{
	{name: "change", kind: kindShare, def: "2%", example: "5%",
		doc: "How much worse the measure may get, as a share of before. A regression exceeds this and floor."},
	{name: "floor", kind: kindQuantity, def: "20us per step; 0.1us per kernel in a kernel report; 2MiB of " +
		"peak_memory; one point of shares; else 0", example: "20us",
		doc: "How much worse the measure may get, as an amount. A regression exceeds this and change."},
	{name: "max", kind: kindQuantity, def: "none", example: "12ms",
		doc: "A budget: the measure may not be above it, whatever it was before. A rule with only budgets needs no " +
			"baseline."},
	{name: "min", kind: kindQuantity, def: "none", example: "90%",
		doc: "A budget: the measure may not be below it."},
	{name: "better", kind: kindWord, words: betterWords, def: "as the measure says", example: "higher",
		doc: "Which way is good. neither: any change is a regression."},
	{name: "inconclusive", kind: kindWord, words: policies, def: "as for all measures", example: "pass",
		doc: "How an inconclusive verdict on this measure counts."},
	{name: "family", kind: kindText, def: "one family", example: "kernels",
		doc: "Measures of one family share one false alarm in a hundred suites. A family of its own finds smaller " +
			"changes, and has false alarms of its own."},
	{name: "sum", kind: kindBool, def: "false", example: "true",
		doc: "All measures that match are one, their sum: a kernel that was renamed or split does not count as new."},
	{name: "optional", kind: kindBool, def: "false", example: "true",
		doc: "No measure needs to match."},
	{name: "noise", kind: kindShare, def: "as the runs show", example: "0.8%",
		doc: "How much runs of the same program scatter: the standard deviation as a share. lacuna check " +
			"--calibrate measures it."},
	{name: "noise_runs", kind: kindCount, def: "2", example: "10",
		doc: "Of how many runs noise is known."},
}

// Schema of lacuna.yaml for editors (JSON Schema, draft 7: what editors understand).
func ConfigSchema() []byte {
	root := object(fileFields)
	root["$schema"] = "http://json-schema.org/draft-07/schema#"
	root["title"] = "lacuna.yaml"
	text, err := json.MarshalIndent(root, "", "  ")
	if err != nil {
		panic(err) // only texts and lists are in it
	}
	return append(text, '\n')
}

func object(t fields) map[string]any {
	properties := make(map[string]any)
	for _, f := range t {
		p := f.kind.schema()
		p["description"] = f.doc
		if f.def != "" {
			p["description"] = f.doc + " Default: " + f.def + "."
		}
		if f.words != nil {
			p["enum"] = f.words
		}
		properties[f.name] = p
	}
	return map[string]any{"type": "object", "additionalProperties": false, "properties": properties}
}

// schema is a kind as JSON Schema has it. Numbers may be written bare, which YAML reads as numbers.
func (k kind) schema() map[string]any {
	switch k {
	case kindTexts:
		return map[string]any{"type": "array", "items": map[string]any{"type": "string"}}
	case kindShare, kindQuantity:
		return map[string]any{"type": []string{"string", "number"}}
	case kindBool:
		return map[string]any{"type": "boolean"}
	case kindCount:
		return map[string]any{"type": "integer", "minimum": 1}
	case kindCheck:
		return nullable(object(checkFields))
	case kindRules:
		return map[string]any{"type": []string{"object", "null"}, "additionalProperties": nullable(object(ruleFields))}
	}
	return map[string]any{"type": "string"}
}

func nullable(o map[string]any) map[string]any {
	o["type"] = []string{"object", "null"}
	return o
}

// ConfigPage is the keys of lacuna.yaml as a page of docs.
func ConfigPage() string {
	var b strings.Builder
	b.WriteString("# lacuna.yaml\n\nGenerated from `internal/runs/gate/fields.go`, as is the schema for editors, " +
		"`lacuna.schema.json` beside this page. Put\n`# yaml-language-server: $schema=lacuna.schema.json` into the " +
		"first line, with the path to it. A key that is not here is an error.\n")
	table(&b, "check:", checkFields)
	table(&b, "check: measures: NAME:", ruleFields)
	return b.String()
}

func table(b *strings.Builder, under string, t fields) {
	fmt.Fprintf(b, "\n## Under `%s`\n\n| key | takes | default | example | means |\n|---|---|---|---|---|\n", under)
	for _, f := range t {
		takes := string(f.kind)
		if f.words != nil {
			takes = "`" + strings.Join(f.words, "`, `") + "`"
		}
		example := ""
		if f.example != "" {
			example = fmt.Sprintf("`%s: %s`", f.name, f.example)
		}
		fmt.Fprintf(b, "| `%s` | %s | %s | %s | %s |\n", f.name, takes, f.def, example, f.doc)
	}
}
