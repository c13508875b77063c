package page

import (
	"strings"
	"testing"
)

func TestPartsOf(t *testing.T) {
	got := partsOf("\nA\n B\n\nC\n\n    x = 1\n\n        y\nD\n")
	var b strings.Builder
	for _, x := range got {
		b.WriteString(map[bool]string{true: "code", false: "text"}[x.code] + "[" + strings.Join(x.lines, "|") + "] ")
	}
	if want := "text[A|B] text[C] code[x = 1||    y] text[D] "; b.String() != want {
		t.Errorf("got %q, want %q", b.String(), want)
	}
}

// What is cut off behind the first code is the rest of it.
func TestCut(t *testing.T) {
	for _, test := range []struct{ in, first, rest string }{
		{"\nA\n\n    x = 1\n\n        y\nD\n    z\n", "A\n\n    x = 1\n\n        y", "D\n    z"},
		{"no code", "no code", ""},
		{"    only\n    code", "    only\n    code", ""},
		{"", "", ""},
	} {
		if first, rest := Cut(test.in); first != test.first || rest != test.rest {
			t.Errorf("Cut(%q) = %q, %q", test.in, first, rest)
		}
	}
}

// A command goes on after a backslash between its words; a path that is wider than the page stays whole, and so do
// words with blanks in quotes.
func TestCommandLines(t *testing.T) {
	const path = "/data/worker1_step_12.1694128201556.pt.trace.json.gz"
	for _, test := range []struct {
		command string
		width   int
		want    string
	}{
		{"lacuna report a.json", 40, "lacuna report a.json"},
		{"lacuna whatif " + path + " -x overlap-comm", 30, "lacuna whatif \\\n" + path + " \\\n-x overlap-comm"},
		{"lacuna stats 'a  b.json' -r phases", 20, "lacuna stats \\\n'a  b.json' -r \\\nphases"},
		{"", 20, ""},
	} {
		if got := strings.Join(commandLines(test.command, test.width), "\n"); got != test.want {
			t.Errorf("%q in %d columns: %q, want %q", test.command, test.width, got, test.want)
		}
	}
}
