package writers

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"lacuna/internal/compare"
	"lacuna/internal/kernelname"
	"lacuna/internal/unit"
)

// mostSheets is how many kernels are told metric by metric on a page for people.
const mostSheets = 3

// diffSheets prints, for each kernel of two reports whose time moved most, what moved inside it and what that means.
func (p *printer) diffSheets(d *compare.Difference) {
	for i := range d.Sheets[:min(mostSheets, len(d.Sheets))] {
		s := &d.Sheets[i]
		p.heading(p.clean(sheetTitle(s)))
		p.prose("  ", 2, p.clean(sheetWords(s)))
		p.sheetRows(s)
	}
	if more := len(d.Sheets) - mostSheets; more > 0 {
		p.prose("  ", 2, fmt.Sprintf("%s in --format json; --kernel NAME picks.", unit.Counted(more, "more kernel is", "more kernels are")))
	}
}

// sheetRows prints the metrics of a kernel; meanings wrap in a column of their own.
func (p *printer) sheetRows(s *compare.KernelSheet) {
	const gap, room = 2, 30 // columns, the least for meanings
	width := [3]int{len("metric"), len("before"), len("after")}
	var cells [][3]string
	for _, r := range s.Rows {
		c := [3]string{p.clean(r.Metric), sheetNumber(r.Unit, r.Before), sheetNumber(r.Unit, r.After)}
		for i := range c {
			width[i] = max(width[i], utf8.RuneCountInString(c[i]))
		}
		cells = append(cells, c)
	}
	width[0] = max(len("metric"), min(width[0], p.width()-width[1]-width[2]-4*gap-room))
	row := func(c [3]string) string {
		return "  " + pad(p.fit(c[0], width[0]), width[0], false) + "  " + pad(c[1], width[1], true) + "  " + pad(c[2], width[2], true) + "  "
	}
	indent := width[0] + width[1] + width[2] + 4*gap
	p.prose(row([3]string{"metric", "before", "after"}), indent, "meaning")
	for i, r := range s.Rows {
		p.prose(row(cells[i]), indent, p.clean(r.Meaning))
	}
}

// sheetTitle is which kernels are compared.
func sheetTitle(s *compare.KernelSheet) string {
	b, a := kernelname.Profiled(s.Before), kernelname.Profiled(s.After)
	if b == a {
		return "Inside " + b
	}
	return "Inside " + b + ", now " + a
}

// sheetWords is what bounds the kernel before and after, and which findings went and came.
func sheetWords(s *compare.KernelSheet) string {
	var out []string
	b, a := classWords(s.BeforeClass), classWords(s.AfterClass)
	switch {
	case b != "" && b == a:
		out = append(out, "It is still "+b+".")
	case b != "" && a != "":
		out = append(out, "It was "+b+", and is now "+a+".")
	}
	for _, f := range []struct {
		what  string
		rules []string
	}{{"Gone: ", s.Gone}, {"New: ", s.New}, {"Still there: ", s.Stayed}} {
		if len(f.rules) > 0 {
			out = append(out, f.what+strings.Join(f.rules, ", ")+".")
		}
	}
	return strings.Join(out, " ")
}

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

func sheetChange(r *compare.SheetRow) string {
	switch {
	case r.Unit == "%":
		return unit.Signed(r.After-r.Before) + " points"
	case r.ChangePct == nil:
		return "from none"
	}
	return unit.Signed(*r.ChangePct) + " %"
}

// diffSheets writes the same as tables.
func (m *markdown) diffSheets(d *compare.Difference) {
	for i := range d.Sheets[:min(mostSheets, len(d.Sheets))] {
		s := &d.Sheets[i]
		m.line("")
		m.line("#### " + m.text(sheetTitle(s)))
		m.line("")
		m.line(m.text(sheetWords(s)))
		var rows [][]string
		for _, r := range s.Rows {
			rows = append(rows, []string{m.text(r.Metric), sheetNumber(r.Unit, r.Before), sheetNumber(r.Unit, r.After), sheetChange(&r), m.text(r.Meaning)})
		}
		m.line("")
		m.table([]string{"metric", "before", "after", "change", "meaning"}, "lrrrl", rows)
	}
}
