package pages

import (
	"slices"
	"strconv"
	"strings"

	"lacuna/internal/answer/report"
	"lacuna/internal/faces/page"
)

// maxFindings is how many findings are shown with evidence and fix; those of the others are folded away.
const maxFindings = 3

// costsTime says whether a finding has a price: what is judged by its presence has none.
func costsTime(f *report.Finding) bool { return f.Change != "" }

// worthFixing says whether a finding is worth somebody's day.
func worthFixing(f *report.Finding) bool { return costsTime(f) && f.Severity != "info" }

// findings says what to fix, in which order, and what is worth knowing besides. Among what has a price stands what
// concerns as much of the step and has none.
func findings(r *report.Report, d Detail) (out []page.Block) {
	var first, known []page.Block
	limit, priced := limitOf(r), 0
	if r.Profiler == nil {
		limit = nil
	}
	for i := range r.Findings {
		switch f := &r.Findings[i]; {
		case costsTime(f):
			first = append(first, pricedItem(r, f, priced, len(first), d))
			priced++
		case leads(r, f) && pricedCount(r) > 0:
			first = append(first, leadingItem(r, f, len(first), d))
		case f.NoGain.Unknown() && large(r, f) && pricedCount(r) > 0:
			first = append(first, unpricedItem(r, f, len(first), d))
		case f != limit:
			main := pricedCount(r) == 0 && len(known) < maxFindings && large(r, f)
			known = append(known, knownItem(r, f, main, d))
		}
	}
	for i := range r.Negligible {
		if f := &r.Negligible[i]; d.whole(f) {
			known = append(known, knownItem(r, f, false, d))
		}
	}
	out = section("Findings, in the order to fix them", false, first...)
	if words := afterAllWords(r); !words.Empty() {
		out = append(out, page.Gap{}, page.Prose{Text: words, Style: page.Bold})
	}
	if limit != nil {
		out = append(out, because(r, limit, d.whole(limit), 4)...)
	}
	return append(out, section(knownTitle(r), false, known...)...)
}

// knownTitle is the title over findings without a price.
func knownTitle(r *report.Report) string {
	if hostOnly(r) {
		return "Findings in the host's time"
	}
	if pricedCount(r) == 0 && anyOf(r, unpriced) {
		return "Found, but not priced"
	}
	return "Worth knowing"
}

// hostOnly says whether a report is on a capture without GPU work.
func hostOnly(r *report.Report) bool { return r.Capture.NoGPUWork != "" }

// pricedItem is a finding with a price. place is its position among these, number its position among all.
func pricedItem(r *report.Report, f *report.Finding, place, number int, d Detail) page.Item {
	body := []page.Block{page.Prose{Text: savesWords(r, f, place)}}
	if d.whole(f) || number < maxFindings && worthFixing(f) {
		body = append(body, because(r, f, d.whole(f), 0)...)
	} else {
		body = append(body, page.Fold{Title: becauseTitle, Blocks: wholeBecause(r, f, 0)})
	}
	return page.Item{Mark: strconv.Itoa(number + 1), Title: titleOf(f), Body: body}
}

// unpricedItem is a finding without a price that concerns as much of the step as those with one.
func unpricedItem(r *report.Report, f *report.Finding, number int, d Detail) page.Item {
	x := knownItem(r, f, number < maxFindings, d)
	x.Mark, x.Title = strconv.Itoa(number+1), page.Join(page.T("not priced: "), x.Title)
	return x
}

// knownItem is a finding without a price. main says that it stands where a priced one would, and is shown with its fix;
// so are all where no GPU work is there to price any.
func knownItem(r *report.Report, f *report.Finding, main bool, d Detail) page.Item {
	body := []page.Block{page.Prose{Text: noGainWords(r, f)}}
	switch {
	case d.whole(f), main && r.KernelReports == nil, leads(r, f), hostOnly(r): // else the reports say what to do
		body = append(body, because(r, f, d.whole(f), 0)...)
	case len(f.Evidence) > 0:
		body = append(body, page.Prose{Text: page.Sentence(page.T(f.Evidence[0].Text))},
			page.Fold{Title: moreTitle, Blocks: moreBecause(r, f, 1, 0, f.Fix, 0)})
	default:
		body = append(body, page.Fold{Title: becauseTitle, Blocks: wholeBecause(r, f, 0)})
	}
	return page.Item{Mark: "-", Title: titleOf(f), Body: body}
}

// titleOf is a finding's severity, title and rule.
func titleOf(f *report.Finding) page.Text {
	t := page.Sayf("%s [%s]", f.Title, page.Of(page.Word, f.Rule))
	if costsTime(f) {
		t = page.Join(page.T(f.Severity+": "), t)
	}
	return t
}

// What folds of a finding are called.
const (
	becauseTitle = "Why, and how to fix it"
	moreTitle    = "More evidence, the whole fix"
)

// because is a finding's evidence and fix: whole, or in short with the rest folded away.
func because(r *report.Report, f *report.Finding, whole bool, indent int) (out []page.Block) {
	if whole {
		return []page.Block{page.Fold{Title: becauseTitle, Open: true, Blocks: wholeBecause(r, f, indent)}}
	}
	for _, e := range f.Evidence {
		out = append(out, evidence(e.Text, e.Rows[:min(len(e.Rows), 1)], indent)...)
	}
	first, rest := page.Cut(f.Fix)
	return append(out, page.Example{Indent: indent, Text: first},
		page.Fold{Title: moreTitle, Blocks: moreBecause(r, f, len(f.Evidence), 1, rest, indent)})
}

// wholeBecause is all evidence, the whole fix, how to confirm it, what would refute it.
func wholeBecause(r *report.Report, f *report.Finding, indent int) []page.Block {
	return moreBecause(r, f, 0, 0, f.Fix, indent)
}

// moreBecause is what is known of a finding beyond so many texts of its evidence with so many of their rows, with what
// is left of its fix.
func moreBecause(r *report.Report, f *report.Finding, texts, rows int, fix string, indent int) (out []page.Block) {
	for i, e := range f.Evidence {
		switch {
		case i >= texts:
			out = append(out, evidence(e.Text, e.Rows, indent)...)
		case len(e.Rows) <= rows:
		case len(f.Evidence) > 1: // which of them the rows show
			out = append(out, evidence(e.Text, e.Rows[rows:], indent)...)
		default:
			for _, row := range e.Rows[rows:] {
				out = append(out, page.Prose{Indent: indent, Lead: "- ", Text: page.T(row)})
			}
		}
	}
	for _, x := range []struct{ lead, text string }{
		{"", fix}, {"Outside PyTorch: ", f.FixElsewhere}, {"Confirmed if: ", f.Confirm}, {"Refuted if: ", f.RefutedBy},
		{"Assumes: ", strings.Join(f.Assumes, "; ")},
	} {
		if strings.TrimSpace(x.text) == "" {
			continue
		}
		if x.lead != "" {
			x.text = strings.TrimSpace(x.text)
		}
		out = append(out, page.Example{Indent: indent, Lead: x.lead, Text: x.text})
	}
	if f.Change != "" {
		command := page.Of(page.Word, "lacuna whatif "+InputWord(r)+" "+f.Args(ShellWord))
		out = append(out, page.Prose{Indent: indent, Hang: 2, Text: page.Sayf("Replayed as: %s", command)})
	}
	return out
}

// evidence is a sentence and rows that show it.
func evidence(text string, rows []string, indent int) []page.Block {
	out := []page.Block{page.Prose{Indent: indent, Lead: "- ", Text: page.Sentence(page.T(text))}}
	for _, row := range rows {
		out = append(out, page.Prose{Indent: indent + 4, Hang: 2, List: 2, Text: page.T(row)})
	}
	return out
}

// pricedCount is how many findings have a price.
func pricedCount(r *report.Report) (n int) {
	for i := range r.Findings {
		if costsTime(&r.Findings[i]) {
			n++
		}
	}
	return n
}

// limitOf is the finding that says what bounds a step in which nothing is worth fixing, or nil.
func limitOf(r *report.Report) *report.Finding {
	for i := range r.Findings {
		if f := &r.Findings[i]; f.Limit && pricedCount(r) == 0 {
			return f
		}
	}
	return nil
}

// large says whether a finding without a price concerns as much of a step as a fix is to gain to be worth a day.
func large(r *report.Report, f *report.Finding) bool {
	return f.GainHighMs >= worthADay*unprofiledStep(r)
}

// worthADay is the least share of a step that a fix is to gain, as the severities of findings have it.
const worthADay = 0.02

// anyOf says whether a report has a finding of a kind.
func anyOf(r *report.Report, kind func(f *report.Finding) bool) bool {
	return slices.ContainsFunc(r.Findings, func(f report.Finding) bool { return kind(&f) })
}
