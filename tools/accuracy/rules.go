package main

import (
	"fmt"
	"slices"
	"strings"

	"lacuna/internal/answer/report"
	"lacuna/internal/timeline/rules"
)

// noiseShare is what a finding may promise of a step before it counts as a promise: loops vary by as much.
const noiseShare = 0.05

// sameFault is rules that are as right as the one that truth.json names, with the reason.
var sameFault = map[string][]string{
	// the forward pass is long because every layer copies its output to the host and waits
	"forward_heavy": {"host_sync", "pageable_copy"},
	"llm_decode":    {"launch_bound"},        // the same, by another name
	"dtype_churn":   {"unfused_elementwise"}, // casts are elementwise kernels
}

// notThere is captures that do not hold the fault of their program, with the reason: they are not judged.
var notThere = map[[2]string]string{
	{"cold_start", "torch"}: "the profiler's own warm-up took the cold steps: the trace holds warm ones only",
}

// A Verdict is how findings stand against what was planted.
type Verdict struct {
	*Capture
	Found []string // rules, in the order of the report
	Right bool
	Why   string // what is wrong, or ""
	Base  bool   // the fault is there; else it was fixed, or there never was one
	Out   string // why it is not judged, or ""
}

// judge holds the findings of a capture against what its program is known to suffer from.
func judge(c *Capture) Verdict {
	v := Verdict{Capture: c, Base: c.Variant.Base == "" && !isLimit(c.Rule), Out: notThere[[2]string{c.Case, c.Format}]}
	if c.Rule == "" {
		v.Out = "nothing was planted"
	}
	if v.Base && c.Cure != nil && !byPresence(c.Rule) {
		if gain := 1 - c.Cure.StepMs()/c.Variant.StepMs(); gain < leastGain {
			v.Out = fmt.Sprintf("the planted fault costs nothing there: its fix saves %.1f %% by the program's "+
				"own timer", 100*gain)
		}
	}
	for i := range c.Report.Findings {
		v.Found = append(v.Found, c.Report.Findings[i].Rule)
	}
	if v.Base {
		v.Right, v.Why = planted(c, v.Found)
		return v
	}
	v.Right = true
	for i := range c.Report.Findings {
		if f := &c.Report.Findings[i]; promises(c.Report, f) && (isLimit(c.Rule) || isFault(c, f.Rule)) {
			v.Right, v.Why = false, fmt.Sprintf("%s promises %.2f ms of %.2f", f.Rule, f.RecoverableMs,
				stepOf(c.Report))
		}
	}
	return v
}

// planted says whether the fault that was planted is among the first two findings; if it costs no time, anywhere.
func planted(c *Capture, found []string) (bool, string) {
	first := found[:min(len(found), 2)]
	if byPresence(c.Rule) {
		first = found
	}
	if c.Rule == "cold_start" && len(c.Report.Steps.Startup) > 0 ||
		slices.ContainsFunc(first, func(rule string) bool { return isFault(c, rule) }) {
		return true, ""
	}
	if len(found) == 0 {
		return false, "nothing found"
	}
	return false, "found " + strings.Join(found[:min(len(found), 4)], ", ")
}

// isFault says whether a rule names the fault that a case was made with.
func isFault(c *Capture, rule string) bool {
	return rule == c.Rule || slices.Contains(sameFault[c.Case], rule)
}

// byPresence says whether a rule is judged by its presence.
func byPresence(id string) bool {
	return standing(id) != rules.CostsTime || id == "cold_start"
}

// isLimit says whether a rule finds no fault, but that nothing is worth fixing.
func isLimit(id string) bool { return standing(id) == rules.Limit }

// standing is how the findings of a rule are judged; of one that is not known, as most are.
func standing(id string) rules.Standing {
	for _, r := range rules.All {
		if r.ID == id {
			return r.Standing
		}
	}
	return rules.CostsTime
}

// promises says whether a finding promises more than noise.
func promises(r *report.Report, f *report.Finding) bool {
	return f.Severity != "info" && f.RecoverableMs > noiseShare*stepOf(r)
}

func stepOf(r *report.Report) float64 {
	if r.Profiler != nil {
		return r.Profiler.UnprofiledStepMs
	}
	return r.Steps.MeanMs
}
