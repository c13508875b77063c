package writers

import (
	"io"
	"slices"
	"strings"

	"lacuna/internal/doctor"
)

// DoctorJSON writes what was found of a machine by the JSON contract. Lists that are empty are [], never null.
func DoctorJSON(w io.Writer, r *doctor.Report) error {
	full := *r
	full.Verdicts, full.Checks = slices.Clone(r.Verdicts), slices.Clone(r.Checks)
	notNil(&full.Verdicts)
	notNil(&full.Checks)
	for i := range full.Verdicts {
		notNil(&full.Verdicts[i].Because)
	}
	for i := range full.Checks {
		c := &full.Checks[i]
		notNil(&c.Commands)
		notNil(&c.Stops)
		notNil(&c.Limits)
	}
	return JSON(w, full)
}

// DoctorText prints what was found: what the machine is good for, what to mend, the gravest first, and what
// is well.
func DoctorText(w io.Writer, r *doctor.Report, page Page) error {
	p := &printer{Page: page, w: w}
	for _, v := range r.Verdicts {
		lines := p.wrap(p.clean(doctorAnswerWords(v, r)), p.width()-26)
		p.line(pad(doctorPurposeWords(v.Purpose), 26, false) + p.paint(doctorAnswerStyle(v.Answer), lines[0]))
		for _, l := range lines[1:] {
			p.line(strings.Repeat(" ", 26) + l)
		}
	}
	ill := doctorIll(r)
	if len(ill) > 0 {
		p.heading("What to mend")
	}
	for i := range ill {
		p.doctorIllness(&ill[i])
	}
	if len(ill) < len(r.Checks) {
		p.heading("What is well")
	}
	for i := range r.Checks {
		c := &r.Checks[i]
		if c.State != doctor.OK {
			continue
		}
		p.prose("  ", 4, p.clean(c.Title+": "+c.Text))
		if c.Cost != "" {
			p.prose("    known: ", 11, p.clean(c.Cost))
		}
		p.doctorCommands(c)
	}
	return p.err
}

// doctorIll is what is not well, the gravest first: what stops something, what limits something, the rest.
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

func (p *printer) doctorIllness(c *doctor.Result) {
	lines := p.wrap(p.clean(string(c.State)+" "+c.Title+": "+c.Text), p.width()-4)
	p.line("  " + p.paint(doctorStateStyle(c.State), lines[0]))
	for _, l := range lines[1:] {
		p.line("    " + l)
	}
	if c.Cost != "" {
		p.prose("    cost: ", 10, p.clean(c.Cost))
	}
	if c.Fix != "" {
		p.prose("    mend: ", 10, p.clean(c.Fix))
	}
	p.doctorCommands(c)
}

// doctorCommands prints what to run, whole however narrow the page: it is there to be copied.
func (p *printer) doctorCommands(c *doctor.Result) {
	for _, command := range c.Commands {
		p.line("      $ " + p.clean(command))
	}
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
		return "not known: " + because
	}
	return "yes"
}

func doctorAnswerStyle(a doctor.Answer) string {
	switch a {
	case doctor.Yes:
		return green
	case doctor.No:
		return red
	}
	return magenta
}

func doctorStateStyle(s doctor.State) string {
	switch s {
	case doctor.OK:
		return green
	case doctor.Missing, doctor.Broken:
		return red
	}
	return magenta
}
