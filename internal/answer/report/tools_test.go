package report

import (
	"testing"

	"lacuna/internal/timeline/evtext"
	"lacuna/internal/timeline/facts"
)

// Nobody is told to record again with the tool that left something out; its flags and other tools stay.
func TestOtherTools(t *testing.T) {
	of := func(tool string) *facts.Facts {
		trace, err := evtext.Parse("tool spread=0.3 " + tool + "\nkernel 100+200 gemm\n")
		if err != nil {
			t.Fatal(err)
		}
		return facts.Of(trace)
	}
	mine, other := of("our tool"), of("other")
	for _, test := range []struct {
		with, want string
		in         []*facts.Facts
	}{
		{"our tool, x --y, or z", "x --y, or z", []*facts.Facts{mine, mine}},
		{"our tool, or x --y", "x --y", []*facts.Facts{mine}},
		{"our tool", "", []*facts.Facts{mine}},
		{"our tool --sample, or x", "our tool --sample, or x", []*facts.Facts{mine}},
		{"our tool, or x", "our tool, or x", []*facts.Facts{mine, other}},
		{"our tool, or x", "our tool, or x", []*facts.Facts{other}},
		{"", "", []*facts.Facts{mine}},
	} {
		if got := otherTools(test.with, test.in); got != test.want {
			t.Errorf("%q: %q, want %q", test.with, got, test.want)
		}
	}
}
