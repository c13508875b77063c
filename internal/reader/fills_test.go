package reader

import (
	"testing"

	"lacuna/internal/timeline/model"
)

func TestHaving(t *testing.T) {
	a := &Format{Name: "a", Maker: "A", Fills: []Fill{{Parts: model.PartKernels},
		{Parts: model.PartMPI | model.PartOS, With: "--mpi"}, {Parts: model.PartSched, With: "--sched"}}}
	b := &Format{Name: "b", Maker: "B b", Fills: []Fill{{Parts: model.PartKernels | model.PartSched}}}
	form := &Format{Name: "form", Fills: []Fill{{Parts: model.PartsAll}}}
	counters := &Format{Name: "counters", Maker: "C"}
	all := []*Format{a, b, form, counters}
	for _, test := range []struct {
		parts model.Parts
		want  string
	}{
		{model.PartKernels, "A; B b"},
		{model.PartMPI, "A with --mpi"},
		{model.PartKernels | model.PartSched, "A with --sched; B b"},
		{model.PartMPI | model.PartSched, "A with --mpi and --sched"},
		{model.PartPython, ""},
	} {
		if got := Having(all, test.parts); got != test.want {
			t.Errorf("%v: %q, want %q", test.parts.Words(), got, test.want)
		}
	}
	if Named(all, "b") != b || Named(all, "B b") != nil {
		t.Error("a format is found by its name only")
	}
}
