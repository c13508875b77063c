package pages

import (
	"fmt"
	"strconv"
	"strings"

	"lacuna/internal/answer/report"
	"lacuna/internal/base/unit"
	"lacuna/internal/faces/page"
)

// What the verdict on one screen shows at most.
const (
	shortPriced  = 5 // findings with a price
	shortKnown   = 3 // others
	shortCauses  = 3 // of idle time
	shortDevices = 8 // GPUs in a table of their own
	shortNext    = 2 // commands to run next
)

// worthARow is the least share of a step that a cause of idle time needs for its row in the verdict.
const worthARow = 0.01

// shortReport is the verdict on one screen: where the time goes, what to fix, what was not judged, what to do next.
func shortReport(r *report.Report, next []page.Advice, d Detail) *page.Page {
	p := &page.Page{Title: page.T("Where a step's time goes")}
	p.Add(inputs(r.Inputs)...)
	p.Add(page.Gap{}, page.Prose{Text: headline(r), Style: page.Bold},
		page.Prose{Text: profilerWords(r)},
		page.Prose{Text: page.Sentence(page.T(r.Steps.Note)), Quote: true})
	if r.Budget.StepMs() > 0 {
		p.Add(shortBudget(r)...)
	}
	p.Add(shortFindings(r)...)
	p.Add(joinedKernels(r, d)...)
	if len(r.PerDevice) <= shortDevices {
		p.Add(perDevice(r)...)
	}
	p.Add(shortTrust(r)...)
	p.Add(page.Next{List: next[:min(len(next), shortNext)]}, page.Gap{},
		page.Prose{Small: true, Text: page.Sayf("%s shows the evidence, each fix, kernels, operators, copies and gaps.",
			page.Of(page.Word, "-v"))})
	return p
}

// shortBudget is the bar, and a row for each part that counts.
func shortBudget(r *report.Report) []page.Block {
	for _, block := range budget(r) {
		b, ok := block.(page.Breakdown)
		if !ok {
			continue
		}
		causes := 0
		var parts []page.Part
		for _, p := range b.Parts {
			if p.Inner {
				if causes++; causes > shortCauses || p.Value < worthARow*b.Total.Value {
					continue
				}
			}
			parts = append(parts, p)
		}
		b.Parts = parts
		return []page.Block{b}
	}
	return nil
}

// shortFindings is each finding with its price and the first sentence of its fix.
func shortFindings(r *report.Report) (out []page.Block) {
	var priced, known []page.Block
	limit := limitOf(r)
	more := 0
	for i := range r.Findings {
		f := &r.Findings[i]
		switch {
		case f == limit && r.Profiler != nil: // in the sentence below
		case costsTime(f) && len(priced) < shortPriced:
			body := []page.Block{page.Prose{Text: savesWords(r, f, len(priced))}}
			if worthFixing(f) {
				body = append(body, page.Prose{Text: firstOfFix(f.Fix)})
			}
			priced = append(priced, page.Item{Mark: strconv.Itoa(len(priced) + 1), Title: titleOf(f), Body: body})
		case !costsTime(f) && len(known) < shortKnown:
			known = append(known, page.Item{Mark: "-", Title: titleOf(f),
				Body: []page.Block{page.Prose{Text: shortAtMost(f)}}})
		default:
			more++
		}
	}
	out = section("Findings, in the order to fix them", false, priced...)
	if words := afterAllWords(r); !words.Empty() {
		out = append(out, page.Gap{}, page.Prose{Text: words, Style: page.Bold})
	}
	out = append(out, section(knownTitle(r), false, known...)...)
	if more > 0 {
		out = append(out, page.Prose{Indent: 2, Text: page.T(fmt.Sprintf("and %s",
			unit.Counted(more, "more finding", "more findings")))})
	}
	return out
}

// shortAtMost is what a finding without a price can save; why its gain is unknown may take many lines.
func shortAtMost(f *report.Finding) page.Text {
	most, why, _ := strings.Cut(atMostWords(f), "; ")
	if why == "" {
		return page.T(most)
	}
	return page.Sayf("%s; the gain is unknown (%s shows why)", most, page.Of(page.Word, "-v"))
}

// firstOfFix is the first paragraph of a fix, as a sentence: what leads to code ends in a colon there.
func firstOfFix(fix string) page.Text {
	what, _, _ := strings.Cut(strings.TrimSpace(fix), "\n\n")
	return page.Sentence(page.T(strings.TrimRight(strings.ReplaceAll(what, "\n", " "), ":")))
}

// shortTrust is what was lost and what could not be judged, a line or two of each.
func shortTrust(r *report.Report) []page.Block {
	c := r.Capture
	var warned []page.Text
	for _, l := range c.Losses {
		warned = append(warned, page.Sayf("%s x %s: %s", unit.FormatCount(l.Count), l.Code, lossWords(l.Code)))
	}
	for _, w := range c.Warnings {
		warned = append(warned, page.T(strings.TrimSuffix(w, ".")))
	}
	read := trustWords(c)
	if len(warned) > 0 {
		read = page.Sayf("%s events were read. %s.", page.Num(unit.FormatCount(c.Events)), warned[0])
		if c.Dropped > 0 {
			read = page.Sayf("%s %s.", trustWords(c), warned[0])
		}
	}
	switch n := len(warned) - 1; {
	case n == 1:
		read = page.Sayf("%s One more warning with %s.", read, page.Of(page.Word, "-v"))
	case n > 1:
		read = page.Sayf("%s %d more warnings with %s.", read, n, page.Of(page.Word, "-v"))
	}
	lines := append([]page.Text{read}, abstainedLines(r.Abstained, false)...)
	return section("Can this capture be trusted?", false, listed(lines)...)
}
