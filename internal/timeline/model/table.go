package model

import (
	"fmt"
	"reflect"
	"sync"
)

// A Table is one of a Trace's tables, seen as columns. It serves what must not know
// every table by name: the text form, checks, sorting and joining.
type Table struct {
	Name    string // "Kernels"
	Columns []Column
}

// A Column is one column of a Table. Slice is a pointer to the slice; a nil slice is an absent column.
type Column struct {
	Name  string
	Slice reflect.Value
}

// Len is the number of rows.
func (t Table) Len() int {
	for _, c := range t.Columns {
		if n := c.Slice.Len(); n > 0 {
			return n
		}
	}
	return 0
}

// Tables is every table of t, in the order of Trace's fields.
func (t *Trace) Tables() []Table {
	v := reflect.ValueOf(t).Elem()
	var out []Table
	for i := range v.NumField() {
		if f := v.Field(i); f.Kind() == reflect.Struct {
			if cols := columnsOf(f); cols != nil {
				out = append(out, Table{v.Type().Field(i).Name, cols})
			}
		}
	}
	return out
}

// TableOf is one table, given as a pointer to a struct of columns.
func TableOf(p any) Table {
	v := reflect.ValueOf(p).Elem()
	return Table{v.Type().Name(), columnsOf(v)}
}

func columnsOf(v reflect.Value) []Column {
	var out []Column
	for i := range v.NumField() {
		f, typ := v.Field(i), v.Type().Field(i)
		switch {
		case !typ.IsExported():
			return nil
		case typ.Anonymous && f.Kind() == reflect.Struct:
			out = append(out, columnsOf(f)...)
		case f.Kind() == reflect.Slice && v.Type() != reflect.TypeFor[Info]():
			out = append(out, Column{typ.Name, f})
		default:
			return nil
		}
	}
	return out
}

// Join appends the rows of src to dst, two pointers to the same kind of table. A column that
// only one side has is filled with zeros on the other, so use it between parts of one capture only.
func Join(dst, src any) {
	d, s := TableOf(dst), TableOf(src)
	dn, sn := d.Len(), s.Len()
	if sn == 0 {
		return
	}
	for i, c := range d.Columns {
		to, from := c.Slice, s.Columns[i].Slice
		if to.Len() == 0 && from.Len() == 0 {
			continue
		}
		if to.Len() == 0 && dn > 0 {
			to.Set(reflect.MakeSlice(to.Type(), dn, dn+sn))
		}
		if from.Len() == 0 {
			from = reflect.MakeSlice(to.Type(), sn, sn)
		}
		to.Set(reflect.AppendSlice(to, from))
	}
}

// Permute puts the rows of a table, given as a pointer, into a new order: row i becomes what was row order[i].
func Permute(p any, order []uint32) {
	var wg sync.WaitGroup
	for _, c := range TableOf(p).Columns {
		move := mover(c, order)
		if len(order) < manyRows {
			move()
		} else {
			wg.Go(move)
		}
	}
	wg.Wait()
}

// manyRows is from where on columns are worth moving in parallel.
const manyRows = 1 << 16

// mover is what brings a column into a new order.
func mover(c Column, order []uint32) func() {
	switch s := c.Slice.Addr().Interface().(type) {
	case *[]int64:
		return func() { permute(s, order) }
	case *[]uint64:
		return func() { permute(s, order) }
	case *[]int32:
		return func() { permute(s, order) }
	case *[]uint32:
		return func() { permute(s, order) }
	case *[]uint16:
		return func() { permute(s, order) }
	case *[]uint8:
		return func() { permute(s, order) }
	case *[]float32:
		return func() { permute(s, order) }
	case *[]float64:
		return func() { permute(s, order) }
	case *[]bool:
		return func() { permute(s, order) }
	case *[]StringID:
		return func() { permute(s, order) }
	case *[]ThreadRow:
		return func() { permute(s, order) }
	case *[]ProcessRow:
		return func() { permute(s, order) }
	case *[]DomainRow:
		return func() { permute(s, order) }
	case *[]CollectiveRow:
		return func() { permute(s, order) }
	case *[]FrameRow:
		return func() { permute(s, order) }
	case *[]CopyKind:
		return func() { permute(s, order) }
	case *[]MemKind:
		return func() { permute(s, order) }
	case *[]SyncKind:
		return func() { permute(s, order) }
	case *[]CallClass:
		return func() { permute(s, order) }
	case *[]RangeKind:
		return func() { permute(s, order) }
	default:
		panic(fmt.Sprintf("model: column %s has type %T, which Permute does not know", c.Name, s))
	}
}

func permute[T any](s *[]T, order []uint32) {
	if len(*s) == 0 {
		return
	}
	out := make([]T, len(order))
	for i, from := range order {
		out[i] = (*s)[from]
	}
	*s = out
}
