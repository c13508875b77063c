package spool

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"reflect"
)

// Texts calls yield for each text of a chunk of texts. text is valid until the Scanner's next Next. It says false if
// the chunk breaks off within a text.
func (c *Chunk) Texts(yield func(id Text, text []byte)) bool {
	b := c.Payload
	for range c.Count {
		if len(b) < 8 {
			return false
		}
		id, n := binary.LittleEndian.Uint32(b), binary.LittleEndian.Uint32(b[4:])
		if uint64(n) > uint64(len(b)-8) {
			return false
		}
		yield(Text(id), b[8:8+n])
		b = b[8+n:]
	}
	return true
}

// Note reads a note: its kind, and its fields into fields, which may be nil.
func (c *Chunk) Note(fields any) (kind string, err error) {
	var note struct {
		Note string `json:"note"`
	}
	if err := json.Unmarshal(c.Payload, &note); err != nil {
		return "", err
	}
	if fields != nil {
		err = json.Unmarshal(c.Payload, fields)
	}
	return note.Note, err
}

// Keep takes the rows out of a table's chunk for which keep says false, and returns how many those are. Columns that
// were taken before are void.
func (c *Chunk) Keep(keep func(row int) bool) (dropped int) {
	size, kept := c.Table.Size, 0
	for i := range c.Count {
		if !keep(i) {
			continue
		}
		if kept != i {
			copy(c.Payload[kept*size:(kept+1)*size], c.Payload[i*size:])
		}
		kept++
	}
	dropped = c.Count - kept
	c.Count, c.Payload = kept, c.Payload[:kept*size]
	return dropped
}

// A Column is one field of all rows of a chunk. The zero Column is a field that the stream does not have.
type Column struct {
	bytes  []byte // from the first row's value on
	stride int
	rows   int
	size   int
	kind   fieldKind
}

// Column is the field of that name; Has says whether the stream has it.
func (c *Chunk) Column(name string) Column {
	if c.Table == nil {
		return Column{}
	}
	f, ok := c.Table.field(name)
	if !ok || c.Count == 0 {
		return Column{}
	}
	return Column{bytes: c.Payload[f.At:], stride: c.Table.Size, rows: c.Count, size: f.size, kind: f.kind}
}

// Has says whether the stream has this field.
func (c Column) Has() bool { return c.rows > 0 }

// A number is what a field can be read as.
type number interface {
	~uint8 | ~uint16 | ~uint32 | ~uint64 | ~int8 | ~int16 | ~int32 | ~int64 | ~float64
}

// At is the value of row i, converted as Go converts numbers. A field that there is not is 0.
func At[T number](c Column, i int) T {
	if !c.Has() {
		return 0
	}
	b := c.bytes[i*c.stride:]
	switch {
	case c.size == 1:
		return T(b[0])
	case c.size == 2:
		return T(binary.LittleEndian.Uint16(b))
	case c.size == 4 && c.kind == signed:
		return T(int32(binary.LittleEndian.Uint32(b)))
	case c.size == 4:
		return T(binary.LittleEndian.Uint32(b))
	case c.kind == floating:
		return T(math.Float64frombits(binary.LittleEndian.Uint64(b)))
	case c.kind == signed:
		return T(int64(binary.LittleEndian.Uint64(b)))
	}
	return T(binary.LittleEndian.Uint64(b))
}

// Append adds the column's values, a row each, to to. rows is how many to add, of value absent, if there is no such
// field.
func Append[T number](to []T, c Column, rows int, absent T) []T {
	if c.Has() {
		rows = c.rows
	}
	to = Grow(to, rows)
	first := len(to)
	to = to[:first+rows]
	out := to[first:]
	b, stride := c.bytes, c.stride
	switch {
	case !c.Has():
		for i := range out {
			out[i] = absent
		}
	case c.size == 4 && c.kind == unsigned:
		for i := range out {
			out[i] = T(binary.LittleEndian.Uint32(b[i*stride:]))
		}
	case c.size == 8 && c.kind == unsigned:
		for i := range out {
			out[i] = T(binary.LittleEndian.Uint64(b[i*stride:]))
		}
	case c.size == 1:
		for i := range out {
			out[i] = T(b[i*stride])
		}
	default:
		for i := range out {
			out[i] = At[T](c, i)
		}
	}
	return to
}

// Grow makes room for n more values. It doubles, where append adds a quarter to long slices: columns are long and
// grow by the chunk.
func Grow[T any](to []T, n int) []T {
	if cap(to)-len(to) >= n {
		return to
	}
	return append(make([]T, 0, max(2*cap(to), len(to)+n)), to...)
}

// Rows reads a chunk's rows into structs of this package, by the fields' names. It is for tables of few rows: it
// looks at every field by reflection. A field that the stream does not have is 0.
func Rows[R Row](c *Chunk) []R {
	rows := make([]R, c.Count)
	t := reflect.TypeFor[R]()
	for f := range t.NumField() {
		column := c.Column(snake(t.Field(f).Name))
		if !column.Has() {
			continue
		}
		for i := range rows {
			v := reflect.ValueOf(&rows[i]).Elem().Field(f)
			switch {
			case v.CanUint():
				v.SetUint(At[uint64](column, i))
			case v.CanInt():
				v.SetInt(At[int64](column, i))
			default:
				v.SetFloat(At[float64](column, i))
			}
		}
	}
	return rows
}
