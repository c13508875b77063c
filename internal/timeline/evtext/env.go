package evtext

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strconv"

	"lacuna/internal/timeline/model"
)

// An env is what the cells of all tables share: the texts, and who may be referred to by number.
type env struct {
	strings *model.Strings
	values  []string // the text of a StringID as a value, made on first use
	names   []string // as a name

	// Of Parse; nil in Write, where a row's number is its place.
	thread  func(number uint32) (model.ThreadRow, error)
	process func(number uint32) (model.ProcessRow, error)
	refer   func(table string, number uint32) // remembers that a row must exist
}

// first is the dimensions that other dimensions point to.
var first = map[string]int{"Processes": -2, "Threads": -1}

// tablesOf is every table of t in the order in which they are written: those that others point to first.
func (e *env) tablesOf(t *model.Trace) []*table {
	v := reflect.ValueOf(t).Elem()
	var out []*table
	for i := range v.NumField() {
		if f := v.Field(i); f.Kind() == reflect.Slice && f.Type().Elem().Kind() == reflect.Struct {
			out = append(out, newDims(e, v.Type().Field(i).Name, f))
		}
	}
	slices.SortStableFunc(out, func(a, b *table) int { return cmp.Compare(first[a.name], first[b.name]) })
	var rows []*table
	for _, m := range t.Tables() {
		if x := newTable(e, m); numbered[m.Name] {
			out = append(out, x)
		} else {
			rows = append(rows, x)
		}
	}
	return append(out, rows...)
}

// once is a struct that a trace has one of, as a table of one row.
func (e *env) once(name string, p any) *table {
	v := reflect.ValueOf(p).Elem()
	dims := reflect.New(reflect.SliceOf(v.Type())).Elem()
	dims.Set(reflect.Append(dims, v))
	return newDims(e, name, dims)
}

func (e *env) stringCodec() codec[model.StringID] {
	return codec[model.StringID]{
		format: func(b []byte, id model.StringID) []byte { return append(b, e.cached(&e.values, id, appendValue)...) },
		name:   func(b []byte, id model.StringID) []byte { return append(b, e.cached(&e.names, id, appendName)...) },
		scan: func(s string) (model.StringID, error) {
			text, err := unquoted(s)
			return e.strings.Intern(text), err
		},
	}
}

// cached is the quoted text of id: names repeat, quoting them does not.
func (e *env) cached(cache *[]string, id model.StringID, quote func([]byte, string) []byte) string {
	if len(*cache) == 0 {
		*cache = make([]string, e.strings.Len())
	}
	text := e.strings.Text(id)
	if text == "" {
		return `""`
	}
	if (*cache)[id] == "" {
		(*cache)[id] = string(quote(nil, text))
	}
	return (*cache)[id]
}

// rowCodec is a row of another table by its number, which counts from 1.
func rowCodec[T ~uint32](resolve func(uint32) (T, error)) codec[T] {
	var c codec[T]
	c.format = func(b []byte, v T) []byte {
		if uint32(v) == none {
			return append(b, '-')
		}
		return strconv.AppendUint(b, uint64(v)+1, 10)
	}
	c.scan = func(s string) (T, error) {
		if s == "-" {
			return T(uint32(none)), nil
		}
		n, err := strconv.ParseUint(s, 10, 32)
		if err != nil || n == 0 {
			return 0, fmt.Errorf("%q is not a row's number, which counts from 1", clip(s))
		}
		return resolve(uint32(n))
	}
	return c
}

func refCodec[T ~uint32](e *env, table string) codec[T] {
	c := rowCodec(func(n uint32) (T, error) {
		e.refer(table, n)
		return T(n - 1), nil
	})
	c.def = T(uint32(none))
	return c
}

func (e *env) threadCodec(table, column string) codec[model.ThreadRow] {
	c := rowCodec(func(n uint32) (model.ThreadRow, error) { return e.thread(n) })
	if absent, _ := lookup(noThread, table, column); absent {
		c.def = model.NoThread
	} else if e.thread != nil {
		c.implied = func() model.ThreadRow { row, _ := e.thread(1); return row }
	}
	return c
}

func (e *env) processCodec() codec[model.ProcessRow] {
	c := rowCodec(func(n uint32) (model.ProcessRow, error) { return e.process(n) })
	if e.process != nil {
		c.implied = func() model.ProcessRow { row, _ := e.process(1); return row }
	}
	return c
}
