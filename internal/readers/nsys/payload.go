package nsys

import (
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"math"
	"strconv"

	"lacuna/internal/base/sqlite"
	"lacuna/internal/timeline/model"
)

// payloadColumns is where a range's payload can be, in the order in which they are looked at. At most one is set.
var payloadColumns = []string{"jsonTextId", "jsonText", "uint64Value", "int64Value", "doubleValue", "uint32Value",
	"int32Value", "floatValue", "binaryData"}

// payload is the text of the current row's payload.
func (w *worker) payload(schemas payloadSchemas) model.StringID {
	for i, name := range payloadColumns {
		slot := nvtxPayload + i
		kind := w.row.Kind(slot)
		if kind == sqlite.Null {
			continue
		}
		var text []byte
		switch name {
		case "jsonTextId":
			return w.named(slot)
		case "jsonText":
			return w.text(slot)
		case "binaryData":
			if kind == sqlite.Text {
				return w.text(slot)
			}
			text = schemas.decode(w.i64(nvtxDomain, 0), w.row.Bytes(slot))
		case "uint64Value":
			v, _ := w.int(slot)
			text = strconv.AppendUint(nil, uint64(v), 10)
		case "doubleValue", "floatValue":
			v, ok := w.row.Float(slot)
			if !ok {
				n, _ := w.int(slot)
				v = float64(n)
			}
			text = strconv.AppendFloat(nil, v, 'g', -1, 64)
		default:
			v, _ := w.int(slot)
			text = strconv.AppendInt(nil, v, 10)
		}
		return w.own.InternBytes(text) | ownText
	}
	return 0
}

// payloadSchemas says how binary payloads are laid out, by domain and schema.
type payloadSchemas map[[2]int64]*payloadSchema

type payloadSchema struct {
	bytes   int64
	entries []payloadEntry
}

type payloadEntry struct {
	index, kind, offset int64
	name                string
}

// payloadSchemas reads the layouts. They repeat once a process; the first is kept.
func (r *reading) payloadSchemas() payloadSchemas {
	out := make(payloadSchemas)
	r.each("NVTX_PAYLOAD_SCHEMAS", []string{"domainId", "schemaId", "payloadSize"}, func(row *sqlite.Row) {
		domain, _ := row.Int(0)
		id, _ := row.Int(1)
		size, _ := row.Int(2)
		if out[[2]int64{domain, id}] == nil {
			out[[2]int64{domain, id}] = &payloadSchema{bytes: size}
		}
	})
	r.each("NVTX_PAYLOAD_SCHEMA_ENTRIES", []string{"domainId", "schemaId", "idx", "type", "name", "offset"},
		func(row *sqlite.Row) {
			domain, _ := row.Int(0)
			id, _ := row.Int(1)
			s := out[[2]int64{domain, id}]
			if s == nil {
				return
			}
			e := payloadEntry{name: string(row.Bytes(4))}
			e.index, _ = row.Int(2)
			e.kind, _ = row.Int(3)
			e.offset, _ = row.Int(5)
			if e.index == int64(len(s.entries)) {
				s.entries = append(s.entries, e)
			}
		})
	return out
}

// decode is a binary payload as JSON, or in hexadecimal where no schema fits. The blob does not name its
// schema where it is exported without one; a schema of the domain with just that size is taken if it is the only one.
func (p payloadSchemas) decode(domain int64, blob []byte) []byte {
	var fit *payloadSchema
	for key, s := range p {
		if key[0] == domain && s.bytes == int64(len(blob)) {
			if fit != nil {
				return hex.AppendEncode(nil, blob)
			}
			fit = s
		}
	}
	if fit == nil {
		return hex.AppendEncode(nil, blob)
	}
	out := []byte{'{'}
	for i, e := range fit.entries {
		if i > 0 {
			out = append(out, ',')
		}
		name, _ := json.Marshal(e.name)
		out = append(append(out, name...), ':')
		out = e.append(out, blob)
	}
	return append(out, '}')
}

// payloadTypes is the predefined types of NVTX's nvToolsExtPayload.h that have a fixed size on 64 bit
// machines: bytes, negative if signed.
var payloadTypes = map[int64]int{
	1: -1, 2: 1, 3: -2, 4: 2, 5: -4, 6: 4, 7: -8, 8: 8, 9: -8, 10: 8, // char to unsigned long long
	11: -1, 12: 1, 13: -2, 14: 2, 15: -4, 16: 4, 17: -8, 18: 8, // int8 to uint64
	payloadFloat: 4, payloadDouble: 8,
	22: 8, 23: 8, // size_t, address
}

const (
	payloadFloat  = 19
	payloadDouble = 20
)

// append writes the value of one entry as JSON.
func (e payloadEntry) append(out, blob []byte) []byte {
	size, signed := payloadTypes[e.kind], false
	if size < 0 {
		size, signed = -size, true
	}
	if size == 0 || e.offset < 0 || e.offset > int64(len(blob)-size) {
		return append(out, "null"...)
	}
	var raw [8]byte
	copy(raw[:], blob[e.offset:e.offset+int64(size)])
	v := binary.LittleEndian.Uint64(raw[:])
	switch {
	case e.kind == payloadFloat:
		return appendFloat(out, float64(math.Float32frombits(uint32(v))), 32)
	case e.kind == payloadDouble:
		return appendFloat(out, math.Float64frombits(v), 64)
	case signed:
		unused := 64 - 8*size
		return strconv.AppendInt(out, int64(v<<unused)>>unused, 10)
	}
	return strconv.AppendUint(out, v, 10)
}

func appendFloat(out []byte, v float64, bits int) []byte {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return append(out, "null"...) // JSON has no such numbers
	}
	return strconv.AppendFloat(out, v, 'g', -1, bits)
}
