package kernelrules

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"lacuna/internal/base/golden"
	"lacuna/internal/kernel"
	"lacuna/internal/kernel/profile"
)

// parse reads launches in text form.
func parse(t *testing.T, text string) []*kernel.Kernel {
	t.Helper()
	report, err := profile.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	var all []*kernel.Kernel
	for _, l := range report.Launches {
		all = append(all, kernel.Of(l))
	}
	return all
}

// TestRules: every rule has testdata/ID.txtar with a case that fires, one that is silent and one that is nearly so.
func TestRules(t *testing.T) {
	for _, rule := range All {
		file := "testdata/" + rule.ID + ".txtar"
		t.Run(rule.ID, func(t *testing.T) {
			golden.Cases(t, file, func(t *testing.T, events string) string {
				all := parse(t, events)
				var b strings.Builder
				for at := range all {
					b.WriteString(format(Run(NewCase(all, at), []*Rule{rule})))
				}
				return b.String()
			})
			for _, name := range []string{"fires", "silent", "near-miss"} {
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

// format is what a rule found, a line each.
func format(all *Findings) string {
	var b strings.Builder
	for _, f := range all.All {
		fmt.Fprintf(&b, "%s | %.2f | %s\n", f.Rule.ID, f.Confidence, f.Title)
		if f.PredictedUs > 0 {
			fmt.Fprintf(&b, "  %.1f us [%.1f, %.1f], then %s\n", f.PredictedUs, f.LowUs, f.HighUs, f.Next)
		}
		for _, e := range f.Evidence {
			fmt.Fprintf(&b, "  %s\n", e)
		}
	}
	for _, f := range all.Mentioned {
		fmt.Fprintf(&b, "mentioned: %s | %s\n", f.Rule.ID, f.Title)
	}
	for _, a := range all.Abstained {
		fmt.Fprintf(&b, "cannot tell: %s: no %s; collect --section %s\n", a.Rule.ID, a.Missing, a.Section)
	}
	return b.String()
}

// TestDocuments: every rule says what it is, when it is wrong, what to do and what would refute it.
func TestDocuments(t *testing.T) {
	for _, r := range All {
		for name, text := range map[string]string{"Title": r.Title, "Since": r.Since, "Doc": r.Doc, "Limits": r.Limits,
			"Fix": r.Fix, "RefutedBy": r.RefutedBy} {
			if strings.TrimSpace(text) == "" {
				t.Errorf("%s: no %s", r.ID, name)
			}
		}
		if len(r.Needs) == 0 {
			t.Errorf("%s: needs nothing, so that it judges a launch without counters", r.ID)
		}
	}
	if !slices.IsSortedFunc(All, func(a, b *Rule) int { return cmp.Compare(a.ID, b.ID) }) {
		t.Error("All is not in order of ID")
	}
}

// A launch of which nothing was collected, or two metrics, gets no finding and a section to collect for each rule.
func TestFewMetrics(t *testing.T) {
	for _, text := range []string{
		"kernel k grid=1,1,1 block=32,1,1\n",
		"kernel k grid=1,1,1 block=32,1,1\ngpu__time_duration.sum " +
			"100000\nsm__throughput.avg.pct_of_peak_sustained_elapsed 3.5\n",
	} {
		all := parse(t, text)
		got := Run(NewCase(all, 0), All)
		if len(got.All) != 0 || len(got.Mentioned) != 0 {
			t.Errorf("%q gives %s", text, format(got))
		}
		if len(got.Abstained) < 23 {
			t.Errorf("%q: only %d rules abstain", text, len(got.Abstained))
		}
		for _, a := range got.Abstained {
			if a.Missing == "" || a.Section == "" {
				t.Errorf("%s abstains without a reason or a section", a.Rule.ID)
			}
		}
	}
}
