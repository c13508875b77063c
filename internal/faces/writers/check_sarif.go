package writers

import (
	"io"
	"net/url"

	"lacuna/internal/faces/page"
	"lacuna/internal/faces/pages"
	"lacuna/internal/runs/gate"
)

// What is used of SARIF 2.1.0 (OASIS), section numbers of that standard.
type (
	sarifLog struct { // 3.13
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct { // 3.14
		Tool    sarifTool     `json:"tool"`
		Results []sarifResult `json:"results"`
	}
	sarifTool struct { // 3.18
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct { // 3.19
		Name  string      `json:"name"`
		Rules []sarifRule `json:"rules"`
	}
	sarifRule struct { // 3.49
		ID               gate.Verdict `json:"id"`
		ShortDescription sarifMessage `json:"shortDescription"`
		Help             sarifMessage `json:"help"`
	}
	sarifMessage struct { // 3.11, 3.12
		Text string `json:"text"`
	}
	sarifResult struct { // 3.27
		RuleID       string            `json:"ruleId"`
		RuleIndex    int               `json:"ruleIndex"`
		Level        string            `json:"level"`
		Message      sarifMessage      `json:"message"`
		Locations    []sarifLocation   `json:"locations"`
		Fingerprints map[string]string `json:"partialFingerprints"`
	}
	sarifLocation struct { // 3.28
		Physical struct {
			Artifact struct {
				URI string `json:"uri"`
			} `json:"artifactLocation"`
			Region struct {
				StartLine int `json:"startLine"`
			} `json:"region"`
		} `json:"physicalLocation"`
	}
)

// sarifRules is the verdicts that are reported, each a rule.
var sarifRules = []sarifRule{
	{gate.Regression, sarifMessage{"A measure got worse by more than its limit"},
		sarifMessage{"The 95 % interval of the change lies beyond the limit, or that of the measure beyond its " +
			"budget."}},
	{gate.Inconclusive, sarifMessage{"Whether a measure got worse is inconclusive"},
		sarifMessage{"More runs would settle it; the message says how many."}},
	{gate.NotComparable, sarifMessage{"Before and after cannot be compared"},
		sarifMessage{"The GPU, the driver, the clocks, a library or a label differs, or one side lacks the measure."}},
	{gate.Improvement, sarifMessage{"A measure got better by more than its limit"},
		sarifMessage{"It fails nothing. Make the new runs the baseline to keep it."}},
}

var sarifLevels = map[gate.Verdict]string{gate.Regression: "error", gate.Inconclusive: "warning",
	gate.NotComparable: "warning", gate.Improvement: "note"}

// CheckSARIF writes what did not simply pass as SARIF 2.1.0, which code hosts show beside the code.
func CheckSARIF(w io.Writer, r *gate.Result) error {
	run := sarifRun{Tool: sarifTool{sarifDriver{"lacuna check", sarifRules}}, Results: []sarifResult{}}
	for i := range r.Measures {
		m := &r.Measures[i]
		for k, rule := range sarifRules {
			if rule.ID != m.Verdict {
				continue
			}
			x := sarifResult{RuleID: string(rule.ID), RuleIndex: k, Level: sarifLevels[m.Verdict],
				Message:      sarifMessage{page.Printable(m.Name + ": " + pages.RowWords(m).String())},
				Fingerprints: map[string]string{"lacunaMeasure/v1": fingerprint(m)}}
			path, line := checkPlace(r, m)
			var at sarifLocation
			at.Physical.Artifact.URI = (&url.URL{Path: path}).EscapedPath()
			at.Physical.Region.StartLine = line
			x.Locations = append(x.Locations, at)
			run.Results = append(run.Results, x)
		}
	}
	return JSON(w, sarifLog{"https://json.schemastore.org/sarif-2.1.0.json", "2.1.0", []sarifRun{run}})
}
