package writers

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"lacuna/internal/report"
)

// An unjudged is abstentions that lack the same thing.
type unjudged struct {
	rules             []string
	reason, getItWith string
	own               bool // of the report itself, or for a reason of this capture's: it matters first
}

// reportParts is what abstains that is no rule: without it the answer itself is poorer.
var reportParts = []string{"budget", "idle_by_host", "steps", "whatif"}

// groupAbstained puts abstentions for the same reason together, those that matter first: parts of the
// report, then what many rules lack.
func groupAbstained(all []report.Abstained) []unjudged {
	var out []unjudged
	for _, a := range all {
		i := slices.IndexFunc(out, func(u unjudged) bool { return u.reason == a.Reason && u.getItWith == a.GetItWith })
		if i < 0 {
			i = len(out)
			out = append(out, unjudged{reason: a.Reason, getItWith: a.GetItWith})
		}
		u := &out[i]
		u.own = u.own || slices.Contains(reportParts, a.Rule)
		if !slices.Contains(u.rules, a.Rule) {
			u.rules = append(u.rules, a.Rule)
		}
	}
	slices.SortStableFunc(out, func(a, b unjudged) int {
		if a.own != b.own {
			if a.own {
				return -1
			}
			return 1
		}
		return cmp.Compare(len(b.rules), len(a.rules))
	})
	return out
}

// words is a group in a sentence or two.
func (u unjudged) words() string {
	s := sentence(u.reason)
	if !u.own {
		s = strings.TrimSuffix(s, ".") + ": " + list(u.rules) + " cannot be judged."
	}
	if u.getItWith != "" {
		s += " Get it with " + strings.TrimSuffix(u.getItWith, ".") + "."
	}
	return s
}

// list is words as in a sentence: "a, b and c".
func list(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " and " + words[len(words)-1]
}

// maxAbstained is how many groups are told where nobody asks for all.
const maxAbstained = 3

// abstainedLines is what could not be judged; not all: those that matter first, the rest counted.
func abstainedLines(r *report.Report, all bool) (lines []string, rest string) {
	groups := groupAbstained(r.Abstained)
	shownGroups, hidden := groups, 0
	if !all && len(groups) > maxAbstained+1 {
		shownGroups = groups[:maxAbstained]
		for _, u := range groups[maxAbstained:] {
			hidden += len(u.rules)
		}
	}
	for _, u := range shownGroups {
		lines = append(lines, u.words())
	}
	if hidden > 0 {
		rest = fmt.Sprintf("%d more diagnoses could not be judged.", hidden)
	}
	return lines, rest
}
