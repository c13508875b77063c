package golden

import (
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
)

func TestCases(t *testing.T) {
	var names []string
	CasesWithArgs(t, "testdata/upper.txtar", func(t *testing.T, c Case) string {
		names = append(names, c.Name+":"+c.Args)
		return strings.ToUpper(c.Events)
	})
	if got := strings.Join(names, " "); got != "two/lines: with_args:a=1 b empty:" {
		t.Errorf("cases are %q", got)
	}
}

func TestSplitErrors(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"only a comment\n", "no case"},
		{"-- a --\n", "want NAME/events"},
		{"-- a/events --\n-- a/events --\n", "each once"},
		{"-- a/event --\n", "want NAME/events"},
		{"-- a/events --\n-- b/want --\n", "b/events"},
	} {
		_, _, err := split(txtar.Parse([]byte(test.text)))
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("split(%q) = %v, want %s", test.text, err, test.want)
		}
	}
}

// What -update writes keeps comment and events, replaces wants and adds those that are missing.
func TestJoin(t *testing.T) {
	a := txtar.Parse([]byte("Comment.\n-- b/events --\n1\n-- b/want --\nold\n-- a/args --\nx\n-- a/events --\n2\n"))
	cases, _, err := split(a)
	if err != nil {
		t.Fatal(err)
	}
	got := string(join(a, cases, map[string]string{"a": "new a\n", "b": "new b\n"}))
	want := "Comment.\n-- b/events --\n1\n-- b/want --\nnew b\n-- a/args --\nx\n-- a/events --\n2\n-- a/want " +
		"--\nnew a\n"
	if got != want {
		t.Errorf("joined\n%s\nwant\n%s", got, want)
	}
}

// recorder is a test that notes instead of failing.
type recorder struct {
	testing.TB
	said string
}

func (r *recorder) Helper()                   {}
func (r *recorder) Errorf(f string, a ...any) { r.said = f }

func TestEqual(t *testing.T) {
	r := &recorder{TB: t}
	if Equal(r, "x", "a\nb\n", "a\nb\n"); r.said != "" {
		t.Error("equal texts differ")
	}
	if Equal(r, "x", "a\nb\n", "a\n"); r.said == "" {
		t.Error("different texts are equal")
	}
}
