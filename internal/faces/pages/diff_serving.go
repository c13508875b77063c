package pages

import (
	"fmt"

	"lacuna/internal/base/unit"
	"lacuna/internal/faces/page"
	"lacuna/internal/runs/compare"
)

// kindRows is the steps of a serving engine kind by kind, before and after, and all of them at the mix of before.
func kindRows(d *compare.Difference) []page.Block {
	if len(d.Kinds) == 0 {
		return nil
	}
	longest := 0.0
	for _, x := range d.Kinds {
		longest = max(longest, x.MedianMs[0], x.MedianMs[1])
	}
	digits := unit.MsDigits(longest)
	var rows [][]page.Text
	for i, x := range d.Kinds {
		if i == maxKinds {
			break
		}
		name := x.Kind
		if x.Size != "" {
			name += ", " + x.Size
		}
		change, verdict := "-", "-"
		switch {
		case x.Verdict != "":
			verdict = verdictWords(x.Verdict)
		case x.ChangePct != nil:
			verdict = "too few steps"
		}
		if x.ChangePct != nil {
			change = fmt.Sprintf("%+.1f %%", *x.ChangePct)
		}
		shares := unit.Percent(x.ShareSteps[0]) + " / " + unit.Percent(x.ShareSteps[1])
		median := func(side int) string {
			if x.Count[side] == 0 {
				return "-"
			}
			return unit.Fixed(x.MedianMs[side], digits)
		}
		rows = append(rows, row(page.T(name), shares, median(0), median(1), change, verdict))
	}
	columns := []page.Column{{Head: "kind", Flex: true}, number("% of steps", "% of steps before / after", 2),
		number("before", "median before, ms", 0), number("after", "median after, ms", 0), number("change", "", 0),
		{Head: "verdict"}}
	t := page.Table{Columns: columns, Rows: rows}
	if more := len(d.Kinds) - maxKinds; more > 0 {
		t.More = fmt.Sprintf("%d more kinds and sizes, with less time", more)
	}
	blocks := []page.Block{t}
	if m := d.Mix; m != nil {
		blocks = append(blocks, page.Prose{Indent: 2, Text: page.Sayf(
			"At the mix of steps of before, the kinds that both sides have (%s of its time) take %s.",
			page.Num(unit.Percent(m.ShareTime)+" %"), mixWords(m.ChangePct))})
	}
	return section("Steps of the serving engine, by kind and size", false, blocks...)
}

// mixWords is a change in percent, in words.
func mixWords(pct float64) page.Text {
	switch {
	case pct <= -0.05:
		return page.Sayf("%s less time", page.Num(fmt.Sprintf("%.1f %%", -pct)))
	case pct >= 0.05:
		return page.Sayf("%s more time", page.Num(fmt.Sprintf("%.1f %%", pct)))
	}
	return page.T("as long")
}
