package writers

import (
	"fmt"
	"slices"
	"strings"

	"lacuna/internal/report"
)

// Detail is how much of what is known a report prints.
type Detail struct {
	Whole     bool     // every finding with all that is known of it
	Explain   []string // rules whose findings are told in whole
	Abstained bool     // everything that could not be judged, one by one
}

// whole says whether all of a finding is told.
func (d Detail) whole(f *report.Finding) bool { return d.Whole || slices.Contains(d.Explain, f.Rule) }

// maxFindings is how many findings are told with evidence and repair; the others get a line or two.
const maxFindings = 3

// costsTime says whether a finding has a price: what is judged by its presence has none.
func costsTime(f *report.Finding) bool { return f.Change != "" }

// worthFixing says whether a finding is worth somebody's day.
func worthFixing(f *report.Finding) bool { return costsTime(f) && f.Severity != "info" }

// findings tells what to change, most gain first, and what is worth knowing besides.
func (p *printer) findings(r *report.Report, d Detail) {
	var priced, known []*report.Finding
	for i := range r.Findings {
		if f := &r.Findings[i]; costsTime(f) {
			priced = append(priced, f)
		} else {
			known = append(known, f)
		}
	}
	if len(priced) > 0 {
		p.heading("What to change, most gain first")
	}
	for i, f := range priced {
		first := fmt.Sprintf("%d ", i+1)
		p.findingTitle(first, f)
		p.prose(strings.Repeat(" ", len(first)+2), len(first)+2, p.clean(savesWords(r, f, i)))
		if i < maxFindings && worthFixing(f) || d.whole(f) {
			p.because(r, f, d.whole(f))
		}
	}
	if words := afterAllWords(r, p.clean, p.name); words != "" {
		p.line("")
		for _, l := range p.wrap(words, p.width()) {
			p.line(p.paint(bold, l))
		}
	}
	if f := limitOf(r); f != nil && r.Profiler != nil {
		p.because(r, f, d.whole(f))
		known = slices.DeleteFunc(known, func(x *report.Finding) bool { return x == f })
	}
	if len(known) > 0 {
		p.heading("Worth knowing")
	}
	for _, f := range known {
		p.findingTitle("- ", f)
		if words := atMostWords(f); words != "" {
			p.prose("    ", 4, p.clean(words))
		}
		if d.whole(f) {
			p.because(r, f, true)
		} else if len(f.Evidence) > 0 {
			p.prose("    ", 4, p.clean(sentence(f.Evidence[0].Text)))
		}
	}
}

// findingTitle is a finding's severity, title and rule.
func (p *printer) findingTitle(first string, f *report.Finding) {
	text := p.clean(f.Title)
	if costsTime(f) {
		text = f.Severity + ": " + text
	}
	lines := p.wrap(text+" ["+p.clean(f.Rule)+"]", p.width()-len(first)-2)
	for i, l := range lines {
		if i == 0 {
			p.line("  " + p.paint(bold, first+l))
			continue
		}
		p.line("  " + strings.Repeat(" ", len(first)) + p.paint(bold, l))
	}
}

// because tells a finding's evidence and repair; whole: with every row, other languages, how to confirm
// it, what would refute it.
func (p *printer) because(r *report.Report, f *report.Finding, whole bool) {
	const indent = 4
	blanks := strings.Repeat(" ", indent)
	for _, e := range f.Evidence {
		p.prose(blanks+"- ", indent+2, p.clean(sentence(e.Text)))
		rows := e.Rows
		if !whole {
			rows = rows[:min(len(rows), 1)]
		}
		for _, row := range rows {
			p.prose(blanks+"    ", indent+6, p.clean(row))
		}
	}
	p.example(indent, f.Fix, whole)
	if !whole {
		return
	}
	for _, x := range []struct{ head, text string }{
		{"Outside PyTorch: ", f.FixElsewhere}, {"Confirmed if: ", f.Confirm}, {"Refuted if: ", f.RefutedBy},
		{"Assumes: ", strings.Join(f.Assumes, "; ")},
	} {
		if strings.TrimSpace(x.text) != "" {
			p.example(indent, x.head+strings.TrimSpace(x.text), true)
		}
	}
	if f.Change != "" {
		p.prose(blanks, indent+2, p.clean("Replayed as: lacuna whatif "+InputWord(r)+" "+f.Args(ShellWord)))
	}
}

// example writes a text in which indented lines are code; not whole: no more than what ends with the first code.
func (p *printer) example(indent int, text string, whole bool) {
	blanks := strings.Repeat(" ", indent)
	for _, b := range blocksOf(text) {
		if !b.code {
			p.prose(blanks, indent, p.clean(strings.Join(b.lines, " ")))
			continue
		}
		for _, l := range b.lines {
			p.codeLine(indent+2, l)
		}
		if !whole {
			return
		}
	}
}

// codeLine writes a line of code. Of one that is too long the comment goes above it, and what is still too long
// goes on in the next line, further in.
func (p *printer) codeLine(indent int, l string) {
	l = p.clean(strings.ReplaceAll(l, "\t", "    "))
	own := len(l) - len(strings.TrimLeft(l, " "))
	if indent+own > p.width()/2 { // a narrow page has no room for it
		own = 0
	}
	l = strings.TrimLeft(l, " ")
	indent += own
	room := p.width() - indent
	if code, comment := cutComment(l); shown(l) > room && comment != "" {
		if l = code + "  " + comment; shown(l) > room {
			mark, words, _ := strings.Cut(comment, " ")
			for _, piece := range p.wrap(words, room-len(mark)-1) {
				p.code(indent, mark+" "+piece)
			}
			l = code
		}
	}
	if shown(l) <= room {
		p.code(indent, l)
		return
	}
	for i, piece := range p.wrap(l, room-2) {
		p.code(indent+2*min(i, 1), piece)
	}
}

// code writes a line of code that fits.
func (p *printer) code(indent int, l string) {
	p.line(strings.Repeat(" ", indent) + p.paint(cyan, l))
}

// cutComment divides a line of code from the comment behind it.
func cutComment(l string) (code, comment string) {
	for _, mark := range []string{"  # ", "  // "} {
		if i := strings.Index(l, mark); i > 0 {
			return strings.TrimRight(l[:i], " "), strings.TrimLeft(l[i:], " ")
		}
	}
	return l, ""
}

// A block is a paragraph, or lines of code.
type block struct {
	code  bool
	lines []string
}

// blocksOf divides a text into paragraphs and code, whose lines are indented by four blanks.
func blocksOf(text string) (out []block) {
	const indent = "    "
	fresh := true
	for _, l := range strings.Split(strings.Trim(text, "\n"), "\n") {
		code := strings.HasPrefix(l, indent)
		if strings.TrimSpace(l) == "" {
			fresh = true
			continue
		}
		if n := len(out); n == 0 || out[n-1].code != code || fresh && !code {
			out = append(out, block{code: code})
		} else if fresh && code {
			out[n-1].lines = append(out[n-1].lines, "")
		}
		fresh = false
		last := &out[len(out)-1]
		if code {
			l = strings.TrimPrefix(l, indent)
		} else {
			l = strings.TrimSpace(l)
		}
		last.lines = append(last.lines, l)
	}
	return out
}
