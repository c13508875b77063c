package page_test

import (
	"testing"

	"lacuna/internal/faces/page"
)

// Sayf writes what it is given, keeps the kinds of texts, and shows a value too few or too many.
func TestSayf(t *testing.T) {
	for _, c := range []struct {
		have page.Text
		want string
	}{
		{page.Sayf("%s of %d, %.1f %%", page.Num("3 ms"), 7, 2.25), "3 ms of 7, 2.2 %"},
		{page.Sayf("nothing"), "nothing"},
		{page.Sayf("%s and %s", "one"), "one and %!s(MISSING)"},
		{page.Sayf("%s", "one", "two"), "one%!(EXTRA)"},
		{page.Sayf("none", 1), "none%!(EXTRA)"},
	} {
		var got string
		for _, s := range c.have {
			got += s.Text
		}
		if got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
	if s := page.Sayf("takes %s", page.Num("3 ms")); len(s) != 2 || s[1].Kind != page.Number {
		t.Errorf("a figure is no longer one: %+v", s)
	}
}
