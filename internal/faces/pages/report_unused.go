package pages

import (
	"lacuna/internal/answer/report"
	"lacuna/internal/base/unit"
	"lacuna/internal/faces/page"
)

// maxUnused is how many kinds of events that a report does not use are named.
const maxUnused = 4

// unusedWords is how many of the events a report uses, and what the others are. It begins with a space; nothing where
// all are used.
func unusedWords(c report.Capture) page.Text {
	if len(c.Unused) == 0 {
		return nil
	}
	used := c.Events
	var kinds []page.Text
	rest := int64(0)
	for i, u := range c.Unused {
		used -= u.Count
		if i < maxUnused {
			kinds = append(kinds, page.Sayf("%s %s", unit.FormatCount(u.Count), page.Of(page.Word, u.What)))
		} else {
			rest += u.Count
		}
	}
	if rest > 0 {
		kinds = append(kinds, page.Sayf("%s others", unit.FormatCount(rest)))
	}
	return page.Sayf(" This report uses %s of them; not used: %s.", page.Num(unit.FormatCount(max(0, used))),
		page.List(kinds, ", "))
}
