package kineto

import (
	"bytes"
	"hash/maphash"
	"unicode/utf16"
	"unicode/utf8"
)

// unquote appends the text of a JSON string, given without its quotes. As in encoding/json,
// lone surrogates and bytes that are no UTF-8 become U+FFFD; control characters are kept, and
// a backslash before anything unknown stands for itself.
func unquote(dst, raw []byte) []byte {
	for i := 0; i < len(raw); {
		c := raw[i]
		if c >= utf8.RuneSelf {
			r, n := utf8.DecodeRune(raw[i:])
			dst = utf8.AppendRune(dst, r)
			i += n
			continue
		}
		if c != '\\' || i+1 == len(raw) {
			dst = append(dst, c)
			i++
			continue
		}
		i++
		switch c = raw[i]; c {
		case '"', '\\', '/':
			dst = append(dst, c)
		case 'b':
			dst = append(dst, '\b')
		case 'f':
			dst = append(dst, '\f')
		case 'n':
			dst = append(dst, '\n')
		case 'r':
			dst = append(dst, '\r')
		case 't':
			dst = append(dst, '\t')
		case 'u':
			r, n := unquoteRune(raw[i-1:])
			if n == 0 {
				dst = append(dst, '\\', 'u')
				break
			}
			dst = utf8.AppendRune(dst, r)
			i += n - 1
			continue
		default:
			dst = append(dst, '\\')
			continue // what is behind it is text
		}
		i++
	}
	return dst
}

// unquoteRune reads \uXXXX, and a second one behind it if they are a pair of surrogates. n is 0 if it is no such thing.
func unquoteRune(raw []byte) (r rune, n int) {
	if r = hex4(raw); r < 0 {
		return 0, 0
	}
	if utf16.IsSurrogate(r) {
		if pair := utf16.DecodeRune(r, hex4(raw[6:])); pair != utf8.RuneError {
			return pair, 12
		}
		return utf8.RuneError, 6
	}
	return r, 6
}

// hex4 is the value of \uXXXX, or -1.
func hex4(raw []byte) (r rune) {
	if len(raw) < 6 || raw[0] != '\\' || raw[1] != 'u' {
		return -1
	}
	for _, c := range raw[2:6] {
		switch {
		case c-'0' <= 9:
			c -= '0'
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			c = c | 0x20 - 'a' + 10
		default:
			return -1
		}
		r = r<<4 | rune(c)
	}
	return r
}

// respace appends JSON text with one blank behind each comma and colon and no other, as Kineto
// writes it: the same shapes must be the same text whoever formatted the file.
func respace(dst, raw []byte) []byte {
	for i := 0; i < len(raw); {
		switch c := raw[i]; {
		case c == '"':
			end, _ := stringEnd(raw, i+1)
			if end < 0 {
				return append(dst, raw[i:]...)
			}
			dst = append(dst, raw[i:end+1]...)
			i = end + 1
			continue
		case isSpace[c]:
		case c == ',' || c == ':':
			dst = append(dst, c, ' ')
		default:
			dst = append(dst, c)
		}
		i++
	}
	return dst
}

// An interner numbers the texts of one parser, by their bytes in the file: what is decoded once
// is not decoded again. ID 0 is the empty text.
type interner struct {
	seed  maphash.Seed
	slots []slot // open addressing, a power of two
	texts []entry
	fresh []string // texts numbered since the last take
	buf   []byte
}

type slot struct {
	hash uint32
	id   uint32 // 0: free
}

type entry struct {
	raw    string
	nested bool // JSON text and not the inside of a string: decoded differently
}

func newInterner() *interner {
	return &interner{seed: maphash.MakeSeed(), slots: make([]slot, 1<<12), texts: make([]entry, 1)}
}

// text is the ID of the string whose inside is raw.
func (t *interner) text(raw []byte) uint32 { return t.find(raw, false) }

// value is the ID of any value: of a string its text, of anything else its JSON.
func (t *interner) value(raw []byte) uint32 {
	if len(raw) >= 2 && raw[0] == '"' {
		return t.find(raw[1:len(raw)-1], false)
	}
	if bytes.Equal(raw, []byte("null")) {
		return 0
	}
	return t.find(raw, true)
}

func (t *interner) find(raw []byte, nested bool) uint32 {
	if len(raw) == 0 {
		return 0
	}
	h := uint32(maphash.Bytes(t.seed, raw))
	mask := uint32(len(t.slots) - 1)
	for i := h & mask; ; i = (i + 1) & mask {
		s := t.slots[i]
		if s.id == 0 {
			break
		}
		if s.hash == h {
			if e := &t.texts[s.id]; e.nested == nested && e.raw == string(raw) {
				return s.id
			}
		}
	}
	return t.add(raw, nested, h)
}

func (t *interner) add(raw []byte, nested bool, h uint32) uint32 {
	id := uint32(len(t.texts))
	own := string(raw)
	plain := own
	switch {
	case nested:
		if t.buf = respace(t.buf[:0], raw); string(t.buf) != own {
			plain = string(t.buf)
		}
	case bytes.IndexByte(raw, '\\') >= 0 || !utf8.Valid(raw):
		t.buf = unquote(t.buf[:0], raw)
		plain = string(t.buf)
	}
	t.texts = append(t.texts, entry{own, nested})
	t.fresh = append(t.fresh, plain)
	if 2*len(t.texts) > len(t.slots) {
		old := t.slots
		t.slots = make([]slot, 2*len(old))
		for _, s := range old {
			if s.id != 0 {
				t.place(s)
			}
		}
	}
	t.place(slot{h, id})
	return id
}

func (t *interner) place(s slot) {
	mask := uint32(len(t.slots) - 1)
	i := s.hash & mask
	for t.slots[i].id != 0 {
		i = (i + 1) & mask
	}
	t.slots[i] = s
}
