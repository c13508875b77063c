package evtext

import (
	"reflect"
	"slices"
	"strconv"
	"strings"

	"lacuna/internal/timeline/model"
)

// A table is one table of the model, or the rows of one dimension, with the text form of its columns.
type table struct {
	name    string
	keyword string
	cols    []*column
	rest    *column // the rest of the line, or nil
	number  *column // the bare number behind the keyword, or nil

	startNs, durNs *[]int64 // nil where the table has none; an instant has only startNs
	times          []*column

	find *index // Parse: the columns by their spelling

	dims reflect.Value // of a dimension: the slice of structs that the columns belong to
}

// newTable is the text form of a model table.
func newTable(e *env, m model.Table) *table {
	t := &table{name: m.Name, keyword: keywordOf(m.Name)}
	for _, c := range m.Columns {
		t.add(e, c.Name, c.Slice)
	}
	return t
}

// newDims is the text form of a slice of structs (addressable): its fields seen as columns.
func newDims(e *env, name string, dims reflect.Value) *table {
	t := &table{name: name, keyword: keywordOf(name), dims: dims}
	n, typ := dims.Len(), dims.Type().Elem()
	for f := range typ.NumField() {
		field := typ.Field(f)
		if k := field.Type.Kind(); k == reflect.Slice || k == reflect.Struct {
			continue // Info.Meta and Info.Tool have lines of their own
		}
		slice := reflect.New(reflect.SliceOf(field.Type)).Elem()
		slice.Set(reflect.MakeSlice(slice.Type(), n, n))
		for row := range n {
			slice.Index(row).Set(dims.Index(row).Field(f))
		}
		t.add(e, field.Name, slice)
		t.cols[len(t.cols)-1].core = true
	}
	return t
}

// store puts the columns of a dimension back into its structs.
func (t *table) store() {
	n := t.len()
	if n == 0 {
		return
	}
	out := reflect.MakeSlice(t.dims.Type(), n, n)
	for row := range n {
		for _, c := range t.cols {
			out.Index(row).FieldByName(c.name).Set(c.slice.Index(row))
		}
	}
	t.dims.Set(out)
}

func (t *table) add(e *env, name string, slice reflect.Value) {
	c := newColumn(e, t.name, name, slice)
	t.cols = append(t.cols, c)
	rest, ok := restColumn[t.name]
	if !ok {
		rest = "Name"
	}
	switch name {
	case rest:
		t.rest = c
	case numberColumn[t.name]:
		t.number = c
	case "StartNs", "TimeNs":
		t.startNs = slice.Addr().Interface().(*[]int64)
		t.times = append(t.times, c)
	case "DurNs":
		t.durNs = slice.Addr().Interface().(*[]int64)
		t.times = append(t.times, c)
	}
}

// column is the column of this name; it must exist.
func (t *table) column(name string) *column {
	return t.cols[slices.IndexFunc(t.cols, func(c *column) bool { return c.name == name })]
}

// len is the number of rows.
func (t *table) len() int {
	n := 0
	for _, c := range t.cols {
		n = max(n, c.len())
	}
	return n
}

// An attribute is one or several columns that are written together.
type attribute struct {
	form byte // 'k' key=value, 's' s7, 'w' HtoD, 'x' grid=1x2x3, '>' pageable->device
	key  string
	cols []*column
}

// attributes is what is written between keyword and name, words first. Columns that belong
// together are apart if one of them is absent.
func (t *table) attributes(present func(*column) bool) []attribute {
	var words, others []attribute
	for i := 0; i < len(t.cols); i++ {
		c := t.cols[i]
		if c == t.rest || c == t.number || t.isTime(c) || !present(c) {
			continue
		}
		have := func(names ...string) bool {
			for j, name := range names {
				if i+j >= len(t.cols) || t.cols[i+j].name != name || !present(t.cols[i+j]) {
					return false
				}
			}
			return true
		}
		stem := strings.TrimSuffix(c.name, "X")
		switch {
		case stem != c.name && have(stem+"X", stem+"Y", stem+"Z"):
			others = append(others, attribute{'x', keyOf(stem), t.cols[i : i+3]})
			i += 2
		case have("Src", "Dst"):
			words = append(words, attribute{'>', "", t.cols[i : i+2]})
			i++
		case c.word:
			words = append(words, attribute{'w', c.key, t.cols[i : i+1]})
		case c.short != "":
			others = append(others, attribute{'s', c.short, t.cols[i : i+1]})
		default:
			others = append(others, attribute{'k', c.key, t.cols[i : i+1]})
		}
	}
	return append(words, others...)
}

func (t *table) isTime(c *column) bool {
	for _, x := range t.times {
		if x == c {
			return true
		}
	}
	return false
}

// shows says whether row prints the attribute.
func (a *attribute) shows(row int) bool {
	for _, c := range a.cols {
		if c.shown || !c.isDefault(row) {
			return true
		}
	}
	return false
}

// print writes the attribute of a row.
func (a *attribute) print(b []byte, row int) []byte {
	b = append(b, ' ')
	c := a.cols[0]
	switch a.form {
	case 's':
		b = append(b, a.key...)
	case 'w':
		if w := c.wordOf(row); w != "" {
			return append(b, w...)
		}
		b = append(append(b, a.key...), '=')
	case '>':
		b = append(c.print(b, row), "->"...)
		c = a.cols[1]
	case 'x':
		b = append(append(b, a.key...), '=')
		b = append(c.print(b, row), 'x')
		b = append(a.cols[1].print(b, row), 'x')
		c = a.cols[2]
	default:
		b = append(append(b, a.key...), '=')
	}
	return c.print(b, row)
}

// printTime writes when a row was.
func (t *table) printTime(b []byte, row int) []byte {
	if t.startNs == nil {
		return b
	}
	b = strconv.AppendInt(append(b, ' '), (*t.startNs)[row], 10)
	if t.durNs == nil {
		return b
	}
	b = append(b, '+')
	if d := (*t.durNs)[row]; d == model.OpenDurNs {
		return append(b, "open"...)
	}
	return strconv.AppendInt(b, (*t.durNs)[row], 10)
}
