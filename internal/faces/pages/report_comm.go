package pages

import (
	"cmp"
	"fmt"

	"lacuna/internal/answer/report"
	"lacuna/internal/base/unit"
	"lacuna/internal/faces/page"
)

// communication is what each process group communicates, where there are several.
func communication(r *report.Report) []page.Block {
	const worthRow = 0.001 // of the step
	var rows [][]page.Text
	step := r.Budget.StepMs()
	digits := unit.MsDigits(step)
	waits := false
	for _, c := range r.Communication {
		if c.Ms < worthRow*step {
			continue
		}
		wait := "-"
		if c.WaitMs != nil {
			wait, waits = unit.Fixed(*c.WaitMs, digits), true
		}
		rows = append(rows, []page.Text{groupWords(c), page.T(unit.Fixed(c.ExposedMs, digits)),
			page.T(unit.Fixed(c.OverlappedMs, digits)), page.T(wait), operationWords(c)})
	}
	if len(rows) < 2 {
		return nil
	}
	columns := []page.Column{{Head: "group"}, number("exposed", "", 0), number("overlapped", "", 0),
		number("waiting", "for other ranks", 0), {Head: "mostly", Flex: true}}
	if !waits {
		columns = append(columns[:3:3], columns[4])
		for i := range rows {
			rows[i] = append(rows[i][:3:3], rows[i][4])
		}
	}
	return section("Communication by process group, ms per step", true, page.Table{Columns: columns, Rows: rows})
}

// groupWords names a group.
func groupWords(c report.Communication) page.Text {
	s := page.Named(cmp.Or(c.Group, "not recorded"))
	if c.Size > 0 {
		s = page.Sayf("%s, %s ranks", s, fmt.Sprint(c.Size))
	}
	return s
}

// operationWords is the operation that takes most of a group's time, with what is known of it.
func operationWords(c report.Communication) page.Text {
	if len(c.Operations) == 0 {
		return nil
	}
	op := c.Operations[0]
	s := page.Sayf("%s %s", unit.PerStep(op.CallsPerStep), page.Of(page.Word, op.Name))
	if op.MBPerCall > 0 {
		s = page.Sayf("%s of %s MB", s, unit.Short(op.MBPerCall))
	}
	if op.BusGBs > 0 {
		s = page.Sayf("%s at %s GB/s", s, unit.Short(op.BusGBs))
	}
	return s
}
