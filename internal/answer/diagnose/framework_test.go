package diagnose

import (
	"strings"
	"testing"

	"lacuna/internal/timeline/evtext"
	"lacuna/internal/timeline/facts"
	"lacuna/internal/timeline/rules"
)

// The first fix that a reader sees is in the words of the program: PyTorch's only where something is PyTorch's.
func TestFixInOwnWords(t *testing.T) {
	var rule *rules.Rule
	for _, r := range rules.All {
		if r.ID == "pageable_copy" {
			rule = r
		}
	}
	for events, want := range map[string]string{
		"call c1 1us+2us cudaLaunchKernel\nkernel c1 5us+5us saxpy":                                  rule.FixC,
		"op x1 0us+3us aten::mm\ncall c1 x1 1us+2us cudaLaunchKernel\nkernel c1 x1 5us+5us sgemm_nn": rule.Fix,
	} {
		trace, err := evtext.Parse(events)
		if err != nil {
			t.Fatal(err)
		}
		found := &rules.Findings{All: []rules.Finding{{Rule: rule}}}
		inOwnWords(found, facts.Of(trace))
		if got := finding(&found.All[0]); got.Fix != strings.Trim(want, "\n") {
			t.Errorf("%q: the fix is %q", events, got.Fix)
		} else if got.FixElsewhere == got.Fix {
			t.Errorf("%q: the fix is given twice", events)
		}
	}
}
