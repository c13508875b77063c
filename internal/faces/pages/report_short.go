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
		p.Add(serving(r)...)
	}
	p.Add(shortFindings(r)...)
	p.Add(joinedKernels(r, d)...)
	if len(r.PerDevice) <= shortDevices {
		p.Add(perDevice(r)...)
	}
	p.Add(phases(r)...)
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
		causes, hidden := 0, false
		var parts []page.Part
		for _, p := range b.Parts {
			switch {
			case p.Deeper && (hidden || p.Value < worthARow*b.Total.Value):
				continue
			case p.Inner && !p.Deeper:
				causes++
				if hidden = causes > shortCauses || p.Value < worthARow*b.Total.Value; hidden {
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

// shortFindings is each finding with its price and the first sentence of its fix, in the order of the whole report.
func shortFindings(r *report.Report) (out []page.Block) {
	var first, known []page.Block
	limit, priced, more := limitOf(r), 0, 0
	if r.Profiler == nil {
		limit = nil
	}
	for i := range r.Findings {
		f := &r.Findings[i]
		ordered := costsTime(f) || pricedCount(r) > 0 && (leads(r, f) || f.NoGain.Unknown() && large(r, f))
		switch {
		case f == limit: // in the sentence below
		case ordered && len(first) < shortPriced:
			first = append(first, shortItem(r, f, priced, len(first)))
			if costsTime(f) {
				priced++
			}
		case !ordered && len(known) < shortKnown:
			known = append(known, page.Item{Mark: "-", Title: titleOf(f),
				Body: []page.Block{page.Prose{Text: shortNoGain(r, f)}}})
		default:
			more++
		}
	}
	out = section("Findings, in the order to fix them", false, first...)
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

// shortItem is a finding among those in the order to fix them. place is its position among those with a price, number
// its position among all.
func shortItem(r *report.Report, f *report.Finding, place, number int) page.Item {
	x := page.Item{Mark: strconv.Itoa(number + 1), Title: titleOf(f)}
	switch {
	case leads(r, f):
		x.Title = page.Join(page.T(leadWords(f)), x.Title)
		x.Body = []page.Block{page.Prose{Text: firstOfFix(f.Fix)}}
		return x
	case !costsTime(f):
		x.Title = page.Join(page.T("not priced: "), x.Title)
		x.Body = []page.Block{page.Prose{Text: shortNoGain(r, f)}}
		return x
	}
	x.Body = []page.Block{page.Prose{Text: savesWords(r, f, place)}}
	if worthFixing(f) {
		x.Body = append(x.Body, page.Prose{Text: firstOfFix(f.Fix)})
	}
	return x
}

// shortNoGain is what a finding without a price can save; why its gain is unknown may take many lines.
func shortNoGain(r *report.Report, f *report.Finding) page.Text {
	if !f.NoGain.Unknown() || hostOnly(r) {
		return noGainWords(r, f)
	}
	return page.Sayf("saves at most %s ms; the gain is unknown (%s shows why)", unit.About(f.GainHighMs),
		page.Of(page.Word, "-v"))
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
		warned = append(warned, page.T(w))
	}
	read := trustWords(c)
	if len(warned) > 0 {
		read = page.Sayf("%s events were read. %s", page.Num(unit.FormatCount(c.Events)), page.Sentence(warned[0]))
		if c.Dropped > 0 {
			read = page.Sayf("%s %s", trustWords(c), page.Sentence(warned[0]))
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
