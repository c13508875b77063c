// Package tables is the shelf of tables: one file a table, each of them rows computed from
// the facts of one or several captures. A table never formats: units and writers do.
package tables

import (
	"fmt"

	"lacuna/internal/base/unit"
	"lacuna/internal/timeline/facts"
	"lacuna/internal/timeline/model"
)

// A Table is a report of rows. Its document is part of it: `stats --help NAME` and docs/tables are made from these
// fields.
type Table struct {
	Name  string
	Title string // one line: what a row is
	Doc   string // what is counted, the formula, the order of rows
	// whose report it equals, if any: "nsys stats cuda_gpu_kern_sum", "HTA get_temporal_breakdown"
	Origin  string
	Columns []Column // when they do not depend on arguments
	// KernelNames is the column of kernels' names, which people see without namespaces and arguments; "": none.
	KernelNames string
	First       []string                    // the columns that stay longest where the page is narrow; nil: all alike
	Args        []Arg                       // what may follow its name: cuda_gpu_kern_sum:base
	Needs       model.Parts                 // what it looks at
	Spares      model.Parts                 // of Needs, what a capture may lack: there are rows without it
	ArgsNeed    func(args Args) model.Parts // nil, or what args need beyond Needs
	BySteps     bool                        // it is taken over the steps, so that --steps and --step-range matter
	ManyRanks   bool                        // Fill takes all inputs at once; else it is called once for each
	Fill        func(in []*facts.Facts, args Args, out *Rows) error
}

// A Column of a Table.
type Column struct {
	Name string // as it is printed, without unit
	Unit unit.Unit
	Doc  string
}

// An Arg is a word that may follow a table's name, behind a colon.
type Arg struct {
	Name  string
	Value string // "": a flag; else what its value means, given as NAME=VALUE
	Doc   string
}

// Args is the words given, by name.
type Args map[string]string

// Has says whether the word was given.
func (a Args) Has(name string) bool { _, ok := a[name]; return ok }

// A MissingError says that a capture lacks what a table needs.
type MissingError struct {
	Table string
	Part  string // what is missing, in words: "kernels", "NVTX ranges"
	Try   string // a command that records it
}

func (e *MissingError) Error() string {
	text := fmt.Sprintf("%s: the capture has no %s", e.Table, e.Part)
	if e.Try != "" {
		text += "; " + e.Try
	}
	return text
}

// An ArgError says that an argument has a value that the table does not know.
type ArgError struct {
	Table, Arg, Value string
	Want              string // what it may be, in words
}

func (e *ArgError) Error() string {
	return fmt.Sprintf("%s: %s=%s: not known; give %s", e.Table, e.Arg, e.Value, e.Want)
}

// Rows is what a table was filled with.
type Rows struct {
	Columns []Column // Table.Columns unless Fill sets others
	Rows    [][]Cell
	Notes   []string // sentences for people, printed under the table
}

// Add appends a row. It panics if the number of cells is wrong: that is a mistake in the table.
func (r *Rows) Add(cells ...Cell) {
	if len(cells) != len(r.Columns) {
		panic(fmt.Sprintf("tables: %d cells for %d columns", len(cells), len(r.Columns)))
	}
	r.Rows = append(r.Rows, cells)
}

// A Sheet is a table that was filled.
type Sheet struct {
	Table *Table
	Rows  *Rows
	Input string // the capture it is of, where there are several; else ""
}

// CellKind is what a Cell holds.
type CellKind uint8

// The kinds of cells.
const (
	Null CellKind = iota
	TextCell
	IntCell
	FloatCell
)

// A Cell is one value. The zero Cell is absent: it prints as nothing, never as 0.
type Cell struct {
	Kind  CellKind
	Int   int64
	Float float64
	Text  string
}

// Int makes a cell of an integer.
func Int[T ~int | ~int32 | ~int64 | ~uint16 | ~uint32 | ~uint64 | ~uint8](v T) Cell {
	return Cell{Kind: IntCell, Int: int64(v)}
}

// Float makes a cell of a float.
func Float(v float64) Cell { return Cell{Kind: FloatCell, Float: v} }

// Str makes a cell of text.
func Str(s string) Cell { return Cell{Kind: TextCell, Text: s} }
