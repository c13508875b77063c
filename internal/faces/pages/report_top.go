package pages

import (
	"fmt"
	"math"
	"strings"

	"lacuna/internal/answer/report"
	"lacuna/internal/base/unit"
	"lacuna/internal/faces/page"
	"lacuna/internal/kernel/kernelname"
	"lacuna/internal/timeline/facts"
)

// number is a column of numbers. name is its head where there is room.
func number(head, name string, drop int) page.Column {
	return page.Column{Head: head, Name: name, Right: true, Drop: drop}
}

// ofCapture takes steps out of heads: a capture in which none were found is taken as one.
var ofCapture = strings.NewReplacer("/step", "", " per step", "", "of step", "of capture")

// topList is a list of what takes most.
func topList(r *report.Report, title, first string, rows [][]page.Text, columns ...page.Column) []page.Block {
	columns = append([]page.Column{{Head: first, Flex: true}}, columns...)
	if r.Steps.Source == "none" {
		for i := range columns {
			columns[i].Head, columns[i].Name = ofCapture.Replace(columns[i].Head), ofCapture.Replace(columns[i].Name)
		}
	}
	return tableSection(title, true, page.Table{Columns: columns, Rows: rows})
}

func topKernels(r *report.Report) []page.Block {
	var rows [][]page.Text
	for _, k := range r.TopKernels {
		digits := unit.TableDigits(r.Budget.StepMs(), r.TopKernels[0].MsPerStep)
		name := page.Seen(page.Named(kernelname.Short(k.Name)), page.Place{Input: r.Slowest, Kernel: k.Name})
		if k.Kind == "comm" {
			name = page.Join(page.T("[comm] "), name)
		}
		rows = append(rows, row(name, unit.Fixed(k.MsPerStep, digits), unit.Percent(k.ShareOfStep),
			unit.PerStep(k.CallsPerStep), unit.Fixed(k.MeanUs, 1)))
	}
	return topList(r, "Top kernels", "kernel", rows, number("ms/step", "ms per step", 0),
		number("% of step", "", 0), number("calls/step", "calls per step", 1), number("mean µs", "", 2))
}

// row is a name and its numbers.
func row(name page.Text, numbers ...string) []page.Text {
	return append([]page.Text{name}, page.Row(numbers...)...)
}

// topOps is operators by GPU work; of a capture without any, by the host's time.
func topOps(r *report.Report) []page.Block {
	var rows [][]page.Text
	for _, o := range r.TopOps {
		digits := unit.TableDigits(r.Budget.StepMs(), r.TopOps[0].MsPerStep)
		share, calls, host := unit.Percent(o.ShareOfStep), unit.PerStep(o.CallsPerStep), unit.Fixed(o.HostMs, digits)
		if len(r.PerDevice) == 0 {
			rows = append(rows, row(page.Named(o.Name), host, share, unit.Fixed(o.HostTotalMs, digits), calls))
		} else {
			rows = append(rows, row(page.Named(o.Name), unit.Fixed(o.MsPerStep, digits), share, calls, host))
		}
	}
	time, share := number("ms/step", "ms per step", 0), number("% of step", "", 0)
	calls := number("calls/step", "calls per step", 1)
	if len(r.PerDevice) == 0 {
		const title = "Operators and ranges, by host self time of all threads"
		return topList(r, title, "operator", rows, time, share, number("with inner ms", "", 2), calls)
	}
	columns := []page.Column{time, share, calls, number("host ms", "", 2)}
	return topList(r, "Operators and ranges, by GPU time", "operator", rows, columns...)
}

func topCopies(r *report.Report) []page.Block {
	var rows [][]page.Text
	for _, c := range r.TopCopies {
		digits := unit.TableDigits(r.Budget.StepMs(), r.TopCopies[0].MsPerStep)
		rows = append(rows, row(page.T(c.Name), unit.Fixed(c.MsPerStep, digits), known(c.MBPerStep), known(c.GBs),
			unit.PerStep(c.CallsPerStep)))
	}
	return topList(r, "Copies", "copy", rows, number("ms/step", "ms per step", 0), number("MB/step", "MB per step", 0),
		number("GB/s", "", 2), number("calls/step", "calls per step", 1))
}

// known is a quantity that is not recorded where it is 0.
func known(v float64) string {
	if v <= 0 {
		return "-"
	}
	return unit.Fixed(v, unit.MsDigits(v))
}

func topSyncs(r *report.Report) []page.Block {
	var rows [][]page.Text
	for _, s := range r.TopSyncs {
		digits := unit.TableDigits(r.Budget.StepMs(), r.TopSyncs[0].MsPerStep)
		name := page.Named(s.Name)
		if s.Where != "" {
			name = page.Sayf("%s in %s", name, page.Named(s.Where))
		}
		cells := []string{unit.Fixed(s.MsPerStep, digits), unit.PerStep(s.CallsPerStep)}
		if len(r.PerDevice) > 0 { // else nobody knows when it was
			cells = append(cells, unit.Fixed(s.BusyMs, digits))
		}
		rows = append(rows, row(name, cells...))
	}
	columns := []page.Column{number("ms/step", "ms per step", 0), number("calls/step", "calls per step", 1)}
	if len(r.PerDevice) > 0 {
		columns = append(columns, number("GPU work in it", "ms of recorded GPU work in it", 2))
	}
	return topList(r, "Calls that may wait for the GPU", "call", rows, columns...)
}

// gaps describes the longest gaps. Gaps that are alike, as those of one place in every step, are one entry.
func gaps(r *report.Report) []page.Block {
	type likeness struct {
		device                              uint32
		cause, call, inRange, before, after string
	}
	alike := make(map[likeness][]report.Gap)
	var order []likeness
	for _, g := range r.Gaps {
		key := likeness{g.Device, g.Cause, g.Call, g.Range, g.Before, g.After}
		if alike[key] == nil {
			order = append(order, key)
		}
		alike[key] = append(alike[key], g)
	}
	var out []page.Block
	for _, key := range order {
		list := alike[key]
		out = append(out, page.Prose{Indent: 2, Hang: 2, List: 1, Text: gapWords(r, list)},
			page.Prose{Indent: 4, List: 2, Text: between(list[0])})
	}
	return section("Longest GPU idle gaps", true, out...)
}

// gapWords is how long gaps that are alike are, the longest first, and what the host did in them.
func gapWords(r *report.Report, list []report.Gap) page.Text {
	g := list[0]
	digits := unit.MsDigits(g.DurMs)
	length := page.Seen(page.Num(unit.Fixed(g.DurMs, digits)+" ms"), placesOf(r, list)...)
	text := page.Sayf("%s at %s ms", length, unit.Fixed(g.StartMs, 1))
	if n := len(list); n > 1 {
		text = page.Sayf("%d of %s to %s, the first at %s ms", n, unit.Fixed(list[n-1].DurMs, digits), length,
			unit.Fixed(firstMs(list), 1))
	}
	if len(r.PerDevice) > 1 {
		text = page.Join(text, page.Sayf(" on GPU %d", g.Device))
	}
	return page.Join(text, page.Sayf(": the host %s", causeWords(gapKey(g, r.Budget))), whereWords(r, g, list),
		gapCodeWords(g.Code))
}

// placesOf is where gaps are.
func placesOf(r *report.Report, list []report.Gap) (out []page.Place) {
	const nsPerMs = 1e6
	for _, g := range list {
		start := int64(math.Round((r.Steps.WindowMs[0] + g.StartMs) * nsPerMs))
		end := start + int64(math.Round(g.DurMs*nsPerMs))
		out = append(out, page.Place{Input: r.Slowest, Device: &g.Device, StartNs: &start, EndNs: &end})
	}
	return out
}

// gapKey is the cause of a gap, by name if it is one call that takes long: such a call does not launch.
func gapKey(g report.Gap, b report.Budget) string {
	if g.Cause == facts.CauseLaunch && b.IdleInLongCalls[g.Call] > 0 && 2*g.CallMs >= g.DurMs {
		return facts.HeldIn(g.Call).Key()
	}
	return g.Cause
}

// firstMs is the start of the earliest gap.
func firstMs(list []report.Gap) float64 {
	first := list[0].StartMs
	for _, g := range list {
		first = min(first, g.StartMs)
	}
	return first
}

// explains is the least share of a gap that a call has to take to be shown beside it.
const explains = 0.05

// whereWords adds the range and the call behind a gap, the first of those in list, to what the host did.
func whereWords(r *report.Report, g report.Gap, list []report.Gap) (s page.Text) {
	if g.Range != "" && facts.ParseCause(g.Cause).Name != g.Range {
		s = page.Sayf(", in %s", page.Named(g.Range))
	}
	longest := 0.0
	for _, x := range list {
		longest = max(longest, x.CallMs)
	}
	took := fmt.Sprintf("(%s ms)", unit.Fixed(longest, unit.MsDigits(longest)))
	switch {
	case gapKey(g, r.Budget) == facts.HeldIn(g.Call).Key():
		s = page.Join(s, page.T(" "+took))
	case g.Call != "" && longest >= explains*g.DurMs:
		s = page.Join(s, page.Sayf("; longest call: %s %s", page.Named(g.Call), took))
	}
	return s
}

// between says what ran before and after a gap.
func between(g report.Gap) page.Text {
	work := func(name string) page.Text { return page.Of(page.Short, kernelname.Base(name)) }
	switch {
	case g.Before != "" && g.After != "":
		return page.Sayf("after %s, until %s", work(g.Before), work(g.After))
	case g.After != "":
		return page.Sayf("from the start, until %s", work(g.After))
	case g.Before != "":
		return page.Sayf("after %s, to the end", work(g.Before))
	}
	return nil
}
