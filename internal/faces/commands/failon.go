package commands

import (
	"fmt"
	"slices"
	"strings"

	"lacuna/internal/answer/report"
	"lacuna/internal/timeline/rules"
)

// severities is the severities that --fail-on takes, most severe first.
var severities = []string{"high", "medium", "low"}

func ruleNames() []string {
	var names []string
	for _, r := range rules.All {
		names = append(names, r.ID)
	}
	return names
}

// failWords is what --fail-on takes.
func failWords() []string { return append(slices.Clone(severities), ruleNames()...) }

func checkFailOn(words []string) error {
	for _, w := range words {
		if err := oneOf("--fail-on", w, failWords()); err != nil {
			return err
		}
	}
	return nil
}

// failOn ends the program with 1 if a finding is of a rule that words name, or as severe as they say; with
// 3 if none is, but what was asked for could not be judged: a gate that sees nothing must not pass.
func (e *Env) failOn(r *report.Report, words []string) error {
	var no, unknown bool
	for _, w := range words {
		for i := range r.Findings {
			if f := &r.Findings[i]; matches(f, w) {
				e.tell("--fail-on %s: %s: %s", w, f.Rule, f.Title)
				no = true
			}
		}
		if why := unjudged(r, w); why != "" {
			e.tell("--fail-on %s: cannot be judged%s", w, why)
			unknown = true
		}
	}
	switch {
	case no:
		return &statusError{status: No}
	case unknown:
		return &statusError{status: NoVerdict}
	}
	return nil
}

// matches says whether a finding is of the rule, or at least as severe.
func matches(f *report.Finding, word string) bool {
	limit := slices.Index(severities, word)
	if limit < 0 { // what is known to gain nothing fails no gate
		return f.Rule == word && (f.NoGain == nil || f.NoGain.Kind != report.GainsNothing)
	}
	at := slices.Index(severities, f.Severity)
	return at >= 0 && at <= limit
}

// unjudged says why a word of --fail-on has no answer, or "" if it has.
func unjudged(r *report.Report, word string) string {
	if slices.Contains(severities, word) {
		if r.Profiler == nil {
			return whyAbstained(r, func(a *report.Abstained) bool { return a.Kind == report.CannotReplay })
		}
		return ""
	}
	return whyRuleAbstained(r, word)
}

func hasFinding(r *report.Report, rule string) bool {
	return slices.ContainsFunc(r.Findings, ofRule(rule))
}

func ofRule(rule string) func(f report.Finding) bool {
	return func(f report.Finding) bool { return f.Rule == rule }
}

// whyRuleAbstained is the reason for which a rule did not judge, after a colon, or "".
func whyRuleAbstained(r *report.Report, rule string) string {
	return whyAbstained(r, func(a *report.Abstained) bool { return a.Rule == rule })
}

// whyAbstained is the reason of the first abstention that is wanted, after a colon, or "".
func whyAbstained(r *report.Report, wanted func(a *report.Abstained) bool) string {
	for i := range r.Abstained {
		if a := &r.Abstained[i]; wanted(a) {
			s := ": " + a.Reason
			if a.GetItWith != "" {
				s += fmt.Sprintf("; get it with %s", strings.TrimSuffix(a.GetItWith, "."))
			}
			return s
		}
	}
	return ""
}
