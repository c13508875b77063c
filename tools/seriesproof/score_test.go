package main

import (
	"reflect"
	"testing"
)

func TestScore(t *testing.T) {
	for _, test := range []struct {
		found, marked []int
		want          score
	}{
		{nil, nil, score{1, 1}},
		{[]int{10}, nil, score{0, 1}},
		{nil, []int{10}, score{1, 0}},
		{[]int{10, 12}, []int{11}, score{0.5, 1}}, // a mark counts once
		{[]int{5, 16}, []int{10, 22}, score{0.5, 0.5}},
	} {
		if got := scoreOf(test.found, test.marked); got != test.want {
			t.Errorf("%v of %v: %+v, want %+v", test.found, test.marked, got, test.want)
		}
	}
}

func TestLabels(t *testing.T) {
	s := series{kind: "human"}
	s.label("annotator6: 338 | annotator7: - | annotator9: 159;238")
	if want := []annotator{{"annotator6", []int{338}}, {"annotator7", nil},
		{"annotator9", []int{159, 238}}}; !reflect.DeepEqual(s.annotators, want) {
		t.Errorf("%+v", s.annotators)
	}
	s = series{kind: "human windows"}
	s.label("2014-2148;3328-3462")
	if want := [][2]int{{2014, 2148}, {3328, 3462}}; !reflect.DeepEqual(s.windows, want) {
		t.Errorf("%+v", s.windows)
	}
	s = series{kind: "algorithm"}
	s.label("count only: tests/test_detection.py expects 9 change points from e_divisive")
	if s.expected != 9 {
		t.Error(s.expected)
	}
}
