package kineto

import (
	"bytes"
	"encoding/binary"
	"math/bits"
)

// What a scan returns instead of an index.
const (
	short = -1 // the bytes end before the value does
	bad   = -2 // not JSON
)

const (
	ones        = 0x0101010101010101
	highs       = 0x8080808080808080
	quotes      = '"' * ones
	backslashes = '\\' * ones
	opens       = '{' * ones
	closes      = '}' * ones
	commas      = ',' * ones
	blanks      = (' ' + 1) * ones
	lowerBits   = 0x20 * ones
)

// zeros has the high bit of each byte of x that is 0. Only the lowest one is exact, and
// only that one is used: a borrow can mark a byte above it that is 1.
func zeros(x uint64) uint64 { return (x - ones) &^ x & highs }

// stringEnd is the index of the quote that closes the string whose text begins at i, and
// whether the text has escapes. Control characters and invalid UTF-8 are let through.
func stringEnd(b []byte, i int) (end int, escaped bool) {
	for near := i + 48; i+8 <= len(b) && i < near; i += 8 {
		x := binary.LittleEndian.Uint64(b[i:])
		if m := zeros(x^quotes) | zeros(x^backslashes); m != 0 {
			i += bits.TrailingZeros64(m) >> 3
			if b[i] == '"' {
				return i, false
			}
			return escapedEnd(b, i), true
		}
	}
	if i+8 <= len(b) { // names of kernels are long: look with the processor's widest steps
		n := bytes.IndexByte(b[i:], '"')
		if n < 0 {
			return short, false
		}
		if at := bytes.IndexByte(b[i:i+n], '\\'); at >= 0 {
			return escapedEnd(b, i+at), true
		}
		return i + n, false
	}
	for ; i < len(b); i++ {
		switch b[i] {
		case '"':
			return i, false
		case '\\':
			return escapedEnd(b, i), true
		}
	}
	return short, false
}

// escapedEnd is stringEnd from the first backslash on.
func escapedEnd(b []byte, i int) int {
	for i < len(b) {
		switch b[i] {
		case '"':
			return i
		case '\\':
			i++
		}
		i++
	}
	return short
}

// isSpace and isDelimiter classify a byte outside strings.
var isSpace = [256]bool{' ': true, '\t': true, '\n': true, '\r': true}
var isDelimiter = [256]bool{' ': true, '\t': true, '\n': true, '\r': true, ',': true, ':': true, ']': true, '}': true,
	'[': true, '{': true, '"': true}

// skipSpace is the first index from i on that holds no blank, or len(b).
func skipSpace(b []byte, i int) int {
	for i < len(b) && isSpace[b[i]] {
		i++
	}
	return i
}

// literalEnd is the end of the number or word at i: a comma, a blank or a closing bracket.
// A literal that touches the end of b may go on behind it.
func literalEnd(b []byte, i int) int {
	from := i
	for ; i+8 <= len(b); i += 8 {
		x := binary.LittleEndian.Uint64(b[i:])
		// A byte up to the blank has its high bit set by the subtraction, if none below it borrowed: then that one is
		// marked.
		if m := zeros(x^commas) | zeros((x|lowerBits)^closes) | (x-blanks)&^x&highs; m != 0 {
			i += bits.TrailingZeros64(m) >> 3
			if i == from {
				return bad
			}
			return i
		}
	}
	for ; i < len(b); i++ {
		if c := b[i]; c <= ' ' || c == ',' || c == ']' || c == '}' {
			if i == from {
				return bad
			}
			return i
		}
	}
	return short
}

// skipValue is the end of the value that begins at i.
func skipValue(b []byte, i int) int {
	if i >= len(b) {
		return short
	}
	switch b[i] {
	case '"':
		end, _ := stringEnd(b, i+1)
		if end < 0 {
			return end
		}
		return end + 1
	case '{', '[':
		return skipNested(b, i+1, 1)
	}
	return literalEnd(b, i)
}

// skipNested is the index behind the bracket that closes the depth-th open one. It counts
// brackets outside strings, 8 bytes at a time, and needs no stack: depth costs nothing.
func skipNested(b []byte, i, depth int) int {
	for i+8 <= len(b) {
		x := binary.LittleEndian.Uint64(b[i:])
		lower := x | lowerBits // [ and { become one, ] and } too
		m := zeros(x^quotes) | zeros(lower^opens) | zeros(lower^closes)
		if m == 0 {
			i += 8
			continue
		}
		i += bits.TrailingZeros64(m) >> 3
		switch b[i] {
		case '"':
			end, _ := stringEnd(b, i+1)
			if end < 0 {
				return end
			}
			i = end + 1
		case '{', '[':
			depth++
			i++
		default:
			depth--
			i++
			if depth == 0 {
				return i
			}
		}
	}
	for i < len(b) {
		switch b[i] {
		case '"':
			end, _ := stringEnd(b, i+1)
			if end < 0 {
				return end
			}
			i = end
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
		i++
	}
	return short
}

// nextEvent is where, at or after i, the next event seems to begin: at the bracket of "}, {"" with any blanks.
// A text can look like it too, so that what is found is only a place to try.
func nextEvent(b []byte, i int) int {
	for ; i < len(b); i++ {
		if b[i] == '}' {
			if at := eventAfter(b, i+1); at >= 0 {
				return at
			}
		}
	}
	return short
}

// lastCut is the last index of b at which an event seems to begin, within the last reach bytes.
func lastCut(b []byte, reach int) int {
	for i := len(b) - 1; i >= max(0, len(b)-reach); i-- {
		if b[i] == '}' {
			if at := eventAfter(b, i+1); at >= 0 {
				return at
			}
		}
	}
	return short
}

// eventAfter is the index of { in `, {"` at i, blanks aside.
func eventAfter(b []byte, i int) int {
	i = skipSpace(b, i)
	if i >= len(b) || b[i] != ',' {
		return short
	}
	at := skipSpace(b, i+1)
	if at >= len(b) || b[at] != '{' {
		return short
	}
	if q := skipSpace(b, at+1); q >= len(b) || b[q] != '"' {
		return short
	}
	return at
}

// A skipper finds the end of one value in pieces of text: the value's first byte begins the first piece.
type skipper struct {
	begun, literal, inString, escaped bool
	depth                             int
}

// feed looks at the next piece. done says that the value ended before b[n].
func (s *skipper) feed(b []byte) (n int, done bool) {
	for i, c := range b {
		if !s.begun {
			s.begun = true
			s.literal = c != '"' && c != '{' && c != '['
		}
		switch {
		case s.literal:
			if isDelimiter[c] && i+s.depth > 0 {
				return i, true
			}
			s.depth = 1 // a delimiter in the first place belongs to nobody and is passed over
		case s.escaped:
			s.escaped = false
		case s.inString:
			switch c {
			case '\\':
				s.escaped = true
			case '"':
				s.inString = false
				if s.depth == 0 {
					return i + 1, true
				}
			}
		case c == '"':
			s.inString = true
		case c == '{' || c == '[':
			s.depth++
		case c == '}' || c == ']':
			if s.depth--; s.depth <= 0 {
				return i + 1, true
			}
		}
	}
	return len(b), false
}

// strictEnd is skipValue with the grammar of objects and arrays held: bad as soon as a key, colon,
// comma or bracket is not where it should be, where skipValue would run on to the end of b.
func strictEnd(b []byte, i int) int {
	var open []byte // the brackets around i
	for {
		// a value begins here
		if i = skipSpace(b, i); i >= len(b) {
			return short
		}
		switch c := b[i]; c {
		case '{', '[':
			open = append(open, c)
			if i = skipSpace(b, i+1); i >= len(b) {
				return short
			}
			if b[i] != c+2 { // not empty
				if c == '{' {
					if i = strictKey(b, i); i < 0 {
						return i
					}
				}
				continue
			}
		default:
			from := i
			if i = skipValue(b, i); i < 0 {
				return i
			}
			if c != '"' && !isLiteral(b[from:i]) {
				return bad
			}
			if len(open) == 0 {
				return i
			}
		}
		// a value ended here, or an empty object or array does
		for {
			if i = skipSpace(b, i); i >= len(b) {
				return short
			}
			last := open[len(open)-1]
			if b[i] == last+2 {
				i++
				if open = open[:len(open)-1]; len(open) == 0 {
					return i
				}
				continue
			}
			if b[i] != ',' {
				return bad
			}
			i++
			if last == '{' {
				if i = strictKey(b, i); i < 0 {
					return i
				}
			}
			break
		}
	}
}

// isLiteral holds a number or word to the bytes that one can have.
func isLiteral(b []byte) bool {
	for _, c := range b {
		if c-'0' > 9 && (c|0x20)-'a' > 25 && c != '-' && c != '+' && c != '.' {
			return false
		}
	}
	return true
}

// strictKey is where the value of the key at or behind i begins.
func strictKey(b []byte, i int) int {
	if i = skipSpace(b, i); i >= len(b) {
		return short
	}
	if b[i] != '"' {
		return bad
	}
	end, _ := stringEnd(b, i+1)
	if end < 0 {
		return end
	}
	if i = skipSpace(b, end+1); i >= len(b) {
		return short
	}
	if b[i] != ':' {
		return bad
	}
	return i + 1
}
