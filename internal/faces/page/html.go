package page

import (
	"cmp"
	_ "embed"
	"html"
	"io"
	"strconv"
	"strings"
)

//go:embed page.css
var css string

// WriteHTML writes a page as one self-contained document without scripts.
func WriteHTML(w io.Writer, p *Page) error {
	h := &hypertext{}
	title := cmp.Or(Printable(p.Title.String()), "lacuna")
	h.raw("<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" " +
		"content=\"width=device-width\">\n")
	h.raw("<title>" + html.EscapeString(title) + "</title>\n<style>\n" + css + "</style>\n<main>\n")
	if !p.Title.Empty() {
		h.raw("<h1>" + h.inline(p.Title) + "</h1>\n")
	}
	h.blocks(p.Blocks)
	h.raw("</main>\n</html>\n")
	_, err := io.WriteString(w, h.b.String())
	return err
}

// A hypertext gathers elements. Lines of a list that follow each other share one ul element.
type hypertext struct {
	b    strings.Builder
	list bool
}

func (h *hypertext) raw(s string) { h.b.WriteString(s) }

// text escapes a text.
func (h *hypertext) text(s string) string { return html.EscapeString(Layout{}.Clean(s)) }

// element writes an element around inner, which is HTML. class may be "".
func (h *hypertext) element(name, class, inner string) {
	h.closeList()
	if class != "" {
		class = ` class="` + class + `"`
	}
	h.raw("<" + name + class + ">" + inner + "</" + name + ">\n")
}

func (h *hypertext) closeList() {
	if h.list {
		h.raw("</ul>\n")
		h.list = false
	}
}

// listItem writes a line of a list, so many levels deep.
func (h *hypertext) listItem(level int, inner string) {
	if !h.list {
		h.raw("<ul>\n")
		h.list = true
	}
	class := ""
	if level > 1 {
		class = ` class="item"`
	}
	h.raw("<li" + class + ">" + inner + "</li>\n")
}

func (h *hypertext) blocks(list []Block) {
	for _, b := range list {
		h.block(b)
	}
	h.closeList()
}

func (h *hypertext) block(b Block) {
	switch b := b.(type) {
	case Section:
		h.section(b)
	case Prose:
		h.prose(b)
	case Item:
		h.item(b)
	case Fold:
		h.fold(h.text(b.Title), b.Open, b.Blocks)
	case Table:
		h.table(b)
	case Breakdown:
		h.breakdown(b)
	case Spark:
		h.element("p", "", "<span class=\"spark\">"+Heights(b.Values, 100)+"</span> "+h.inline(b.Text))
	case Meters:
		h.meters(b)
	case Bars:
		h.bars(b)
	case Figure:
		h.figure(b)
	case Code:
		h.pre(b.Lines)
	case Listing:
		h.pre(b.lines(Layout{}, maxCleanBytes))
	case Commands:
		h.pre(b.Lines)
	case Example:
		h.example(b)
	case Fields:
		h.fields(b)
	case SourceLine:
		h.sourceLine(b)
	case Next:
		h.next(b)
	}
}

func (h *hypertext) item(x Item) {
	mark := ""
	if x.Mark != "-" {
		mark = h.text(x.Mark) + " "
	}
	h.element("h4", "", mark+h.inline(x.Title))
	h.raw("<div class=\"item\">\n")
	h.blocks(x.Body)
	h.raw("</div>\n")
}

func (h *hypertext) section(s Section) {
	if len(s.Blocks) == 0 {
		return
	}
	if s.Fold {
		h.fold(h.inline(s.Title), false, s.Blocks)
		return
	}
	h.element("h"+strconv.Itoa(1+max(s.Level, 1)), "", h.inline(s.Title))
	h.blocks(s.Blocks)
}

func (h *hypertext) fold(summary string, open bool, list []Block) {
	if len(list) == 0 {
		return
	}
	h.closeList()
	h.raw("<details" + openAttribute(open) + "><summary>" + summary + "</summary>\n")
	h.blocks(list)
	h.raw("</details>\n")
}

// openAttribute is what makes a fold open.
func openAttribute(open bool) string {
	if open {
		return " open"
	}
	return ""
}

// inline is a text as elements. Where it can be seen stands in data attributes.
func (h *hypertext) inline(x Text) string {
	var b strings.Builder
	for _, s := range x {
		text := h.text(s.Text)
		switch s.Kind {
		case deeper:
			b.WriteString("&emsp;")
		case Plain, Icon:
			if at := places(s.At); at != "" {
				text = "<span" + at + ">" + text + "</span>"
			}
			b.WriteString(text)
		case Number:
			b.WriteString("<b class=\"n\"" + places(s.At) + ">" + text + "</b>")
		case Strong:
			b.WriteString("<strong>" + text + "</strong>")
		default:
			b.WriteString("<code" + places(s.At) + ">" + text + "</code>")
		}
	}
	return b.String()
}

// places is the attributes of the first place.
func places(at []Place) string {
	if len(at) == 0 {
		return ""
	}
	p := at[0]
	out := ` data-input="` + strconv.Itoa(p.Input) + `"`
	if p.Device != nil {
		out += ` data-device="` + strconv.FormatUint(uint64(*p.Device), 10) + `"`
	}
	if p.Stream != nil {
		out += ` data-stream="` + strconv.FormatUint(uint64(*p.Stream), 10) + `"`
	}
	if p.StartNs != nil {
		out += ` data-start="` + strconv.FormatInt(*p.StartNs, 10) + `"`
	}
	if p.EndNs != nil {
		out += ` data-end="` + strconv.FormatInt(*p.EndNs, 10) + `"`
	}
	if p.Kernel != "" {
		out += ` data-kernel="` + html.EscapeString(Layout{}.Clean(p.Kernel)) + `"`
	}
	return out
}

// styleClass is the class of a style.
func styleClass(s Style) string {
	return map[Style]string{Bold: "bold", Dim: "dim", Red: "bad", Green: "good", Magenta: "warn", Cyan: "info",
		Alarm: "bad bold"}[s]
}

func (h *hypertext) prose(p Prose) {
	if p.Text.Empty() || p.Elsewhere {
		return
	}
	s := h.inline(p.Text)
	level := p.List
	lead := strings.TrimSpace(p.Lead)
	switch {
	case p.Quote && lead == "-":
	case lead == "-" || lead == "*" || lead == "●":
		level = max(level, 1)
	case lead != "":
		h.listItem(1, "<span class=\"lead\">"+h.text(lead)+"</span> "+s)
		return
	}
	if level > 0 {
		h.listItem(level, s)
		return
	}
	class := styleClass(p.Style)
	switch {
	case p.Quote:
		h.element("blockquote", class, s)
	case p.Small:
		h.element("p", strings.TrimSpace("small "+class), s)
	default:
		h.element("p", class, s)
	}
}

func (h *hypertext) table(x Table) {
	shown, folded := x.parts()
	h.rows(shown)
	if len(folded.Rows) > 0 {
		h.fold(h.text(x.FoldTitle), false, []Block{folded})
	}
	if len(x.Rows) == 0 && !x.Wide {
		return
	}
	if len(x.Rows) == 0 {
		h.element("p", "dim", noRows)
	}
	if x.More != "" {
		h.element("p", "small", h.inline(Sentence(T(x.More))))
	}
	for _, n := range x.Notes {
		h.element("p", "small", h.inline(n))
	}
}

// rows writes a table without its remarks.
func (h *hypertext) rows(x Table) {
	if len(x.Rows) == 0 {
		return
	}
	h.closeList()
	h.raw("<div class=\"wide\"><table><thead><tr>")
	for _, c := range x.Columns {
		h.raw("<th" + right(c.Right) + ">" + h.text(c.name()) + "</th>")
	}
	h.raw("</tr></thead><tbody>\n")
	for _, row := range x.Rows {
		h.raw("<tr>")
		for i, c := range x.Columns {
			cell := ""
			if i < len(row) {
				cell = h.inline(row[i])
			}
			h.raw("<td" + right(c.Right) + ">" + cell + "</td>")
		}
		h.raw("</tr>\n")
	}
	h.raw("</tbody></table></div>\n")
}

func right(yes bool) string {
	if yes {
		return ` class="r"`
	}
	return ""
}

// pre writes lines as they are.
func (h *hypertext) pre(lines []string) {
	if len(lines) == 0 {
		return
	}
	var clean []string
	for _, l := range lines {
		clean = append(clean, h.text(l))
	}
	h.element("pre", "", strings.Join(clean, "\n"))
}

func (h *hypertext) example(e Example) {
	lead := e.Lead
	for _, b := range partsOf(e.Text) {
		if b.code {
			h.pre(b.lines)
			continue
		}
		h.element("p", "", h.text(lead+strings.Join(b.lines, " ")))
		lead = ""
	}
}

func (h *hypertext) fields(f Fields) {
	h.closeList()
	h.raw("<dl>\n")
	for _, x := range f.List {
		if !x.Value.Empty() {
			h.raw("<dt>" + h.text(x.Name) + "</dt><dd>" + h.inline(x.Value) + "</dd>\n")
		}
	}
	h.raw("</dl>\n")
}

func (h *hypertext) sourceLine(x SourceLine) {
	s := ""
	if x.Share != "" {
		s = "<b class=\"n\">" + h.text(x.Share) + " %</b> "
	}
	s += "<code>" + h.text(x.Where) + "</code>"
	if x.Note != "" {
		s += " <span class=\"dim\">" + h.text(x.Note) + "</span>"
	}
	if x.Code != "" {
		s += " <code>" + h.text(x.Code) + "</code>"
	}
	h.listItem(1, s)
}

func (h *hypertext) next(n Next) {
	if len(n.List) == 0 {
		return
	}
	h.element("h2", "", "Next")
	for _, a := range n.List {
		h.listItem(1, "<code>"+h.text(a.Command)+"</code>: "+h.text(a.Why))
	}
}
