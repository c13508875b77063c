package pages

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"lacuna/internal/base/unit"
	"lacuna/internal/faces/page"
	"lacuna/internal/reader"
	"lacuna/internal/readers"
	"lacuna/internal/runs/compare"
)

// Diff is a comparison: the verdict on the step first, then what explains it, then rows, then what to run next.
func Diff(d *compare.Difference, next []page.Advice) *page.Page {
	p := &page.Page{Title: page.T(diffTitle(d))}
	p.Add(page.Prose{Lead: "before  ", Text: sideWords(d.Before)},
		page.Prose{Lead: "after   ", Text: sideWords(d.After)})
	if !d.Comparable {
		p.Add(page.Gap{}, page.Prose{Quote: true,
			Text: page.Sayf("%s%s", page.Of(page.Strong, "NOT COMPARABLE: "), strings.Join(d.WhyNot, "; "))})
	}
	if d.Step != nil {
		p.Add(page.Gap{}, page.Prose{Style: page.Bold, Text: stepWords(d)})
	}
	if d.Step == nil && len(d.Sheets) > 0 {
		p.Add(page.Gap{}, page.Prose{Style: page.Bold, Text: sheetHeadline(d)})
	}
	if d.Predicted != nil {
		p.Add(page.Gap{}, page.Prose{Text: predictedAgainst(d.Predicted)})
	}
	p.Add(explained(d)...)
	p.Add(diffFindings(d)...)
	p.Add(sheets(d)...)
	p.Add(kindRows(d)...)
	p.Add(movedMeasures(d)...)
	p.Add(kernelRows(d)...)
	p.Add(operatorRows(d)...)
	if len(d.Warnings) > 0 {
		var all []page.Text
		for _, x := range d.Warnings {
			all = append(all, page.T(x))
		}
		p.Add(page.Section{Title: page.T("Notes on these verdicts"), Level: 1, Blocks: listed(all)})
	}
	p.Add(page.Next{List: next})
	return p
}

// diffTitle is the verdict at a glance.
func diffTitle(d *compare.Difference) string {
	switch {
	case !d.Comparable:
		return verdictSigns["undecided"] + " The two sides are not comparable"
	case d.Step == nil:
		return "What changed"
	case d.Step.Verdict == compare.Same && d.MeanApart():
		return verdictSigns["undecided"] + " The median step has not changed, but the mean step has"
	case d.Step.Verdict == compare.Same:
		return verdictSigns["same"] + " The step has not changed"
	case d.Step.Verdict == compare.Undecided:
		return verdictSigns["undecided"] + " Inconclusive: whether the step has changed"
	}
	return verdictSigns[d.Step.Verdict] + " The step is " + verdictWords(d.Step.Verdict)
}

// sideWords is the runs of a side in a line.
func sideWords(s compare.Side) page.Text {
	var runs []page.Text
	for _, r := range s.Runs[:min(2, len(s.Runs))] {
		runs = append(runs, page.Of(page.Word, r))
	}
	text := page.List(runs, ", ")
	if more := len(s.Runs) - 2; more > 0 {
		text = page.Sayf("%d runs: %s and %d more", len(s.Runs), text, more)
	}
	if s.GPU != "" {
		text = page.Sayf("%s; %s", text, s.GPU)
	}
	if s.Steps > 0 {
		what := "step"
		if s.Kind != "" {
			what = s.Kind + " step"
		}
		text = page.Sayf("%s; %s", text, unit.Plural(s.Steps, what))
	}
	return text
}

// stepWords is the verdict on the step in a sentence or two.
func stepWords(d *compare.Difference) page.Text {
	s := d.Step
	text := page.Sayf("The median step takes %s (was %s)", page.Num(unit.About(s.After)+" ms"),
		page.Num(unit.About(s.Before)+" ms"))
	if s.ChangePct != nil {
		text = page.Sayf("%s, %s%s", text, page.Num(unit.Signed(*s.ChangePct)+" %"), percentRange(s))
	}
	switch s.Verdict {
	case compare.Faster, compare.Slower:
		text = page.Sayf("%s: %s", text, verdictWords(s.Verdict))
		if !d.Comparable {
			text = page.Sayf("%s; what else differs may be why", text)
		}
		text = page.Sayf("%s.", text)
	case compare.Same:
		text = page.Sayf("%s: the same (no change of %s %% or more).", text, unit.Tally(s.LimitPct))
	default:
		text = page.Sayf("%s: inconclusive for a change of %s %% or more%s.", text, unit.Tally(s.LimitPct),
			neededWords(s.RunsNeeded))
	}
	if d.MeanApart() {
		text = page.Sayf("%s The mean step takes %s (was %s), %s: some steps take far longer than the others, which "+
			"the median leaves out.", text, page.Num(unit.About(d.MeanMs[1])+" ms"),
			page.Num(unit.About(d.MeanMs[0])+" ms"), page.Num(unit.Signed(100*(d.MeanMs[1]/d.MeanMs[0]-1))+" %"))
	}
	if u := d.Unprofiled; u != nil && !slices.Equal(d.Before.Tools, d.After.Tools) {
		text = page.Sayf(
			"%s The profilers differ (%s, %s), so the verdict is on the step without profiler: "+
				"%s (was %s; estimates), %s to %s %%.",
			text,
			toolWords(d.Before.Tools),
			toolWords(d.After.Tools),
			page.Num(unit.About(u.After)+" ms"),
			page.Num(unit.About(u.Before)+" ms"),
			unit.Signed(*u.LowPct),
			unit.Signed(*u.HighPct),
		)
	}
	return text
}

// toolWords is what watched the runs of a side.
func toolWords(tools []string) string {
	out := make([]string, len(tools))
	for i, t := range tools {
		out[i] = cmp.Or(t, "none")
		if f := reader.Named(readers.All, t); f != nil {
			out[i] = cmp.Or(f.Maker, t)
		}
	}
	return strings.Join(out, " and ")
}

// predictedAgainst is what a what-if said of before, held against after.
func predictedAgainst(x *compare.Predicted) page.Text {
	in := "inside"
	if !x.InRange {
		in = "outside"
	}
	off := "long"
	if x.ErrorPct < 0 {
		off = "short"
	}
	var changes []page.Text
	for _, c := range x.Changes {
		changes = append(changes, page.Of(page.Word, c))
	}
	return page.Sayf(
		"Predicted for %s: %s of the step before (%s-%s %%). Achieved: %s, %s the range; the prediction is %s %% "+
			"too %s.",
		page.List(changes, ", "),
		page.Num(unit.Short(100*x.Ratio)+" %"),
		unit.Short(100*x.Low),
		unit.Short(100*x.High),
		page.Num(unit.Short(100*x.Achieved)+" %"),
		in,
		unit.Short(math.Abs(x.ErrorPct)),
		off,
	)
}

// explained is the parts of the change of a mean step.
func explained(d *compare.Difference) []page.Block {
	if len(d.Explained) == 0 {
		return nil
	}
	sum, width := 0.0, 0
	for _, x := range d.Explained {
		sum += x.Ms
		width = max(width, len(unit.SignedMs(x.Ms)))
	}
	title := fmt.Sprintf("Where the mean step differs by %s ms, real or not", unit.SignedMs(sum))
	if v := d.Step.Verdict; v == compare.Faster || v == compare.Slower {
		title = fmt.Sprintf("What explains %s ms of the mean step", unit.SignedMs(sum))
	}
	var out []page.Block
	if len(d.Before.Runs)+len(d.After.Runs) > 2 {
		out = append(out, page.Prose{Indent: 2, Text: page.T("Of the first run of each side:")})
	}
	for _, x := range d.Explained {
		out = append(
			out,
			page.Prose{Indent: 2, Lead: page.Pad(unit.SignedMs(x.Ms), width, true) + " ms  ", Text: page.T(x.What)},
		)
	}
	return []page.Block{page.Section{Title: page.T(title), Level: 1, Blocks: out}}
}

// diffFindings is which findings went, came and stayed.
func diffFindings(d *compare.Difference) []page.Block {
	var out []page.Block
	for _, x := range []struct {
		what string
		list []compare.Finding
	}{{"gone    ", d.Findings.Gone}, {"new     ", d.Findings.New}, {"stayed  ", d.Findings.Stayed}} {
		for _, f := range x.list {
			text := page.Sayf("%s: %s%s", page.Of(page.Word, f.Rule), f.Title, worthWords(f))
			out = append(out, page.Prose{Indent: 2, Lead: x.what, Text: text})
		}
	}
	if len(out) == 0 {
		return nil
	}
	return []page.Block{page.Section{Title: page.T("Findings"), Level: 1, Blocks: out}}
}

// leastWorth is the ms per step that a fix saves at least for it to be shown.
const leastWorth = 0.0005

// worthWords is what the fix of a finding saves on each side, in parentheses; nothing if it saves nothing.
func worthWords(x compare.Finding) page.Text {
	worth := func(ms float64) string {
		if ms < leastWorth {
			return "0"
		}
		return unit.About(ms)
	}
	b, a := x.BeforeMs, x.AfterMs
	switch {
	case b != nil && a != nil && (*b >= leastWorth || *a >= leastWorth):
		return page.Sayf(" (fix worth %s, was %s)", page.Num(worth(*a)+" ms"), worth(*b))
	case a != nil && b == nil && *a >= leastWorth:
		return page.Sayf(" (fix worth %s)", page.Num(worth(*a)+" ms"))
	case b != nil && a == nil && *b >= leastWorth:
		return page.Sayf(" (fix was worth %s)", page.Num(worth(*b)+" ms"))
	}
	return nil
}
