package pages

import (
	"fmt"

	"lacuna/internal/base/unit"
	"lacuna/internal/faces/page"
	"lacuna/internal/runs/compare"
)

// benchChangeWords is a verdict in a sentence.
func benchChangeWords(c *compare.Change) page.Text {
	text := page.Sayf("%s is %s (was %s)", benchSubject(c.Name), page.Num(unit.FormatMeasure(c.After, c.Unit)),
		page.Num(unit.FormatMeasure(c.Before, c.Unit)))
	if c.ChangePct != nil {
		text = page.Sayf("%s, %s%s", text, page.Num(unit.Signed(*c.ChangePct)+" %"), percentRange(c))
	}
	if pct, apart := c.MedianPct(); apart {
		text = page.Sayf("%s between the means, %s %% between these medians", text, unit.Signed(pct))
	}
	switch c.Verdict {
	case compare.Undecided:
		return page.Sayf("%s: inconclusive%s.", text, neededWords(c.RunsNeeded))
	case compare.Same:
		return page.Sayf("%s: the same (no change of %s %% or more).", text, unit.Short(c.LimitPct))
	}
	return page.Sayf("%s: %s.", text, verdictWords(c.Verdict))
}

// benchVerdict is the verdict on a row.
func benchVerdict(c *compare.Change) string {
	if c.Verdict == compare.Undecided && c.RunsNeeded > 0 {
		return fmt.Sprintf("inconclusive, %d runs", c.RunsNeeded)
	}
	return verdictWords(c.Verdict)
}
