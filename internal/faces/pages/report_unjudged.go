package pages

import (
	"fmt"
	"strconv"

	"lacuna/internal/answer/report"
	"lacuna/internal/base/unit"
	"lacuna/internal/faces/page"
)

// leads says whether a finding is to be read before all others: it says what the capture is, or is about time outside
// the main part of a capture in which nothing marks steps, which is longer than all that the others are about.
func leads(r *report.Report, f *report.Finding) bool {
	return f.Leads || f.OutsideMs > 0 && r.Steps.Source == "none"
}

// captureWords says what kind of capture it is, where that must be known first; nil: there is nothing to say.
func captureWords(r *report.Report) page.Text {
	for i := range r.Findings {
		if f := &r.Findings[i]; f.Leads {
			return page.Join(page.Sentence(page.T(f.Title)), page.T(" "))
		}
	}
	return nil
}

// startWords says that the start-up steps take longer than all that the report is of; nil: they do not.
func startWords(s report.Steps) page.Text {
	ns := 0.0
	for _, x := range s.Startup {
		ns += x.Ms
	}
	if ns <= s.MeanMs*float64(s.Count) {
		return nil
	}
	first := "The first step, which is left out, takes"
	if n := len(s.Startup); n > 1 {
		first = fmt.Sprintf("The first %d steps, which are left out, take", n)
	}
	return page.Sayf(" %s %s.", first, page.Num(unit.Fixed(ns, unit.MsDigits(ns))+" ms"))
}

// unjudgedWords says that the larger part of the recording is outside what the report is of, where and in what; nil:
// it is not. Where nothing marks steps that is the first thing to know.
func unjudgedWords(r *report.Report) page.Text {
	u := r.Unjudged
	if u == nil {
		return nil
	}
	ms := func(v float64) page.Text { return page.Num(unit.Fixed(v, unit.MsDigits(v)) + " ms") }
	what, once := "the main GPU work", page.Text(nil)
	if r.Steps.Source != "none" {
		what, once = "the steps", page.T(", once per run")
	}
	if u.AgainMs >= worthSaying*(u.BeforeMs+u.AfterMs) {
		once = page.Sayf(", %s of it between other turns like them", ms(u.AgainMs))
	}
	var parts []page.Text
	if u.BeforeMs >= worthSaying*u.RecordedMs {
		parts = append(parts, page.Sayf("%s pass before %s", ms(u.BeforeMs), what))
	}
	if u.AfterMs >= worthSaying*u.RecordedMs {
		if len(parts) > 0 {
			parts = append(parts, page.Sayf("%s behind", ms(u.AfterMs)))
		} else {
			parts = append(parts, page.Sayf("%s pass behind %s", ms(u.AfterMs), what))
		}
	}
	s := page.Sayf("Of %s recorded, %s%s", ms(u.RecordedMs), listOf(parts), once)
	var host []page.Text
	for _, h := range u.Host[:min(len(u.Host), maxPhaseCauses)] {
		host = append(host, page.Sayf("%s %s", ms(h.Ms), h.What))
	}
	if len(host) == 0 {
		return page.Join(s, page.T("."))
	}
	return page.Sayf("%s: %s.", s, page.List(host, ", "))
}

// leadWords is what stands before the title of a finding that leads.
func leadWords(f *report.Finding) string {
	if f.OutsideMs > 0 {
		return "outside the budget: "
	}
	return ""
}

// leadingItem is a finding about the larger part of a recording, which no budget holds.
func leadingItem(r *report.Report, f *report.Finding, number int, d Detail) page.Item {
	return page.Item{Mark: strconv.Itoa(number + 1), Title: page.Join(page.T(leadWords(f)), titleOf(f)),
		Body: because(r, f, d.whole(f), 0)}
}

// computesNever says whether the devices only copied and cleared memory in all of a capture.
func computesNever(r *report.Report) bool {
	b := r.Budget
	return r.Steps.Source == "none" && b.Copy > 0 && b.Compute+b.CommExposed+b.CommOverlapped+b.CopyOverlapped <= 0
}
