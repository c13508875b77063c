// Package pagetest holds every form of a page to the page's content: what one form shows, all show.
package pagetest

import (
	"bytes"
	"fmt"
	"html"
	"regexp"
	"slices"
	"strings"
	"testing"

	"lacuna/internal/base/golden"
	"lacuna/internal/faces/page"
)

// Check prints a page in every form and fails where a form leaves something out.
func Check(t testing.TB, p *page.Page) {
	t.Helper()
	if len(contents("text", p.Blocks)) == 0 {
		t.Error("the page is empty")
	}
	checkText(t, p)
	for form, write := range forms(p) {
		var out bytes.Buffer
		if err := write(&out); err != nil {
			t.Fatal(err)
		}
		have := plain(form, out.String())
		if strings.Contains(have, "%!") {
			t.Errorf("%s: page.Sayf was given a value too few, too many or of another type:\n%s", form, out.String())
		}
		for _, s := range contents(form, p.Blocks) {
			if !strings.Contains(have, squeeze(page.Printable(s))) {
				t.Errorf("%s does not show %q", form, s)
			}
		}
	}
}

// checkText prints a page at many widths: no line is wider, but for commands to copy, and nothing of a file reaches the
// terminal raw.
func checkText(t testing.TB, p *page.Page) {
	t.Helper()
	const narrowest = 36
	for width := narrowest; width <= 200; width += 1 + width/40 {
		for _, ascii := range []bool{false, true} {
			var out bytes.Buffer
			if err := page.WriteText(&out, p, page.Layout{Width: width, ASCII: ascii,
				Unfold: width%2 == 0}); err != nil {
				t.Fatal(err)
			}
			for line := range strings.Lines(out.String()) {
				line = strings.TrimSuffix(line, "\n")
				if n := page.Shown(line); n > width && !isCommand(p.Blocks, line) {
					t.Errorf("width %d: a line has %d columns: %q", width, n, line)
				}
				if strings.ContainsFunc(line, func(r rune) bool {
					return r < ' ' || r == 0x202e || ascii &&
						r > 0x7e
				}) {
					t.Errorf("width %d, ASCII %v: raw character in %q", width, ascii, line)
				}
			}
		}
	}
}

// isCommand says whether a line is a command to copy, which is never cut.
func isCommand(list []page.Block, line string) bool {
	for _, b := range list {
		switch b := b.(type) {
		case page.Commands:
			if slices.ContainsFunc(b.Lines, func(l string) bool { return strings.Contains(line, page.Printable(l)) }) {
				return true
			}
		case page.Next: // a word of a command is never broken
			for _, a := range b.List {
				for _, word := range strings.Fields(a.Command) {
					if len(word) > 30 && strings.Contains(line, word) {
						return true
					}
				}
			}
		case page.Section:
			if isCommand(b.Blocks, line) {
				return true
			}
		case page.Item:
			if isCommand(b.Body, line) {
				return true
			}
		case page.Fold:
			if isCommand(b.Blocks, line) {
				return true
			}
		}
	}
	return false
}

// Goldens checks a page and compares its forms with golden files: NAME_80.txt, NAME_40_ascii.txt and NAME.md.
func Goldens(t *testing.T, name string, p *page.Page) {
	t.Helper()
	Check(t, p)
	file(t, name+"_80.txt", func(out *bytes.Buffer) error { return page.WriteText(out, p, page.Layout{Width: 80}) })
	file(t, name+"_40_ascii.txt", func(out *bytes.Buffer) error {
		return page.WriteText(out, p, page.Layout{Width: 40, ASCII: true})
	})
	file(t, name+".md", func(out *bytes.Buffer) error { return page.WriteMarkdown(out, p) })
}

// HTML compares a page's HTML with NAME.html: of a few answers, that have every block between them.
func HTML(t *testing.T, name string, p *page.Page) {
	t.Helper()
	file(t, name+".html", func(out *bytes.Buffer) error { return page.WriteHTML(out, p) })
}

func file(t *testing.T, name string, write func(out *bytes.Buffer) error) {
	t.Helper()
	var out bytes.Buffer
	if err := write(&out); err != nil {
		t.Fatal(err)
	}
	golden.File(t, "testdata/"+name, out.String())
}

func forms(p *page.Page) map[string]func(*bytes.Buffer) error {
	return map[string]func(*bytes.Buffer) error{
		"text": func(out *bytes.Buffer) error {
			return page.WriteText(out, p, page.Layout{Width: 1 << 20, Unfold: true})
		},
		"markdown": func(out *bytes.Buffer) error { return page.WriteMarkdown(out, p) },
		"html":     func(out *bytes.Buffer) error { return page.WriteHTML(out, p) },
	}
}

// tags is what Markdown and HTML add.
var tags = regexp.MustCompile(`<[^>]*>|\*\*`)

// plain is the words of a form without its signs.
func plain(form, s string) string {
	if form != "text" {
		s = html.UnescapeString(tags.ReplaceAllString(s, " "))
	}
	return squeeze(s)
}

// squeeze takes blanks out: forms break lines and set signs where they like.
func squeeze(s string) string { return strings.Join(strings.Fields(s), "") }

// ends is what every form shows of a span: all, or of a name or a text that is too long the two ends.
func ends(s page.Span) []string {
	const long, end = 64, 24
	name := s.Max > 0 || s.Kind == page.Name || s.Kind == page.Short || s.Kind == page.Long || s.Kind == page.Path
	switch r := []rune(page.Printable(s.Text)); {
	case strings.TrimSpace(s.Text) == "":
		return nil
	case name && len(r) > long, len(s.Text) > 4096:
		return []string{string(r[:end]), string(r[len(r)-end:])}
	}
	return []string{s.Text}
}

// contents is every piece of text of blocks that a form is to show: text has no icons and no columns for which it has
// no room.
func contents(form string, list []page.Block) (out []string) {
	add := func(texts ...page.Text) {
		for _, t := range texts {
			for _, s := range t {
				if form != "text" || s.Kind != page.Icon {
					out = append(out, ends(s)...)
				}
			}
		}
	}
	word := func(words ...string) {
		for _, w := range words {
			add(page.T(w))
		}
	}
	for _, b := range list {
		switch b := b.(type) {
		case page.Section:
			if inner := contents(form, b.Blocks); len(inner) > 0 {
				add(b.Title)
				out = append(out, inner...)
			}
		case page.Prose:
			word(strings.Trim(b.Lead, "-*● "))
			add(b.Text)
		case page.Item:
			add(b.Title)
			out = append(out, contents(form, b.Body)...)
		case page.Fold:
			out = append(out, contents(form, b.Blocks)...)
		case page.Table:
			for _, row := range b.Rows {
				for i, cell := range row {
					if form != "text" || !b.Columns[i].Extra {
						add(cell)
					}
				}
			}
			if b.More != "" {
				word(strings.TrimSuffix(b.More, ".")[1:]) // a sentence begins with a capital letter
			}
			add(b.Notes...)
		case page.Breakdown:
			for _, p := range append(b.Parts[:len(b.Parts):len(b.Parts)], b.Total) {
				add(p.Name)
				word(p.Figure, p.Share)
			}
		case page.Spark:
			add(b.Text)
		case page.Meters:
			for _, r := range b.Rows {
				add(r.Name, r.Note)
				word(r.Figure)
			}
		case page.Bars:
			for _, r := range b.Rows {
				add(r.Name)
				word(r.Figure)
			}
		case page.Code:
			word(b.Lines...)
		case page.Listing:
			word(b.Counts...)
			for _, l := range b.Lines {
				word(l.Counts...)
				word(fmt.Sprint(l.Number), l.Code)
			}
		case page.Commands:
			word(b.Lines...)
		case page.Example:
			for _, l := range strings.Split(b.Text, "\n") {
				word(l)
			}
		case page.Fields:
			for _, f := range b.List {
				if !f.Value.Empty() {
					word(f.Name)
					add(f.Value)
				}
			}
		case page.SourceLine:
			word(b.Share, b.Where, b.Note, b.Code)
		case page.Next:
			for _, a := range b.List {
				word(a.Command, a.Why)
			}
		case page.Figure:
			if b.Drawing.SVG() == "" {
				for _, l := range b.Drawing.Lines(page.Layout{}) {
					word(strings.Fields(l)...)
				}
			}
		case page.Gap:
		default:
			panic(fmt.Sprintf("pagetest: %T is not known", b))
		}
	}
	return out
}
