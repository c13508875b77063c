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
