// Package instrument finds the hot loop of a Python script and writes the lines that make its steps visible to a
// profiler: PyTorch's, or NVTX for Nsight and lacuna record. It needs no Python.
package instrument

import (
	"errors"
	"fmt"
	"strings"
)

// A line is a logical line of Python: what stands up to the end of its brackets, strings and continuations.
type line struct {
	from, to int    // bytes of the script, without the end of line
	number   int    // of its first line, from 1
	indent   int    // columns; a tab goes on to the next multiple of 8, as in Python
	code     string // its text with the contents of strings and comments blanked, of the same length
}

// text is what a logical line is, with strings and comments.
func (s *script) text(l *line) string { return s.source[l.from:l.to] }

// A script is a Python file, scanned.
type script struct {
	source string
	eol    string           // "\n" or "\r\n", which most lines end with
	lines  []line           // logical ones, without empty ones and comments
	own    map[string]marks // what the script's own functions do, by name; set by loops
}

// maxScript is how long a script may be, in bytes: what is larger is no script.
const maxScript = 1 << 20

// maxDepth is how deep strings may nest in f-strings of strings.
const maxDepth = 16

// maxWork is how often a byte is looked at in strings at most, on average: strings in f-strings are tried first as
// such, then as plain text, and a script that is made for it would be tried for ever.
const maxWork = 16

// A textReader finds the ends of strings and of logical lines.
type textReader struct {
	source string
	budget int // bytes that may still be looked at in strings
}

// errNests is that strings nest as no person writes them.
var errNests = errors.New("strings nest too deep in f-strings")

// errEnds is that a string or a bracket has no end.
var errEnds = errors.New("ends inside a string or bracket: it is not valid Python")

// scan divides a script into logical lines.
func scan(source string) (*script, error) {
	if len(source) > maxScript {
		return nil, fmt.Errorf("is %d bytes long; want a script of at most %d", len(source), maxScript)
	}
	if strings.ContainsRune(source[:min(len(source), 4096)], 0) {
		return nil, errors.New("is not text")
	}
	s := &script{source: source, eol: "\n"}
	if crlf := strings.Count(source, "\r\n"); crlf*2 > strings.Count(source, "\n") {
		s.eol = "\r\n"
	}
	r := &textReader{source: source, budget: maxWork*len(source) + 4096}
	blank := []byte(source) // strings and comments become blanks in it
	at, number := 0, 1
	if strings.HasPrefix(source, "\ufeff") {
		at = len("\ufeff")
	}
	for at < len(source) {
		l := line{from: at, number: number}
		end, err := r.logicalEnd(at, blank)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
		l.to = end
		for l.to > l.from && source[l.to-1] == '\r' {
			l.to--
		}
		number += strings.Count(source[at:end], "\n") + 1
		l.code = string(blank[l.from:l.to])
		if strings.TrimSpace(l.code) != "" || strings.TrimSpace(source[l.from:l.to]) != "" &&
			!isComment(source[l.from:l.to]) {
			l.indent = indentOf(l.code)
			s.lines = append(s.lines, l)
		}
		at = end + 1
	}
	return s, nil
}

func isComment(text string) bool { return strings.HasPrefix(strings.TrimLeft(text, " \t\f"), "#") }

// indentOf is the column of a line's first character.
func indentOf(text string) int {
	col := 0
	for i := range len(text) {
		switch text[i] {
		case ' ':
			col++
		case '\t':
			col = col/8*8 + 8
		case '\f':
			col = 0
		default:
			return col
		}
	}
	return col
}

// logicalEnd is where the logical line that begins at a place ends: the newline, or the end of the script. Contents of
// strings and comments are blanked in blank.
func (r *textReader) logicalEnd(at int, blank []byte) (int, error) {
	source, depth := r.source, 0
	for i := at; i < len(source); {
		switch c := source[i]; {
		case c == '\n' && depth == 0:
			return i, nil
		case c == '#':
			for i < len(source) && source[i] != '\n' {
				blank[i] = ' '
				i++
			}
			continue
		case c == '\\' && i+1 < len(source):
			i++
			if source[i] == '\r' && i+1 < len(source) && source[i+1] == '\n' {
				i++
			}
		case c == '(' || c == '[' || c == '{':
			depth++
		case c == ')' || c == ']' || c == '}':
			depth = max(0, depth-1)
		case c == '"' || c == '\'':
			end, err := r.stringEnd(i, 0)
			if err != nil {
				return 0, err
			}
			for k := i + 1; k < end-1; k++ {
				if blank[k] != '\n' {
					blank[k] = '_'
				}
			}
			i = end
			continue
		}
		i++
	}
	if depth > 0 {
		return 0, errEnds
	}
	return len(source), nil
}

// stringEnd is the place after the string whose first quote is at a place. What stands before the quote says what it
// is.
func (r *textReader) stringEnd(at, depth int) (int, error) {
	source := r.source
	if depth > maxDepth {
		return 0, errNests
	}
	raw, formatted := prefixOf(source, at)
	quote := source[at : at+1]
	if strings.HasPrefix(source[at:], strings.Repeat(quote, 3)) {
		quote = strings.Repeat(quote, 3)
	}
	for i := at + len(quote); i < len(source); {
		if r.budget--; r.budget < 0 {
			return 0, errNests
		}
		switch c := source[i]; {
		case strings.HasPrefix(source[i:], quote):
			return i + len(quote), nil
		case c == '\\' && (!raw || i+1 < len(source)): // in a raw string too, a quote after it does not end the string
			i += 2
		case c == '\n' && len(quote) == 1:
			return 0, errEnds
		case c == '{' && formatted && strings.HasPrefix(source[i:], "{{"):
			i += 2
		case c == '{' && formatted:
			end, ok := r.expressionEnd(i, len(quote) == 3, depth)
			if !ok { // read on as a plain string: to try again at each brace would take for ever where strings nest
				formatted = false
				continue
			}
			i = end
		default:
			i++
		}
	}
	return 0, errEnds
}

// expressionEnd is the place after the braces of an f-string's expression, in which any string may stand since Python
// 3.12.
func (r *textReader) expressionEnd(at int, long bool, depth int) (int, bool) {
	source := r.source
	open := 0
	for i := at; i < len(source); {
		if r.budget--; r.budget < 0 {
			return 0, false
		}
		switch c := source[i]; c {
		case '{', '(', '[':
			open++
		case '}', ')', ']':
			if open--; open == 0 {
				return i + 1, true
			}
		case '\n':
			if !long {
				return 0, false
			}
		case '"', '\'':
			end, err := r.stringEnd(i, depth+1)
			if err != nil {
				return 0, false
			}
			i = end
			continue
		}
		i++
	}
	return 0, false
}

// prefixOf is what the letters before a quote say: rb"", f”.
func prefixOf(source string, quote int) (raw, formatted bool) {
	i := quote
	for i > 0 && quote-i < 3 && strings.IndexByte("rRbBfFuUtT", source[i-1]) >= 0 {
		i--
	}
	if i > 0 && isWord(source[i-1]) {
		return false, false // the end of a name, which no string can follow
	}
	letters := strings.ToLower(source[i:quote])
	return strings.Contains(letters, "r"), strings.ContainsAny(letters, "ft")
}

func isWord(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}
