package pages

import (
	"slices"
	"strings"

	"lacuna/internal/capture/doctor"
	"lacuna/internal/faces/page"
)

// doctorLabel is the columns of a purpose.
const doctorLabel = 26

// Doctor is what was found of a machine: what it is good for, the problems, the gravest first, and what is OK.
func Doctor(r *doctor.Report) *page.Page {
	p := &page.Page{Title: page.T("What this machine is good for")}
	for _, v := range r.Verdicts {
		p.Add(page.Prose{Lead: page.Pad(doctorPurposeWords(v.Purpose), doctorLabel, false),
			Text: page.T(doctorAnswerWords(v, r)), Style: doctorAnswerStyle(v.Answer)})
	}
	ill := doctorIll(r)
	if len(ill) > 0 {
		s := page.Section{Title: page.T("Problems"), Level: 1}
		for i := range ill {
			s.Blocks = append(s.Blocks, doctorIllness(&ill[i])...)
		}
		p.Add(s)
	}
	if len(ill) < len(r.Checks) {
		p.Add(page.Section{Title: page.T("OK"), Level: 1, Fold: true, Blocks: doctorWell(r)})
	}
	return p
}

// doctorIll is the problems, the gravest first: what stops something, what limits something, the rest.
func doctorIll(r *doctor.Report) (out []doctor.Result) {
	for _, c := range r.Checks {
		if c.State != doctor.OK {
			out = append(out, c)
		}
	}
	gravity := func(c doctor.Result) int {
		switch {
		case slices.Contains(c.Stops, doctor.Record):
			return 0
		case len(c.Stops) > 0:
			return 1
		case len(c.Limits) > 0:
			return 2
		}
		return 3
	}
	slices.SortStableFunc(out, func(a, b doctor.Result) int { return gravity(a) - gravity(b) })
	return out
}

func doctorIllness(c *doctor.Result) []page.Block {
	return []page.Block{
		page.Prose{Indent: 2, Hang: 2, Text: page.T(string(c.State) + " " + c.Title + ": " + c.Text),
			Style: doctorStateStyle(c.State)},
		page.Prose{Indent: 4, Lead: "cost: ", Text: page.T(c.Cost)},
		page.Prose{Indent: 4, Lead: "how to fix: ", Text: page.T(c.Fix)},
		page.Commands{Indent: 6, Prompt: "$ ", Lines: c.Commands},
	}
}

func doctorWell(r *doctor.Report) (out []page.Block) {
	for i := range r.Checks {
		if c := &r.Checks[i]; c.State == doctor.OK {
			out = append(out, page.Prose{Indent: 2, Hang: 2, Text: page.T(c.Title + ": " + c.Text)},
				page.Prose{Indent: 4, Lead: "known: ", Text: page.T(c.Cost)},
				page.Commands{Indent: 6, Prompt: "$ ", Lines: c.Commands})
		}
	}
	return out
}

func doctorPurposeWords(of doctor.Purpose) string {
	switch of {
	case doctor.Record:
		return "Record GPU timelines:"
	case doctor.NCU:
		return "Read counters with ncu:"
	case doctor.Sample:
		return "Sample the CPU:"
	}
	return string(of)
}

// doctorAnswerWords is a verdict's answer, with the titles of the checks that it comes from.
func doctorAnswerWords(v doctor.Verdict, r *doctor.Report) string {
	var titles []string
	for _, id := range v.Because {
		for _, c := range r.Checks {
			if c.Check == id && c.State != doctor.OK {
				titles = append(titles, c.Title+" ("+string(c.State)+")")
				break
			}
		}
	}
	because := strings.Join(titles, ", ")
	switch v.Answer {
	case doctor.No:
		return "no: " + because
	case doctor.WithLimits:
		return "yes, within limits: " + because
	case doctor.Untold:
		return "unknown: " + because
	}
	return "yes"
}

func doctorAnswerStyle(a doctor.Answer) page.Style {
	switch a {
	case doctor.Yes:
		return page.Green
	case doctor.No:
		return page.Red
	}
	return page.Magenta
}

func doctorStateStyle(s doctor.State) page.Style {
	switch s {
	case doctor.OK:
		return page.Green
	case doctor.Missing, doctor.Broken:
		return page.Red
	}
	return page.Magenta
}
