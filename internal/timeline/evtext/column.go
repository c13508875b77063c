package evtext

import (
	"fmt"
	"reflect"
	"strconv"

	"lacuna/internal/timeline/model"
)

// A column is one column of a table with what its text looks like.
type column struct {
	name  string // the field's
	key   string
	short string // the letter that replaces "key=", or ""
	word  bool   // its value stands alone: HtoD
	core  bool   // made even if no line mentions it
	shown bool   // printed even if it is the default
	slice reflect.Value
	line  int // Parse: the line that set it last
	values
}

// values is the cells of a column, whatever their type.
type values interface {
	len() int
	isDefault(row int) bool
	print(buf []byte, row int) []byte
	printName(buf []byte, row int) []byte // as the rest of a line
	fill(n int)                           // appends defaults until there are n rows
	set(row int, text string) error
	words() []string // the values that can stand alone
	wordOf(row int) string
}

type typed[T comparable] struct {
	cells *[]T
	codec[T]
}

// A codec is how one type of cell is written and read.
type codec[T comparable] struct {
	def     T
	implied func() T // nil, or makes def where a row that must exist comes into being by default
	format  func([]byte, T) []byte
	name    func([]byte, T) []byte // of texts: how it is written as the rest of a line
	scan    func(string) (T, error)
	names   map[T]string
}

func (c *typed[T]) len() int { return len(*c.cells) }

func (c *typed[T]) isDefault(row int) bool {
	v := (*c.cells)[row]
	return v == c.def || v != v && c.def != c.def // NaN is the default where nothing is known
}

func (c *typed[T]) print(buf []byte, row int) []byte { return c.format(buf, (*c.cells)[row]) }

func (c *typed[T]) printName(buf []byte, row int) []byte { return c.name(buf, (*c.cells)[row]) }

func (c *typed[T]) fill(n int) {
	for len(*c.cells) < n {
		v := c.def
		if c.implied != nil {
			v = c.implied()
		}
		*c.cells = append(*c.cells, v)
	}
}

func (c *typed[T]) set(row int, text string) error {
	v, err := c.scan(text)
	if err != nil {
		return err
	}
	c.fill(row)
	if row < len(*c.cells) {
		(*c.cells)[row] = v
	} else {
		*c.cells = append(*c.cells, v)
	}
	return nil
}

func (c *typed[T]) words() []string {
	var out []string
	for _, w := range c.names {
		out = append(out, w)
	}
	return out
}

func (c *typed[T]) wordOf(row int) string { return c.names[(*c.cells)[row]] }

// newColumn makes the column of slice, which is addressable.
func newColumn(e *env, table, name string, slice reflect.Value) *column {
	c := &column{name: name, key: keyOf(name), slice: slice}
	c.core, _ = lookup(core, table, name)
	c.shown, _ = lookup(always, table, name)
	if s, ok := shorts[name]; ok {
		c.short = s
	}
	switch s := slice.Addr().Interface().(type) {
	case *[]model.ThreadRow:
		c.values = valuesOf(s, e.threadCodec(table, name))
	case *[]model.ProcessRow:
		c.values = valuesOf(s, e.processCodec())
	case *[]model.DomainRow:
		c.values = valuesOf(s, refCodec[model.DomainRow](e, "Domains"))
	case *[]model.CollectiveRow:
		c.values = valuesOf(s, refCodec[model.CollectiveRow](e, "Collectives"))
	case *[]model.FrameRow:
		c.values = valuesOf(s, refCodec[model.FrameRow](e, "Frames"))
	case *[]model.StringID:
		c.values = valuesOf(s, e.stringCodec())
	case *[]model.CopyKind:
		c.word, c.values = true, valuesOf(s, enumCodec(copyKinds))
	case *[]model.MemKind:
		c.values = valuesOf(s, enumCodec(memKinds))
	case *[]model.SyncKind:
		c.word, c.values = true, valuesOf(s, enumCodec(syncKinds))
	case *[]model.CallClass:
		c.word, c.values = true, valuesOf(s, enumCodec(callClasses))
	case *[]model.RangeKind:
		c.word, c.values = true, valuesOf(s, enumCodec(rangeKinds))
	case *[]model.GraphDetail:
		c.values = valuesOf(s, enumCodec(graphDetails))
	case *[]bool:
		c.word, c.values = true, valuesOf(s, boolCodec(c.key))
	case *[]string:
		c.values = valuesOf(s, codec[string]{format: appendValue, name: appendName, scan: unquoted})
	case *[]uint32:
		if name == "Track" {
			c.values = valuesOf(s, refCodec[uint32](e, "Tracks"))
		} else {
			c.values = valuesOf(s, idCodec(defaultOf[uint32](table, name)))
		}
	case *[]float64:
		c.values = valuesOf(s, floatCodec(defaultOf[float64](table, name), 64))
	case *[]float32:
		c.values = valuesOf(s, floatCodec(defaultOf[float32](table, name), 32))
	case *[]int64:
		c.values = valuesOf(s, signedCodec(defaultOf[int64](table, name), isTime(name)))
	case *[]int32:
		c.values = valuesOf(s, signedCodec(defaultOf[int32](table, name), false))
	case *[]int:
		c.values = valuesOf(s, signedCodec(defaultOf[int](table, name), false))
	case *[]uint64:
		c.values = valuesOf(s, unsignedCodec(defaultOf[uint64](table, name), name == "Addr"))
	case *[]uint16:
		c.values = valuesOf(s, unsignedCodec(defaultOf[uint16](table, name), false))
	case *[]uint8:
		c.values = valuesOf(s, unsignedCodec(defaultOf[uint8](table, name), false))
	default:
		panic(fmt.Sprintf("evtext: %s.%s has type %s, which has no text form", table, name, slice.Type()))
	}
	return c
}

func valuesOf[T comparable](s *[]T, c codec[T]) values { return &typed[T]{s, c} }

func isTime(column string) bool { return len(column) > 2 && column[len(column)-2:] == "Ns" }

func defaultOf[T ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~int32 | ~int64 | ~int | ~float32 | ~float64](table,
	column string) T {
	v, _ := lookup(defaults, table, column)
	return T(v)
}

func signedCodec[T ~int | ~int32 | ~int64](def T, time bool) codec[T] {
	c := codec[T]{def: def}
	c.format = func(b []byte, v T) []byte { return strconv.AppendInt(b, int64(v), 10) }
	c.scan = func(s string) (T, error) {
		parse := strconv.ParseInt
		if time {
			parse = func(s string, _, _ int) (int64, error) { return parseNs(s) }
		}
		v, err := parse(s, 0, 64)
		if err != nil || int64(T(v)) != v {
			return 0, notA("an integer", s, err)
		}
		return T(v), nil
	}
	return c
}

func unsignedCodec[T ~uint8 | ~uint16 | ~uint64](def T, hex bool) codec[T] {
	c := codec[T]{def: def}
	c.format = func(b []byte, v T) []byte {
		if hex {
			return strconv.AppendUint(append(b, "0x"...), uint64(v), 16)
		}
		return strconv.AppendUint(b, uint64(v), 10)
	}
	c.scan = func(s string) (T, error) {
		v, err := strconv.ParseUint(s, 0, 64)
		if err != nil || uint64(T(v)) != v {
			return 0, notA("a positive integer", s, err)
		}
		return T(v), nil
	}
	return c
}

// idCodec is numbers given by CUDA, of which the largest means none.
func idCodec(def uint32) codec[uint32] {
	c := codec[uint32]{def: def}
	c.format = func(b []byte, v uint32) []byte {
		if v == none {
			return append(b, '-')
		}
		return strconv.AppendUint(b, uint64(v), 10)
	}
	c.scan = func(s string) (uint32, error) {
		if s == "-" {
			return none, nil
		}
		v, err := strconv.ParseUint(s, 0, 32)
		if err != nil {
			return 0, notA("an ID", s, err)
		}
		return uint32(v), nil
	}
	return c
}

func floatCodec[T ~float32 | ~float64](def T, bits int) codec[T] {
	return codec[T]{
		def:    def,
		format: func(b []byte, v T) []byte { return strconv.AppendFloat(b, float64(v), 'g', -1, bits) },
		scan: func(s string) (T, error) {
			v, err := strconv.ParseFloat(s, bits)
			if err != nil {
				return 0, notA("a number", s, err)
			}
			return T(v), nil
		},
	}
}

// enumCodec is words for known numbers and numbers for the rest.
func enumCodec[T ~uint8](names map[T]string) codec[T] {
	values := make(map[string]T, len(names))
	for v, w := range names {
		values[w] = v
	}
	c := codec[T]{names: names}
	c.format = func(b []byte, v T) []byte {
		if w, ok := names[v]; ok {
			return append(b, w...)
		}
		return strconv.AppendUint(b, uint64(v), 10)
	}
	c.scan = func(s string) (T, error) {
		if v, ok := values[s]; ok {
			return v, nil
		}
		v, err := strconv.ParseUint(s, 10, 8)
		if err != nil {
			return 0, notA("a known word or its number", s, err)
		}
		return T(v), nil
	}
	return c
}

// boolCodec is the column's key if it is true and nothing if it is not.
func boolCodec(key string) codec[bool] {
	return codec[bool]{
		names:  map[bool]string{true: key},
		format: strconv.AppendBool,
		scan: func(s string) (bool, error) {
			if s == key {
				return true, nil
			}
			v, err := strconv.ParseBool(s)
			if err != nil {
				return false, notA("true or false", s, err)
			}
			return v, nil
		},
	}
}

func notA(what, text string, err error) error {
	if err != nil {
		if e, ok := err.(*strconv.NumError); ok && e.Err == strconv.ErrRange {
			return fmt.Errorf("%q is out of range", clip(text))
		}
		return fmt.Errorf("%q is not %s", clip(text), what)
	}
	return fmt.Errorf("%q is out of range", clip(text))
}
