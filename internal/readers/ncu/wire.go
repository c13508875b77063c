package ncu

import (
	"math"
	"unsafe"

	"google.golang.org/protobuf/encoding/protowire"

	"lacuna/internal/kernel/profile"
)

// A cursor walks the fields of one message. It never copies: bytes are those of the message.
type cursor struct {
	rest  []byte
	num   protowire.Number
	kind  protowire.Type
	whole uint64 // of varint and fixed fields: the bits
	bytes []byte // of bytes fields
	bad   bool   // the message ended in the middle of a field or has an impossible one
}

// next goes to the next field, if there is one that is whole. Numbers of one byte, which nearly all are, are read here:
// that halves the time of instances.
func (c *cursor) next() bool {
	if len(c.rest) == 0 {
		return false
	}
	tag, rest, ok := varint(c.rest)
	if !ok || tag>>3 == 0 || tag>>3 > uint64(protowire.MaxValidNumber) {
		c.bad = true
		return false
	}
	c.num, c.kind = protowire.Number(tag>>3), protowire.Type(tag&7)
	c.whole, c.bytes = 0, nil
	n := 0
	switch c.kind {
	case protowire.VarintType:
		c.whole, rest, ok = varint(rest)
	case protowire.BytesType:
		var length uint64
		if length, rest, ok = varint(rest); ok && length <= uint64(len(rest)) {
			c.bytes, rest = rest[:length:length], rest[length:]
		} else {
			ok = false
		}
	case protowire.Fixed64Type:
		c.whole, n = protowire.ConsumeFixed64(rest)
	case protowire.Fixed32Type:
		var v uint32
		v, n = protowire.ConsumeFixed32(rest)
		c.whole = uint64(v)
	default: // groups are not in use
		ok = false
	}
	if !ok || n < 0 {
		c.bad = true
		return false
	}
	c.rest = rest[n:]
	return true
}

// varint takes a number off b.
func varint(b []byte) (v uint64, rest []byte, ok bool) {
	if len(b) > 0 && b[0] < 0x80 {
		return uint64(b[0]), b[1:], true
	}
	v, n := protowire.ConsumeVarint(b)
	if n < 0 {
		return 0, b, false
	}
	return v, b[n:], true
}

// text is the field as a text that shares the file's memory, which the report keeps and nobody writes to.
func (c *cursor) text() string {
	if len(c.bytes) == 0 {
		return ""
	}
	return unsafe.String(&c.bytes[0], len(c.bytes))
}

// double is the field as a double, whatever its width.
func (c *cursor) double() float64 {
	if c.kind == protowire.Fixed32Type {
		return float64(math.Float32frombits(uint32(c.whole)))
	}
	return math.Float64frombits(c.whole)
}

// decodeValue reads a value message. bad: it is damaged; odd: it has a field that is not known (0: it has not).
func decodeValue(msg []byte) (v profile.Value, odd protowire.Number, bad bool) {
	c := cursor{rest: msg}
	for c.next() {
		switch {
		case c.num == valueText && c.kind == protowire.BytesType:
			v = profile.Value{Kind: profile.Text, String: c.text()}
		case c.num == valueFloat && c.kind == protowire.Fixed32Type, c.num == valueDouble &&
			c.kind == protowire.Fixed64Type:
			v = profile.Value{Kind: profile.Double, Float: c.double()}
		case c.num == valueUint32 && c.kind == protowire.VarintType, c.num == valueUint64 &&
			c.kind == protowire.VarintType:
			v = profile.Value{Kind: profile.Unsigned, Uint: c.whole}
		default:
			odd = c.num
		}
	}
	return v, odd, c.bad
}
