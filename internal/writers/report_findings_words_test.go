package writers

import (
	"strings"
	"testing"

	"lacuna/internal/report"
)

// What a repair needs first is said: the rule to repair, else the change that it cannot be made without.
func TestSavesWordsNeeds(t *testing.T) {
	for _, c := range []struct {
		f    report.Finding
		want string
	}{
		{report.Finding{First: "host_sync", Before: []string{"drop-syncs"}}, "; repair host_sync first; "},
		{report.Finding{Before: []string{"drop-allocs", "drop-syncs"}}, "; needs drop-allocs and drop-syncs first; "},
		{report.Finding{}, ")"},
	} {
		r := &report.Report{Findings: []report.Finding{c.f}}
		got := savesWords(r, &r.Findings[0], 0)
		if !strings.Contains(got, c.want) || strings.Contains(got, "first") != strings.Contains(c.want, "first") {
			t.Errorf("%+v: %q, want %q in it", c.f, got, c.want)
		}
	}
}
