package writers

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"lacuna/internal/report"
	"lacuna/internal/unit"
)

// An unjudged is abstentions that lack the same thing.
type unjudged struct {
	rules             []string
	reason, getItWith string
	own               bool // of the report itself: it matters first
	lacks             bool // the capture holds nothing of the kind, which is no news of most kinds
}

// groupAbstained puts abstentions for the same reason together, those that matter first: parts of the
// report, then what is peculiar to this capture, then what it lacks, by how many rules want it.
func groupAbstained(all []report.Abstained) []unjudged {
	var out []unjudged
	for _, a := range all {
		if a.Kind == report.CannotReplay {
			if slices.ContainsFunc(all, func(b report.Abstained) bool { return b.Kind == report.AnswerLacks }) {
				continue // what the answer lacks, prices lack too
			}
			a.Reason = "what changes buy cannot be told: " + a.Reason
		}
		i := slices.IndexFunc(out, func(u unjudged) bool { return u.reason == a.Reason && u.getItWith == a.GetItWith })
		if i < 0 {
			i = len(out)
			out = append(out, unjudged{reason: a.Reason, getItWith: a.GetItWith, lacks: a.Kind == report.LacksPart})
		}
		u := &out[i]
		u.own = u.own || a.Kind.OfAnswer()
		if !slices.Contains(u.rules, a.Rule) {
			u.rules = append(u.rules, a.Rule)
		}
	}
	slices.SortStableFunc(out, func(a, b unjudged) int {
		return cmp.Or(boolsFirst(a.own, b.own), boolsFirst(!a.lacks, !b.lacks), cmp.Compare(len(b.rules), len(a.rules)))
	})
	return out
}

// boolsFirst orders what is true before what is not.
func boolsFirst(a, b bool) int {
	switch {
	case a && !b:
		return -1
	case b && !a:
		return 1
	}
	return 0
}

// words is a group in a sentence or two.
func (u unjudged) words() string {
	s := sentence(u.reason)
	if !u.own {
		s = strings.TrimSuffix(s, ".") + ": " + unit.List(u.rules) + " cannot be judged."
	}
	if u.getItWith != "" {
		s += " Get it with " + strings.TrimSuffix(u.getItWith, ".") + "."
	}
	return s
}

// Of what could not be judged, where nobody asks for all: how many groups are told at most, and how many rules
// must want a thing that the capture lacks for it to be told.
const (
	maxAbstained = 4
	manyWant     = 3
)

// abstainedLines is what could not be judged; not all: those that matter first, the rest counted.
func abstainedLines(r *report.Report, all bool) (lines []string, rest string) {
	var hidden []string
	for _, u := range groupAbstained(r.Abstained) {
		if !all && !u.own && (len(lines) == maxAbstained || u.lacks && len(u.rules) < manyWant) {
			hidden = append(hidden, u.rules...)
			continue
		}
		lines = append(lines, u.words())
	}
	switch n := len(hidden); {
	case n == 0:
	case n <= maxAbstained:
		rest = unit.List(hidden) + " cannot be judged: the capture lacks what they look at."
	default:
		rest = fmt.Sprintf("%d more diagnoses cannot be judged.", n)
	}
	return lines, rest
}
