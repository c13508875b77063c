package evtext

import (
	"fmt"
	"math"
	"math/bits"
	"strconv"
	"strings"
	"unicode/utf8"
)

// clip keeps texts of an error on one line.
func clip(s string) string {
	if len(s) > 60 {
		return s[:57] + "..."
	}
	return s
}

// appendValue writes a text as the value of an attribute.
func appendValue(b []byte, s string) []byte {
	if s == "" || strings.ContainsAny(s, " \t\"`'") || !printable(s) {
		return strconv.AppendQuote(b, s)
	}
	return append(b, s...)
}

// appendName writes a text as the rest of a line.
func appendName(b []byte, s string) []byte {
	if strings.HasPrefix(s, " ") || strings.HasSuffix(s, " ") || !printable(s) || likeAttribute(firstWord(s)) {
		return strconv.AppendQuote(b, s)
	}
	return append(b, s...)
}

// printable says whether s can stand on a line as it is.
func printable(s string) bool {
	for i, r := range s {
		if r < utf8.RuneSelf {
			if r < ' ' || r == 0x7f {
				return false
			}
			continue
		}
		if !strconv.IsPrint(r) {
			return false
		}
		if r == utf8.RuneError {
			if _, n := utf8.DecodeRuneInString(s[i:]); n == 1 {
				return false
			}
		}
	}
	return true
}

func firstWord(s string) string {
	if i := strings.IndexAny(s, " \t"); i >= 0 {
		return s[:i]
	}
	return s
}

// likeAttribute says whether a name that begins with this word has to be quoted: in one table or
// another it could be an attribute, a time, a number or a quoted name.
func likeAttribute(word string) bool {
	if word == "" {
		return false
	}
	c := word[0]
	if c >= '0' && c <= '9' || strings.IndexByte("-+.\"", c) >= 0 || strings.Contains(word, "->") {
		return true
	}
	if i := strings.IndexByte(word, '='); i >= 0 && isKey(word[:i]) {
		return true
	}
	return isShort(word) || isEnumWord(word)
}

// isKey says whether s could be a key: letters and digits in lower case.
func isKey(s string) bool {
	for i := range len(s) {
		if c := s[i]; !(c >= 'a' && c <= 'z' || c >= '0' && c <= '9') {
			return false
		}
	}
	return s != ""
}

// isShort says whether s is a letter followed by a number or "-".
func isShort(s string) bool {
	if len(s) < 2 || strings.IndexByte("sdtpcx", s[0]) < 0 {
		return false
	}
	return s[1:] == "-" || strings.Trim(s[1:], "0123456789") == ""
}

func isEnumWord(s string) bool {
	return s == "in" || hasWord(copyKinds, s) || hasWord(syncKinds, s) || hasWord(callClasses, s) ||
		hasWord(rangeKinds, s)
}

func hasWord[K comparable](m map[K]string, s string) bool {
	for _, w := range m {
		if w == s {
			return true
		}
	}
	return false
}

// unquoted is the text of a value or name that may be quoted.
func unquoted(s string) (string, error) {
	if !strings.HasPrefix(s, `"`) {
		return s, nil
	}
	out, err := strconv.Unquote(s)
	if err != nil {
		return "", fmt.Errorf("%s is not a quoted text", clip(s))
	}
	return out, nil
}

// next cuts the first token off a line. A token ends at a blank outside quotes.
func next(s string) (token, rest string) {
	s = strings.TrimLeft(s, " \t")
	i := 0
	for i < len(s) && s[i] != ' ' && s[i] != '\t' {
		if s[i] == '"' && (i == 0 || s[i-1] == '=') {
			if q, err := strconv.QuotedPrefix(s[i:]); err == nil {
				i += len(q)
				continue
			}
		}
		i++
	}
	return s[:i], s[i:]
}

// units of a time, in nanoseconds.
var timeUnits = []struct {
	name string
	ns   uint64
}{{"ns", 1}, {"us", 1e3}, {"µs", 1e3}, {"ms", 1e6}, {"s", 1e9}}

// parseNs reads an integer of nanoseconds or a decimal number with a unit; digits below a nanosecond must be 0.
func parseNs(s string) (int64, error) {
	if v, err := strconv.ParseInt(s, 10, 64); err == nil {
		return v, nil
	}
	bad := fmt.Errorf("%q is not a time; want 1500, 1500ns, 1.5us", clip(s))
	digits, negative := strings.CutPrefix(s, "-")
	end := strings.TrimLeft(digits, "0123456789.")
	scale := uint64(0)
	for _, u := range timeUnits {
		if u.name == end {
			scale = u.ns
		}
	}
	whole, frac, _ := strings.Cut(digits[:len(digits)-len(end)], ".")
	n, err := strconv.ParseUint(whole, 10, 64)
	if scale == 0 || err != nil {
		return 0, bad
	}
	hi, ns := bits.Mul64(n, scale)
	for _, c := range []byte(frac) {
		scale /= 10
		if c == '.' || scale == 0 && c != '0' {
			return 0, bad
		}
		ns += uint64(c-'0') * scale
	}
	if hi != 0 || ns > math.MaxInt64 {
		return 0, bad
	}
	if negative {
		return -int64(ns), nil
	}
	return int64(ns), nil
}
