package pages

import (
	"slices"
	"strings"

	"lacuna/internal/base/unit"
	"lacuna/internal/faces/page"
	"lacuna/internal/kernel/kernelname"
	"lacuna/internal/runs/compare"
)

// mostSheets is how many kernels are shown metric by metric on a page for people.
const mostSheets = 3

// sheets is, for each kernel of two reports whose time moved most, what moved inside it and what that means.
func sheets(d *compare.Difference) (out []page.Block) {
	for i := range d.Sheets[:min(mostSheets, len(d.Sheets))] {
		s := &d.Sheets[i]
		out = append(out, page.Section{Title: sheetTitle(s), Level: 1,
			Blocks: []page.Block{page.Prose{Indent: 2, Text: sheetWords(s)}, sheetTable(s)}})
	}
	if more := len(d.Sheets) - mostSheets; more > 0 {
		out = append(out, page.Prose{Indent: 2, Small: true,
			Text: page.Sayf(
				"%s in --format json; --kernel NAME picks.",
				unit.Counted(more, "more kernel is", "more kernels are"),
			)})
	}
	return out
}

// sheetHeadline is what came of the kernel whose time moved most, in a sentence.
func sheetHeadline(d *compare.Difference) page.Text {
	s := &d.Sheets[0]
	name := page.Of(page.Long, kernelname.Profiled(s.After))
	i := slices.IndexFunc(s.Rows, func(r compare.SheetRow) bool { return r.Metric == "time" })
	if i < 0 {
		return page.Sayf("%s: time not measured on both sides.", name)
	}
	r := s.Rows[i]
	words := page.Sayf("%s takes %s (was %s): %s", name, page.Num(unit.Micros(r.After)),
		page.Num(unit.Micros(r.Before)), r.Meaning)
	if b, a := classWords(s.BeforeClass), classWords(s.AfterClass); a != "" && a != b {
		words = page.Sayf("%s, now %s", words, a)
	}
	words = page.Sayf("%s.", words)
	if more := len(d.Sheets) - 1; more > 0 {
		words = page.Sayf("%s %s below.", words, unit.Counted(more, "more kernel is", "more kernels are"))
	}
	return words
}

// sheetTable is the metrics of a kernel and what they mean.
func sheetTable(s *compare.KernelSheet) page.Table {
	t := page.Table{Sentences: true, Columns: []page.Column{{Head: "metric", Flex: true}, {Head: "before", Right: true},
		{Head: "after", Right: true}, {Head: "meaning"}}}
	for _, r := range s.Rows {
		t.Rows = append(
			t.Rows,
			[]page.Text{page.T(sheetMetric(r.Metric)), page.Num(sheetNumber(r.Unit, r.Before)),
				page.Num(sheetNumber(r.Unit, r.After)), page.T(r.Meaning)},
		)
	}
	return t
}

// sheetMetric is what a metric is called: of what warps wait for, ncu's name.
func sheetMetric(name string) string {
	group, ok := strings.CutPrefix(name, "warps: ")
	if !ok {
		return name
	}
	return "stall: " + stallName(group)
}

// sheetTitle is which kernels are compared.
func sheetTitle(s *compare.KernelSheet) page.Text {
	b, a := kernelname.Profiled(s.Before), kernelname.Profiled(s.After)
	if b == a {
		return page.Sayf("Inside %s", page.Of(page.Long, b))
	}
	return page.Sayf("Inside %s, now %s", page.Of(page.Long, b), page.Of(page.Long, a))
}

// sheetWords is what bounds the kernel before and after, and which findings went and came.
func sheetWords(s *compare.KernelSheet) page.Text {
	var out []page.Text
	b, a := classWords(s.BeforeClass), classWords(s.AfterClass)
	switch {
	case b != "" && b == a:
		out = append(out, page.Sayf("Still %s.", b))
	case b != "" && a != "":
		out = append(out, page.Sayf("Was %s, now %s.", b, a))
	}
	for _, f := range []struct {
		what  string
		rules []string
	}{{"Gone", s.Gone}, {"New", s.New}, {"Still there", s.Stayed}} {
		var rules []page.Text
		for _, r := range f.rules {
			rules = append(rules, page.Of(page.Word, r))
		}
		if len(rules) > 0 {
			out = append(out, page.Sayf("%s: %s.", f.what, page.List(rules, ", ")))
		}
	}
	return page.List(out, " ")
}

// sheetNumber is a metric with its unit.
func sheetNumber(u string, x float64) string {
	switch u {
	case "us":
		return unit.Micros(x)
	case "bytes":
		return unit.FormatBytes(int64(x))
	case "%":
		return unit.Short(x) + " %"
	}
	return unit.SI(x)
}
