package rules

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"lacuna/internal/evtext"
	"lacuna/internal/facts"
	"lacuna/internal/golden"
)

// TestRules: every rule has testdata/ID.txtar with a case that fires and one that is silent.
func TestRules(t *testing.T) {
	for _, rule := range All {
		file := "testdata/" + rule.ID + ".txtar"
		t.Run(rule.ID, func(t *testing.T) {
			golden.Cases(t, file, func(t *testing.T, events string) string {
				trace, err := evtext.Parse(events)
				if err != nil {
					t.Fatal(err)
				}
				f := facts.Of(trace)
				steps, err := f.Steps()
				if err != nil {
					t.Fatal(err)
				}
				return format(Run(NewCase(f, steps), []*Rule{rule}))
			})
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(string(text), "fires/events") || !strings.Contains(string(text), "silent/events") {
				t.Errorf("%s: wants a case named fires and one named silent", file)
			}
		})
	}
}

// format is what rules found, a line each.
func format(all *Findings) string {
	var b strings.Builder
	for _, f := range all.All {
		fmt.Fprintf(&b, "%s | %.2f | at most %.0f ns | %s | %s\n", f.Rule.ID, f.Confidence, f.AtMostNs, strings.Join(f.Changes, " "), f.Title)
		for _, e := range f.Evidence {
			fmt.Fprintf(&b, "  %s\n", e.Text)
			for _, row := range e.Rows {
				fmt.Fprintf(&b, "    %s\n", row)
			}
		}
	}
	for _, a := range all.Abstained {
		fmt.Fprintf(&b, "cannot tell: %s: %s; %s\n", a.Rule.ID, a.Reason, a.Try)
	}
	return b.String()
}

// TestDocuments: every rule says what it is, when it is wrong, what to do and what would refute it.
func TestDocuments(t *testing.T) {
	for _, r := range All {
		for name, text := range map[string]string{"Title": r.Title, "Since": r.Since, "Doc": r.Doc, "Limits": r.Limits, "Fix": r.Fix, "Confirm": r.Confirm, "RefutedBy": r.RefutedBy} {
			if strings.TrimSpace(text) == "" {
				t.Errorf("%s: no %s", r.ID, name)
			}
		}
	}
	if !slices.IsSortedFunc(All, func(a, b *Rule) int { return cmp.Compare(a.ID, b.ID) }) {
		t.Error("All is not in order of ID")
	}
}
