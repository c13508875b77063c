package page

import "testing"

func TestFit(t *testing.T) {
	for _, test := range []struct {
		text  string
		width int
		want  string
	}{
		{"short", 10, "short"},
		{"abcdefghij", 7, "abcd…ij"},
		{"abcdefghij", 1, "a"},
		{"矩阵乘法内核", 7, "矩阵…核"},
	} {
		if got := (Layout{}).Fit(test.text, test.width); got != test.want {
			t.Errorf("Fit(%q, %d) = %q, want %q", test.text, test.width, got, test.want)
		}
	}
}

func TestPrintable(t *testing.T) {
	for in, want := range map[string]string{
		"plain":           "plain",
		"a\x1b[31mb\n":    `a\x1b[31mb\n`,
		"x\u202ey\u200bz": `x\u202ey\u200bz`,
		"\xff\xfe":        `\xff\xfe`,
		"größe µs":        "größe µs",
	} {
		if got := Printable(in); got != want {
			t.Errorf("Printable(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestShares(t *testing.T) {
	for _, test := range []struct {
		values []float64
		width  int
		want   []int
	}{
		{[]float64{1, 1, 2}, 8, []int{2, 2, 4}},
		{[]float64{0, 0, 0}, 8, []int{0, 0, 0}},
		{[]float64{1e-9, 0, 1}, 10, []int{1, 0, 9}},
		{[]float64{1e-9, 1e-9, 1e-9, 1}, 4, []int{1, 1, 1, 1}},
		{[]float64{1, 1, 1}, 10, []int{4, 3, 3}},
	} {
		got := Shares(test.values, test.width)
		if len(got) != len(test.want) {
			t.Fatalf("Shares(%v) = %v", test.values, got)
		}
		for i := range got {
			if got[i] != test.want[i] {
				t.Errorf("Shares(%v, %d) = %v, want %v", test.values, test.width, got, test.want)
				break
			}
		}
	}
}

// A sentence begins with a capital letter where it begins with a small one of ours.
func TestSentence(t *testing.T) {
	for in, want := range map[string]string{"it is so": "It is so.", "Really?": "Really?",
		"µs are short": "µs are short.", "矩": "矩.", "": ""} {
		if got := Sentence(T(in)).String(); got != want {
			t.Errorf("Sentence(%q) = %q, want %q", in, got, want)
		}
	}
	if got := Sentence(Join(Named("aten::linear"), T(" runs"))).String(); got != "aten::linear runs." {
		t.Errorf("a name became %q", got)
	}
}
