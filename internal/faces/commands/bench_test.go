package commands

import (
	"strings"
	"testing"
)

func TestSplitWords(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"python a.py  --x 1", "python|a.py|--x|1"},
		{`python -c 'print("a b")' "c d" e\ f ''`, `python|-c|print("a b")|c d|e f|`},
		{`a"b"c`, "abc"},
		{"a | b", `error: '|' needs a shell`},
		{"a $HOME", `error: '$' needs a shell`},
		{`a "$HOME"`, `error: '$' needs a shell`},
		{"a '$HOME'", "a|$HOME"},
		{"a 'b", "error: a quote is not closed"},
		{" ", "error: no program in it"},
	} {
		words, err := splitWords(test.text)
		got := strings.Join(words, "|")
		if err != nil {
			got = "error: " + err.Error()
		}
		if got != test.want && !(err != nil && strings.HasPrefix(got, test.want)) {
			t.Errorf("%s: %s, want %s", test.text, got, test.want)
		}
	}
}
