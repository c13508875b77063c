package instrument

import (
	"fmt"
	"strings"
	"testing"
)

// Logical lines: where they begin, how deep they are, and what of them is code.
func TestScan(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"a = 1\n\n# c\n  \nb = 2", "1:0 5:0"},
		{"f(1,\n  2)\nb", "1:0 3:0"},
		{"x = '''\nfor a in b:\n'''\ny", "1:0 4:0"},
		{"x = r'\\'\ny", "error"},                         // a raw string cannot end with one backslash
		{"x = r'a\\' b'\ny", "1:0 2:0"},                   // the quote after it is in the string
		{"x = f\"{d[\"a\"]}: {'#'}\"  # c\ny", "1:0 2:0"}, // from Python 3.12 on
		{"x = f'{a!r:{w}} {{'\ny", "1:0 2:0"},
		{"x = f'{'\ny", "1:0 2:0"}, // an error of the script's, not ours
		{"if a:\n\tb\n        c\n  d", "1:0 2:8 3:8 4:2"},
		{"a = b + \\\n  c\nd", "1:0 3:0"},
		{"a = b + \\\r\n  c\r\nd\r\n", "1:0 3:0"},
		{"a # 'x\nb = \"#\" ; c", "1:0 2:0"},
		{"x = (1\n", "error"},
		{"x = 'a\ny", "error"},
		{"\ufeffa\n", "1:0"},
		{"", ""},
	} {
		s, err := scan(test.text)
		got := "error"
		if err == nil {
			var lines []string
			for _, l := range s.lines {
				lines = append(lines, fmt.Sprintf("%d:%d", l.number, l.indent))
				if len(l.code) != l.to-l.from || strings.Contains(l.code, "#") {
					t.Errorf("%q: code %q", test.text, l.code)
				}
			}
			got = strings.Join(lines, " ")
		}
		if got != test.want {
			t.Errorf("%q: %s, want %s", test.text, got, test.want)
		}
	}
}

// The colon that ends a header, and where a for loop's expression stands.
func TestHeaders(t *testing.T) {
	for _, test := range []struct{ code, iterable string }{
		{"for a in b:", "b"},
		{"for i, (a, b) in enumerate(zip(x[1:], y)): pass", "enumerate(zip(x[1:], y))"},
		{"for a in  1, 2 :", "1, 2"},
		{"for index in [i for i in range(3) if i in s]:", "[i for i in range(3) if i in s]"},
		{"for x in map(lambda v: v + 1, y):", "map(lambda v: v + 1, y)"},
		{"for x in lambda: y:", "lambda: y"},
		{"for x in (\n  a,\n  b\n):", "(\n  a,\n  b\n)"},
		{"for x:", ""},
	} {
		from, to := iterable(test.code)
		if got := test.code[from:to]; got != test.iterable {
			t.Errorf("%q: %q, want %q", test.code, got, test.iterable)
		}
	}
	for code, want := range map[string]bool{"for x in y:": true, "  while True:": true, "async for x in y:": true,
		"format(x)": false, "for_each = 1": false, "while_ = 2": false, "x = [a for a in b]": false,
		"forx in y": false} {
		if isLoop(code) != want {
			t.Errorf("%q: loop %v", code, !want)
		}
	}
}
