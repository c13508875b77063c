package pages

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"lacuna/internal/answer/report"
	"lacuna/internal/base/unit"
	"lacuna/internal/faces/page"
)

// maxExample is how many columns of the first event of a loss are shown.
const maxExample = 120

// trust says what the capture lacks and what could not be judged, of this all or what matters. It is folded away where
// nothing was lost.
func trust(c report.Capture, abstained []report.Abstained, all bool) []page.Block {
	var lines []page.Text
	for _, l := range c.Losses {
		s := page.Sayf("%s x %s: %s", unit.FormatCount(l.Count), l.Code, lossWords(l.Code))
		if l.Example != "" {
			s = page.Join(s, page.T(" (the first: "), page.Excerpt(l.Example, maxExample), page.T(")"))
		}
		lines = append(lines, page.Join(s, page.T(".")))
	}
	for _, w := range c.Warnings {
		lines = append(lines, page.Sentence(page.T(w)))
	}
	own, rest := abstainedLines(abstained, all)
	lines = append(lines, own...)
	if !rest.Empty() {
		lines = append(lines, page.Sayf("%s %s shows why.", rest, page.Of(page.Word, "--abstained")))
	}
	whole := c.Dropped == 0 && len(c.Losses)+len(c.Warnings) == 0
	return section("Can this capture be trusted?", whole,
		append([]page.Block{page.Prose{Indent: 2, Text: trustWords(c)}}, listed(lines)...)...)
}

// trustWords is how much was read and whether all of it is there.
func trustWords(c report.Capture) page.Text {
	read := page.Num(unit.FormatCount(c.Events) + " events")
	switch {
	case c.Dropped > 0:
		return page.Sayf("%s were read; the profiler dropped %s more.", read, unit.FormatCount(c.Dropped))
	case len(c.Losses) > 0:
		return page.Sayf("%s were read; not all could be kept:", read)
	case len(c.Warnings) > 0:
		return page.Sayf("%s were read, and nothing was lost. But:", read)
	}
	return page.Sayf("%s were read, and nothing was lost.", read)
}

// An unjudged is abstentions that lack the same thing.
type unjudged struct {
	rules             []string
	reason, getItWith string
	missing           string // what the capture lacks
	own               bool   // of the report itself: it matters first
	lacks             bool   // the capture holds nothing of the kind, which is common
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
			a.Reason = "gains are unknown: " + a.Reason
		}
		i := slices.IndexFunc(out, func(u unjudged) bool { return u.reason == a.Reason && u.getItWith == a.GetItWith })
		if i < 0 {
			i = len(out)
			lacks := a.Kind == report.LacksPart
			out = append(out, unjudged{reason: a.Reason, getItWith: a.GetItWith, missing: a.Missing, lacks: lacks})
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
func (u unjudged) words() page.Text {
	with := strings.TrimSuffix(u.getItWith, ".")
	if u.own {
		s := page.Sentence(page.T(u.reason))
		if with != "" {
			s = page.Join(s, page.Sayf(" Get it with %s.", with))
		}
		return s
	}
	why := strings.TrimSuffix(u.reason, ".")
	if u.lacks {
		why = "needs " + u.missing
		if len(u.rules) > 1 {
			why = "need " + u.missing
		}
	}
	s := page.Sayf("%s: %s", ruleNames(u.rules), why)
	switch {
	case with != "" && u.lacks:
		s = page.Sayf("%s (%s)", s, with)
	case with != "":
		s = page.Sayf("%s; get it with %s", s, with)
	}
	return page.Sayf("%s.", s)
}

// ruleNames is rules as "a, b and c".
func ruleNames(rules []string) page.Text {
	var out []page.Text
	for _, r := range rules {
		out = append(out, page.Of(page.Word, r))
	}
	return listOf(out)
}

// Of what could not be judged, where nobody asks for all: how many groups are shown at most, and how many rules
// must want a thing that the capture lacks for it to be shown.
const (
	maxAbstained = 4
	manyWant     = 3
)

// lacksSteps says whether a group is of an answer without steps or without GPU work.
func lacksSteps(u unjudged) bool {
	return u.own && (slices.Contains(u.rules, "steps") || slices.Contains(u.rules, "budget"))
}

// abstainedLines is what could not be judged; not all: those that matter first, the rest counted. Of a capture without
// steps or GPU work, which the first line says, the rules that lack something are only counted.
func abstainedLines(list []report.Abstained, all bool) (lines []page.Text, rest page.Text) {
	var hidden []string
	var lacking []page.Text
	groups := groupAbstained(list)
	poor := slices.ContainsFunc(groups, lacksSteps)
	for _, u := range groups {
		if !all && poor && u.lacks && len(u.rules) >= manyWant {
			lacking = append(lacking, page.Sayf("%d rules need %s", len(u.rules), u.missing))
			continue
		}
		if !all && !u.own && (len(lines) == maxAbstained || u.lacks && len(u.rules) < manyWant) {
			hidden = append(hidden, u.rules...)
			continue
		}
		lines = append(lines, u.words())
	}
	switch n := len(hidden); {
	case len(lacking) > 0 && n > 0:
		rest = page.Sayf("Not judged: %s, %d more need other data.", page.List(lacking, ", "), n)
	case len(lacking) > 0:
		rest = page.Sayf("Not judged: %s.", page.List(lacking, ", "))
	case n == 0:
	case n <= maxAbstained:
		rest = page.Sayf("Not judged, for lack of data: %s.", ruleNames(hidden))
	default:
		rest = page.T(fmt.Sprintf("%d more rules could not be judged.", n))
	}
	return lines, rest
}
