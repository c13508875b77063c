// Package kernelpages prints kernel reports as Nsight Compute prints them: the cells of its pages, the same to the last
// digit, so that a script which reads those can read these. What is derived from the counters is in package kernel.
package kernelpages

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"

	"lacuna/internal/kernel/cubin"
	"lacuna/internal/kernel/profile"
)

// A Page is one of Nsight Compute's.
type Page struct {
	Name  string
	Doc   string
	Views []string // what Options.View may be, the default first; nil: it has none

	csv  func(s *sheet, r *profile.Report, opt Options) error
	text func(w *bufio.Writer, r *profile.Report, opt Options) error
}

// Options says how a page is printed.
type Options struct {
	Units  string // "auto" (default): prefixes as ncu chooses them; "base": none
	View   string // of the source page
	Format string // "text" (default) for people, "csv" as ncu --csv
	Width  int    // columns of the terminal, for text; 0: 80

	Disassembler *cubin.Disassembler // for the text of machine code on the source page; nil: names of operations only
}

// Base says that units are not scaled.
func (o Options) base() bool { return o.Units == "base" }

// Write prints a page of a report.
func Write(w io.Writer, r *profile.Report, page string, opt Options) error {
	p := Find(page)
	if p == nil {
		return fmt.Errorf("page %q: there is none of that name; pages are %s", page, strings.Join(Names(), ", "))
	}
	if err := opt.check(p); err != nil {
		return err
	}
	out := bufio.NewWriterSize(w, 1<<16)
	var err error
	if opt.Format == "csv" {
		err = p.csv(&sheet{w: out}, r, opt)
	} else {
		err = p.text(out, r, opt)
	}
	if err != nil {
		return fmt.Errorf("%s: page %s: %w", r.Path, page, err)
	}
	return out.Flush()
}

// check refuses what the page does not know, and fills in defaults.
func (o *Options) check(p *Page) error {
	if o.Width <= 0 {
		o.Width = 80
	}
	if o.Units != "" && o.Units != "auto" && o.Units != "base" {
		return fmt.Errorf("units %q: want auto or base", o.Units)
	}
	if o.Format != "" && o.Format != "text" && o.Format != "csv" {
		return fmt.Errorf("format %q: want text or csv", o.Format)
	}
	switch {
	case o.View == "" && p.Views != nil:
		o.View = p.Views[0]
	case o.View != "" && p.Views == nil:
		return fmt.Errorf("view %q: page %s has no views; leave it out", o.View, p.Name)
	case p.Views != nil && !slices.Contains(p.Views, o.View):
		return fmt.Errorf("view %q: page %s has the views %s", o.View, p.Name, strings.Join(p.Views, ", "))
	}
	return nil
}

// Find is the page of that name, or nil.
func Find(name string) *Page {
	for _, p := range All {
		if p.Name == name {
			return p
		}
	}
	return nil
}

// Names is the names of all pages.
func Names() []string {
	var names []string
	for _, p := range All {
		names = append(names, p.Name)
	}
	return names
}

// A sheet is CSV as ncu writes it: every field in quotes, quotes in it doubled, lines end in \n.
type sheet struct {
	w    *bufio.Writer
	some bool // the line has a field
}

func (s *sheet) field(text string) {
	if s.some {
		s.w.WriteByte(',')
	}
	s.some = true
	s.w.WriteByte('"')
	for {
		before, after, found := strings.Cut(text, `"`)
		s.w.WriteString(before)
		if !found {
			break
		}
		s.w.WriteString(`""`)
		text = after
	}
	s.w.WriteByte('"')
}

// bare is a field in quotes whose own quotes are left as they are, as ncu prints lines of source.
func (s *sheet) bare(text string) {
	s.blank()
	s.w.WriteByte('"')
	s.w.WriteString(text)
	s.w.WriteByte('"')
}

// blank is a field without quotes, which ncu leaves at the end of some lines.
func (s *sheet) blank() {
	if s.some {
		s.w.WriteByte(',')
	}
	s.some = true
}

func (s *sheet) end() {
	s.w.WriteByte('\n')
	s.some = false
}

func (s *sheet) line(fields ...string) {
	for _, f := range fields {
		s.field(f)
	}
	s.end()
}

// title is a line of its own, without quotes.
func (s *sheet) title(text string) {
	s.w.WriteString(text)
	s.w.WriteByte('\n')
}
