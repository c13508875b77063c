package rules

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"lacuna/internal/base/golden"
	"lacuna/internal/timeline/evtext"
	"lacuna/internal/timeline/facts"
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
				return format(only(rule, Run(NewCase(f, steps), append([]*Rule{rule}, rule.After...))))
			})
			for _, name := range []string{"fires", "silent"} {
				want, ok := golden.Want(t, file, name)
				if !ok {
					t.Errorf("%s: wants a case named %s", file, name)
				} else if fired := strings.HasPrefix(want, rule.ID+" |"); fired != (name == "fires") {
					t.Errorf("%s: the case %s has the finding: %v", file, name, fired)
				}
			}
		})
	}
	golden.NoStrangers(t, "testdata", func(name string) bool {
		return slices.ContainsFunc(All, func(r *Rule) bool { return r.ID == name })
	})
}

// only is what one rule said.
func only(rule *Rule, all *Findings) *Findings {
	all.All = slices.DeleteFunc(all.All, func(f Finding) bool { return f.Rule != rule })
	all.Abstained = slices.DeleteFunc(all.Abstained, func(a Abstention) bool { return a.Rule != rule })
	return all
}

// format is what rules found, a line each.
func format(all *Findings) string {
	var b strings.Builder
	for _, f := range all.All {
		faint := ""
		if f.Faint {
			faint = ", faint"
		}
		if f.Occasions > 0 {
			faint += fmt.Sprintf(", %d times", f.Occasions)
		}
		fmt.Fprintf(&b, "%s | %.2f | at most %.0f ns%s | %s | %s\n", f.Rule.ID, f.Confidence, f.AtMostNs, faint,
			strings.Join(f.Changes, " "), f.Title)
		for _, e := range f.Evidence {
			fmt.Fprintf(&b, "  %s\n", e.Text)
			for _, row := range e.Rows {
				fmt.Fprintf(&b, "    %s\n", row)
			}
		}
		if f.First != "" {
			fmt.Fprintf(&b, "  first: %s\n", f.First)
		}
		if f.Fix != "" { // its own
			first, _, _ := strings.Cut(strings.TrimSpace(f.Fix), "\n")
			fmt.Fprintf(&b, "  fix: %s\n", first)
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
		for name, text := range map[string]string{"Title": r.Title, "Since": r.Since, "Doc": r.Doc, "Limits": r.Limits,
			"Fix": r.Fix, "Confirm": r.Confirm, "RefutedBy": r.RefutedBy} {
			if strings.TrimSpace(text) == "" {
				t.Errorf("%s: no %s", r.ID, name)
			}
		}
	}
	if !slices.IsSortedFunc(All, func(a, b *Rule) int { return cmp.Compare(a.ID, b.ID) }) {
		t.Error("All is not in order of ID")
	}
}

// Every rule bears captures in which next to nothing happens.
func TestRulesBearNothing(t *testing.T) {
	for _, events := range []string{
		"",
		"call c1 1us+2us cudaLaunchKernel\nkernel c1 0us+0us k",
		"kernel 0us+0us k",
		"copy HtoD pageable->device 0us+0us",
		"step 0us+0us\nstep 0us+0us\ncall c1 0us+0us cudaLaunchKernel\nkernel c1 0us+0us k",
		"call 0us+0us cudaDeviceSynchronize",
		"op x1 0us+0us aten::mm",
	} {
		trace, err := evtext.Parse(events)
		if err != nil {
			t.Fatalf("%q: %v", events, err)
		}
		f := facts.Of(trace)
		steps, err := f.Steps()
		if err != nil {
			t.Fatal(err)
		}
		Run(NewCase(f, steps), All) // does not panic
	}
}
