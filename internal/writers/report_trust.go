package writers

import (
	"fmt"

	"lacuna/internal/report"
	"lacuna/internal/unit"
)

// trust says what the capture lacks and what could not be judged.
func (p *printer) trust(r *report.Report, d Detail) {
	c := r.Capture
	p.heading("Can this capture be trusted?")
	p.prose("  ", 2, trustWords(c))
	for _, l := range c.Losses {
		p.prose("  - ", 4, p.loss(l))
	}
	for _, w := range c.Warnings {
		p.prose("  - ", 4, sentence(p.clean(w)))
	}
	lines, rest := abstainedLines(r, d.Whole || d.Abstained)
	for _, l := range lines {
		p.prose("  - ", 4, p.clean(l))
	}
	if rest != "" {
		p.prose("  - ", 4, p.clean(rest)+" --abstained tells more.")
	}
}

// trustWords is how much was read and whether all of it is there.
func trustWords(c report.Capture) string {
	read := unit.FormatCount(c.Events) + " events were read"
	switch {
	case c.Dropped > 0:
		return fmt.Sprintf("%s; the profiler dropped %s more.", read, unit.FormatCount(c.Dropped))
	case len(c.Losses) > 0:
		return read + "; not all could be kept:"
	case len(c.Warnings) > 0:
		return read + ", and nothing was lost. But:"
	}
	return read + ", and nothing was lost."
}

func (p *printer) loss(l report.Loss) string {
	s := fmt.Sprintf("%s x %s: %s", unit.FormatCount(l.Count), p.clean(l.Code), p.clean(lossWords(l.Code)))
	if l.Example != "" {
		s += " (the first: " + p.fit(p.clean(l.Example), 120) + ")"
	}
	return s + "."
}

// An Advice is a command that is worth running next, and what it shows.
type Advice struct{ Command, Why string }

func (p *printer) next(advice []Advice) {
	if len(advice) == 0 {
		return
	}
	p.heading("Next")
	for _, a := range advice {
		p.command(a.Command)
		p.prose("      ", 6, a.Why)
	}
}

// command writes a command that can be copied into a shell: lines that go on end in a backslash.
func (p *printer) command(text string) {
	lines := p.wrap(p.clean(text), p.width()-6)
	for i, l := range lines {
		if i < len(lines)-1 {
			l += ` \`
		}
		if i > 0 {
			l = "  " + l
		}
		p.line("  " + l)
	}
}
