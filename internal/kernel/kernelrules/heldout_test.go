package kernelrules_test

import (
	"encoding/csv"
	"os"
	"slices"
	"strings"
	"testing"

	"lacuna/internal/kernel"
	"lacuna/internal/kernel/kernelrules"
)

// heldOut is kernels outside the corpus with what was planted in them (README there).
const heldOut = "../../../bench/gpu/kernels2/"

// notFound is planted faults that are not the first finding, and why; a fixed kernel that is accused of its fault
// is one too.
var notFound = map[string]string{
	"tallies/slow":      "atomics at 26 % of one slice beside a sweep of DRAM: 17 % of the time",
	"standardise/fixed": "the repair leaves one of two extra passes",
}

// In kernels that the rules were not made on, the planted fault comes first, and neither fixed nor healthy ones
// have it.
func TestHeldOut(t *testing.T) {
	f, err := os.Open(heldOut + "times.csv")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	judged := 0
	for _, row := range rows[1:] {
		path := heldOut + "reports/" + row[0] + ".ncu-rep.zst"
		if _, err := os.Stat(path); err != nil {
			continue // two cases were not captured
		}
		t.Run(row[0]+"/"+row[1], func(t *testing.T) {
			all, found := open(t, path)
			i := slices.IndexFunc(all, func(k *kernel.Kernel) bool { return k.Launch.Base == row[4] })
			if i < 0 {
				t.Fatalf("no %s in the report", row[4])
			}
			judged++
			if wrong := wrongly(row[1], row[3], all[i],
				found[i]); (wrong != "") != (notFound[row[0]+"/"+row[1]] != "") {
				t.Errorf("%s; found %s; known: %q", wrong, brief(found[i].All), notFound[row[0]+"/"+row[1]])
			}
		})
	}
	if judged != 40 {
		t.Errorf("%d kernels were judged, want 40", judged)
	}
}

// wrongly is what is wrong with a diagnosis; "": nothing.
func wrongly(variant, fault string, k *kernel.Kernel, found *kernelrules.Findings) string {
	fault, noGain := strings.CutPrefix(fault, "no_gain:")
	names := func(f kernelrules.Finding) bool { return slices.Contains(strings.Fields(fault), f.Rule.ID) }
	accused := slices.ContainsFunc(found.All, func(f kernelrules.Finding) bool {
		return isHigh(k, f) &&
			(names(f) || fault == "healthy")
	})
	switch {
	case noGain || variant != "slow":
		if accused {
			return "accused of " + fault
		}
	case len(found.All) == 0 || !names(found.All[0]):
		return fault + " is not the first finding"
	}
	return ""
}
