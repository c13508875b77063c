// Package page holds an answer as a document: headings, prose with marked numbers and names, rows, bars, code and
// advice as data. What an answer says is decided once, in pages; how it looks is decided once a form, here: text for
// a terminal, Markdown for a pull request, HTML for a browser or a mail.
//
// Texts may come out of hostile files. A page holds them as they are; every form escapes what it prints.
package page

// A Page is one answer.
type Page struct {
	Title  Text // of the document: Markdown's and HTML's first heading; the text form begins without it
	Blocks []Block
}

// Add appends blocks.
func (p *Page) Add(blocks ...Block) { p.Blocks = append(p.Blocks, blocks...) }

// A Block is one part of a page. The types below are all there are: each form prints every one of them.
type Block interface{ block() }

// A Section is a heading with what belongs to it.
type Section struct {
	Title Text
	Level int  // 1: of the page; 2: of a part of it
	Fold  bool // Markdown and HTML show it on a click
	// OneLine shortens the title to one line of the text form.
	OneLine bool
	// InHead puts the title into the head of the first column of the table that follows, where text is laid out in
	// columns.
	InHead bool
	Blocks []Block
}

// Prose is a paragraph, or with a lead a line of a list or of labelled lines.
type Prose struct {
	Lead   string // before the first line: "- ", "before  "
	Indent int    // columns before the lead
	Hang   int    // columns from Indent to the lines after the first; 0: as wide as the lead
	Text   Text
	Style  Style
	List   int  // Markdown and HTML make it a line of a list, so many levels deep; text sets no mark. 0: they do not
	Quote  bool // set apart in Markdown and HTML: a warning
	Small  bool // of less weight than what stands above, in Markdown and HTML

	LeadStyle Style // of the lead's signs
	OneLine   bool  // the text form shortens it to one line
	Elsewhere bool  // Markdown and HTML say it in another place: in the title, in a column
}

// An Item is a numbered or marked entry with a title and a body of its own.
type Item struct {
	Mark  string // "1" or "-"
	Title Text
	Body  []Block // indented under the title
}

// A Fold is detail that the text form leaves out unless it is open; Markdown and HTML show it on a click, or at once if
// it is open.
type Fold struct {
	Title  string
	Open   bool
	Blocks []Block
}

// A Gap is an empty line of the text form. Other forms set paragraphs apart by themselves.
type Gap struct{}

// A Table has rows of cells under columns.
type Table struct {
	Columns []Column
	Rows    [][]Text
	// Wide is a table of a capture's rows: no indent, texts give way before numbers go, what is not shown is said.
	Wide bool
	// Sentences says that the last column is sentences, which go on under themselves, and the head a row as the others.
	Sentences bool
	More      string // what was left out of the rows; "": nothing
	// Folded says of rows, by index, that Markdown and HTML show them on a click, under FoldTitle.
	Folded    []bool
	FoldTitle string
	Notes     []Text // what a reader must know of the rows
}

// A Column is a column of a table.
type Column struct {
	Head  string // short, for columns of text
	Name  string // for Markdown and HTML; "": as Head
	Short string // where it is not shown; "": as Name
	Right bool   // numbers
	// Drop: where the page is too narrow, columns go in the order of this number, largest first. 0: stays; in a wide
	// table it goes after those that have one.
	Drop  int
	Flex  bool // is shortened in the middle to the room that is left
	Most  int  // columns of text that a cell gets; 0: all it needs
	Extra bool // only Markdown and HTML have room for it
}

// name is the column's head where there is room.
func (c Column) name() string {
	if c.Name != "" {
		return c.Name
	}
	return c.Head
}

// short is the column's name in a sentence.
func (c Column) short() string {
	if c.Short != "" {
		return c.Short
	}
	return c.name()
}

// parts is a table's rows that are shown at once and those that are folded.
func (x Table) parts() (shown, folded Table) {
	shown, folded = x, Table{Columns: x.Columns}
	if x.FoldTitle == "" {
		return shown, folded
	}
	shown.Rows = nil
	for i, row := range x.Rows {
		if i < len(x.Folded) && x.Folded[i] {
			folded.Rows = append(folded.Rows, row)
		} else {
			shown.Rows = append(shown.Rows, row)
		}
	}
	return shown, folded
}

// noRows is what a wide table without rows says: that it was looked at.
const noRows = "(no rows)"

// A Breakdown is a whole and its parts: a bar, and a row for each part.
type Breakdown struct {
	Parts []Part
	Total Part
	Of    string // what shares are of: "step"
}

// A Part is a part of a whole, or with Inner a part of the part above it.
type Part struct {
	Name   Text
	Block  string // how it looks in the bar; "": it has no place there
	ASCII  string // the same in ASCII
	Style  Style
	Value  float64 // milliseconds
	Figure string  // the value for people
	Share  string  // of the whole, in percent, for people
	Inner  bool
	Deeper bool // a part of the inner part before it
}

// A Spark is a series of values as heights.
type Spark struct {
	Values []float64
	Text   Text // beside it
}

// Meters are shares of 0 to 1, one below the other.
type Meters struct{ Rows []Meter }

// A Meter is one of them.
type Meter struct {
	Name   Text
	Share  float64
	Figure string // in percent
	Style  Style
	Note   Text
	Inner  bool // a part of the meter above
}

// Bars are values on one scale.
type Bars struct {
	Rows []Bar
	Unit string
}

// A Bar is one of them.
type Bar struct {
	Name   Text
	Value  float64
	Figure string
	Style  Style
}

// A Figure is a drawing. Its content is in the document beside it, or in Alt.
type Figure struct {
	Alt       string
	Drawing   Drawing
	Elsewhere bool // Markdown and HTML have it in a column of a table
}

// A Drawing draws itself in lines of text, and as SVG where it can.
type Drawing interface {
	// Lines is what is drawn, each line no wider than the layout, painted.
	Lines(l Layout) []string
	// SVG is the drawing as an svg element; "": Lines is all there is.
	SVG() string
}

// Code is lines to copy. In a narrow page a long line goes on in the next.
type Code struct {
	Indent int
	Lines  []string
}

// A Listing is lines of a source file, each behind what was counted of it.
type Listing struct {
	Counts []string // what they are: "waits %"; at most eight columns
	Lines  []Listed
}

// A Listed is a line of a listing.
type Listed struct {
	Counts []string // at most six columns each; "": none
	Number int
	Code   string
	Here   bool // the line that was asked for
}

// Commands are command lines to copy, whole however narrow the page.
type Commands struct {
	Indent int
	Prompt string
	Lines  []string
}

// An Example is prose with code in it: lines indented by four blanks are code.
type Example struct {
	Indent int
	Lead   string
	Text   string
}

// Fields are names and values.
type Fields struct{ List []Field }

// A Field is one of them.
type Field struct {
	Name  string
	Value Text
}

// A SourceLine is a place in a program with its text.
type SourceLine struct {
	Indent int
	Share  string // "" or in percent
	Where  string
	Note   string
	Code   string
	At     []Place
}

// Next is what to run next.
type Next struct{ List []Advice }

// An Advice is a command that is worth running, and what it shows.
type Advice struct{ Command, Why string }

func (Section) block()    {}
func (Prose) block()      {}
func (Item) block()       {}
func (Fold) block()       {}
func (Gap) block()        {}
func (Table) block()      {}
func (Breakdown) block()  {}
func (Spark) block()      {}
func (Meters) block()     {}
func (Bars) block()       {}
func (Figure) block()     {}
func (Code) block()       {}
func (Listing) block()    {}
func (Commands) block()   {}
func (Example) block()    {}
func (Fields) block()     {}
func (SourceLine) block() {}
func (Next) block()       {}
