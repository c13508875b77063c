package compare

import (
	"cmp"
	"math"
	"slices"

	"lacuna/internal/kernel/kernelreport"
)

// A KernelSheet is one kernel profiled before and after: what moved inside it, and what that means.
type KernelSheet struct {
	Before      string     `json:"before"` // names; they differ where the kernel was renamed
	After       string     `json:"after"`
	How         string     `json:"how"` // by what they were matched: name, renamed, place
	BeforeUs    float64    `json:"before_us"`
	AfterUs     float64    `json:"after_us"`
	BeforeClass string     `json:"before_class"` // compute, memory:dram ...; "": not known
	AfterClass  string     `json:"after_class"`
	Rows        []SheetRow `json:"rows"`
	Gone        []string   `json:"gone"` // findings, by rule
	New         []string   `json:"new"`
	Stayed      []string   `json:"stayed"`
}

// A SheetRow is one metric before and after.
type SheetRow struct {
	Metric    string   `json:"metric"`
	Unit      string   `json:"unit"` // us, bytes, % (of a whole), or "" for a number
	Before    float64  `json:"before"`
	After     float64  `json:"after"`
	ChangePct *float64 `json:"change_pct"` // of before; null: from nothing
	Meaning   string   `json:"meaning"`
}

// sheetsOf pairs the kernels of two reports, those first whose time moved most.
func sheetsOf(before, after *kernelreport.Report) []KernelSheet {
	m := &matcher{before: kernelsCalled(namesIn(before)), after: kernelsCalled(namesIn(after)),
		left: [2][]int{all(len(before.Kernels)), all(len(after.Kernels))}}
	m.byKey(byName, func(k *Kernel) string { return k.Name }, false)
	m.byKey(byName, func(k *Kernel) string { return k.names.Base + " " + k.names.Words }, false)
	m.byKey(byStem, func(k *Kernel) string { return k.names.Stem() }, false)
	if len(m.left[0]) == 1 && len(m.left[1]) == 1 {
		m.take(pair{slices.Clone(m.left[0]), slices.Clone(m.left[1]), byPlace})
	}
	out := []KernelSheet{}
	for _, p := range m.pairs {
		if len(p.before) == 1 && len(p.after) == 1 {
			out = append(out, sheetOf(&before.Kernels[p.before[0]], &after.Kernels[p.after[0]], p.how))
		}
	}
	slices.SortStableFunc(out, func(a, b KernelSheet) int {
		return cmp.Compare(math.Abs(b.AfterUs-b.BeforeUs), math.Abs(a.AfterUs-a.BeforeUs))
	})
	return out
}

// namesIn is the kernels of a report by name; sizes of one function are counted, so that the first matches the first.
func namesIn(r *kernelreport.Report) (out []string) {
	for i := range r.Kernels {
		out = append(out, r.Kernels[i].Name)
	}
	return out
}

func sheetOf(b, a *kernelreport.Kernel, how string) KernelSheet {
	s := KernelSheet{Before: b.Name, After: a.Name, How: how, BeforeClass: b.Class, AfterClass: a.Class,
		Gone: []string{}, New: []string{}, Stayed: []string{}}
	if b.DurationUs != nil {
		s.BeforeUs = *b.DurationUs
	}
	if a.DurationUs != nil {
		s.AfterUs = *a.DurationUs
	}
	was, is := rulesOf(b), rulesOf(a)
	for _, r := range was {
		if slices.Contains(is, r) {
			s.Stayed = append(s.Stayed, r)
		} else {
			s.Gone = append(s.Gone, r)
		}
	}
	for _, r := range is {
		if !slices.Contains(was, r) {
			s.New = append(s.New, r)
		}
	}
	s.Rows = sheetRows(b, a)
	return s
}

func rulesOf(k *kernelreport.Kernel) (out []string) {
	for _, f := range k.Findings {
		out = append(out, f.Rule)
	}
	return out
}
