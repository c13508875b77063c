package compare

import (
	"strings"
	"testing"
)

func TestShapesDiffer(t *testing.T) {
	mm := func(text string, calls, ms float64) Shape {
		return Shape{Op: "aten::mm", Text: text, Calls: calls, Ms: ms}
	}
	for _, test := range []struct {
		name          string
		before, after []Shape
		want          string
	}{
		{"the same", []Shape{mm("[[32]]", 4, 1)}, []Shape{mm("[[32]]", 4, 1)}, ""},
		{"another batch", []Shape{mm("[[32]]", 4, 1)}, []Shape{mm("[[64]]", 4, 2)}, "aten::mm had [[32]], now [[64]]"},
		{"called more often", []Shape{mm("[[32]]", 4, 1)}, []Shape{mm("[[64]]", 8, 2)}, ""},
		{"both shapes, in other parts", []Shape{mm("[[32]]", 4, 1)},
			[]Shape{{Op: "aten::mm", Text: "[[64]]", Calls: 4, Ms: 1,
				all: map[string]bool{"[[32]]": true, "[[64]]": true}}}, ""},
		{"a small part of it", []Shape{mm("[[32]]", 4, 1), {Op: "aten::add", Text: "[[1]]", Calls: 4, Ms: 9}},
			[]Shape{mm("[[64]]", 4, 1), {Op: "aten::add", Text: "[[1]]", Calls: 4, Ms: 9}}, ""},
		{"no shapes on a side", []Shape{mm("[[32]]", 4, 1)}, nil, ""},
	} {
		if got := shapesDiffer(test.before, test.after); !strings.HasSuffix(got, test.want) ||
			(got == "") != (test.want == "") {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}
