package report

import (
	"encoding/json"
	"strings"
	"testing"

	"lacuna/internal/timeline/evtext"
	"lacuna/internal/timeline/facts"
)

// unjudged is what nobody has judged.
func unjudged() (Judged, error) { return Judged{}, nil }

// TestNoNulls: lists of a report that have nothing are [] in JSON, never null.
func TestNoNulls(t *testing.T) {
	for _, events := range []string{"", "step 0+10\nstep 10+10\n", "kernel 100+50 a\n"} {
		trace, err := evtext.Parse(events)
		if err != nil {
			t.Fatal(err)
		}
		r, err := Build([]*facts.Facts{facts.Of(trace)}, Options{}, unjudged)
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "null") {
			t.Errorf("null in %s", text)
		}
	}
}
