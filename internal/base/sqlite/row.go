package sqlite

import (
	"encoding/binary"
	"math"
	"unicode/utf16"
)

// decode is the value of a serial type, whose n bytes stand at a place of data.
func decode(kind uint64, data []byte, at, n int) value {
	b := data[at : at+n]
	switch kind {
	case 0:
		return value{}
	case 1:
		return value{kind: Int, bits: int64(int8(b[0]))}
	case 2:
		return value{kind: Int, bits: int64(int16(binary.BigEndian.Uint16(b)))}
	case 3:
		return value{kind: Int, bits: int64(int8(b[0]))<<16 | int64(b[1])<<8 | int64(b[2])}
	case 4:
		return value{kind: Int, bits: int64(int32(binary.BigEndian.Uint32(b)))}
	case 5:
		return value{kind: Int, bits: int64(int16(binary.BigEndian.Uint16(b)))<<32 | int64(
			binary.BigEndian.Uint32(b[2:]))}
	case 6:
		return value{kind: Int, bits: int64(binary.BigEndian.Uint64(b))}
	case 7:
		return value{kind: Float, bits: int64(binary.BigEndian.Uint64(b))}
	case 8, 9:
		return value{kind: Int, bits: int64(kind - 8)}
	}
	if kind%2 == 0 {
		return value{Blob, uint32(n), int64(at)}
	}
	return value{Text, uint32(n), int64(at)}
}

// Kind is the type of a value; any column can hold any.
type Kind uint8

// The kinds of values.
const (
	Null Kind = iota
	Int
	Float
	Text
	Blob
)

func (k Kind) String() string {
	return [...]string{"NULL", "an integer", "a float", "text", "a blob"}[k]
}

// value is an Int, the bits of a Float, or the place in Row.data of a Text or Blob of n bytes.
type value struct {
	kind Kind
	n    uint32
	bits int64
}

// A Row is one row of a scan: valid until the function that was given it returns.
type Row struct {
	RowID int64
	vals  []value
	data  []byte
	utf16 binary.ByteOrder
}

// Kind is the type of a column's value.
func (r *Row) Kind(column int) Kind { return r.vals[column].kind }

// Int is an integer, and whether there is one.
func (r *Row) Int(column int) (int64, bool) {
	v := &r.vals[column]
	return v.bits, v.kind == Int
}

// Float is a float, and whether there is one.
func (r *Row) Float(column int) (float64, bool) {
	v := r.vals[column]
	return math.Float64frombits(uint64(v.bits)), v.kind == Float
}

// Bytes is a text, in UTF-8 as far as the file has it so, or a blob; else nil. It must not be kept.
func (r *Row) Bytes(column int) []byte {
	v := r.vals[column]
	if v.kind < Text {
		return nil
	}
	b := r.data[v.bits : v.bits+int64(v.n)]
	if v.kind == Text && r.utf16 != nil {
		units := make([]uint16, len(b)/2)
		for i := range units {
			units[i] = r.utf16.Uint16(b[2*i:])
		}
		return []byte(string(utf16.Decode(units)))
	}
	return b
}
