package evtext

import (
	"bufio"
	"fmt"
	"io"
	"reflect"
	"strconv"

	"lacuna/internal/timeline/model"
)

// header is the first line of what Write makes; the number counts versions of the text form.
const header = "# lacuna trace, text form 1\n"

// IsText says whether a file that begins with head was made by Write.
func IsText(head []byte) bool {
	return len(head) >= len(header) && string(head[:len(header)]) == header
}

// Write writes t as text. The same trace gives the same bytes. It stops at w's first error.
func Write(w io.Writer, t *model.Trace) error {
	out := &writer{w: bufio.NewWriterSize(w, 1<<16)}
	out.text(header)
	e := &env{strings: &t.Strings}
	out.preface(e, t)
	for _, table := range e.tablesOf(t) {
		out.table(table)
		if out.err != nil {
			return out.err
		}
	}
	if out.err != nil {
		return out.err
	}
	return out.w.Flush()
}

// A writer keeps the first error, so that callers need not look after each line.
type writer struct {
	w   *bufio.Writer
	buf []byte
	err error
}

func (w *writer) text(s string) { w.line(append(w.buf[:0], s...)) }

func (w *writer) line(b []byte) {
	w.buf = b
	if w.err == nil {
		_, w.err = w.w.Write(b)
	}
}

// preface writes what a trace has once.
func (w *writer) preface(e *env, t *model.Trace) {
	empty := newTrace()
	info := t.Info
	info.Meta, info.Tool = nil, model.Tool{}
	if !reflect.DeepEqual(info, empty.Info) {
		w.table(e.once("Info", &t.Info))
	}
	for _, kv := range t.Info.Meta {
		b := strconv.AppendQuote(append(w.buf[:0], "meta "...), kv.Key)
		if kv.Value != "" {
			b = appendName(append(b, ' '), kv.Value)
		}
		w.line(append(b, '\n'))
	}
	if t.Info.Tool != (model.Tool{}) {
		w.table(e.once("Tool", &t.Info.Tool))
	}
	if t.Epoch != empty.Epoch {
		w.table(e.once("Epoch", &t.Epoch))
	}
	if t.Loaded != empty.Loaded {
		w.text(fmt.Sprintf("loaded %#x\n", uint64(t.Loaded)))
	}
	for _, l := range t.Losses.All() {
		b := appendValue(append(w.buf[:0], "loss "...), string(l.Code))
		b = strconv.AppendInt(append(b, ' '), l.Count, 10)
		if l.Example != "" {
			b = appendName(append(b, ' '), l.Example)
		}
		w.line(append(b, '\n'))
	}
	for _, text := range t.Warnings {
		w.line(append(strconv.AppendQuote(append(w.buf[:0], "warning "...), text), '\n'))
	}
}

// table writes every row of t.
func (w *writer) table(t *table) {
	n := t.len()
	if n == 0 {
		return
	}
	attrs := t.attributes(func(c *column) bool { return c.len() == n })
	w.columns(t, attrs, n)
	rest := t.rest
	if rest != nil && rest.len() != n {
		rest = nil
	}
	for row := 0; row < n && w.err == nil; row++ {
		b := append(w.buf[:0], t.keyword...)
		switch {
		case t.number != nil:
			b = t.number.print(append(b, ' '), row)
		case numbered[t.name]:
			b = strconv.AppendInt(append(b, ' '), int64(row)+1, 10)
		}
		for i := range attrs {
			if attrs[i].shows(row) {
				b = attrs[i].print(b, row)
			}
		}
		b = t.printTime(b, row)
		if rest != nil && !rest.isDefault(row) {
			b = rest.printName(append(b, ' '), row)
		}
		w.line(append(b, '\n'))
	}
}

// columns says which columns Parse could not tell from the rows: absent ones that it would
// make, and ones whose every value is the default.
func (w *writer) columns(t *table, attrs []attribute, n int) {
	if t.dims.IsValid() {
		return
	}
	mentioned := make(map[*column]bool)
	for i := range attrs {
		for row := range n {
			if attrs[i].shows(row) {
				for _, c := range attrs[i].cols {
					mentioned[c] = true
				}
				break
			}
		}
	}
	b := append(append(w.buf[:0], "columns "...), t.keyword...)
	said := false
	for _, c := range t.cols {
		if c == t.rest && c.len() == n {
			for row := 0; row < n && !mentioned[c]; row++ {
				mentioned[c] = !c.isDefault(row)
			}
		}
		sign := byte(0)
		switch present := c.len() == n; {
		case present && !c.core && !mentioned[c]:
			sign = '+'
		case !present && c.core:
			sign = '-'
		default:
			continue
		}
		b = append(append(b, ' ', sign), c.key...)
		said = true
	}
	if said {
		w.line(append(b, '\n'))
	}
}
