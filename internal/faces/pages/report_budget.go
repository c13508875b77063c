package pages

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"lacuna/internal/answer/report"
	"lacuna/internal/base/unit"
	"lacuna/internal/faces/page"
	"lacuna/internal/timeline/facts"
)

// noRow is the share of a step below which a part has no row: it shows as less than 0.1 %. JSON has every part.
const noRow = 0.0005

// budget is what a step's parts take; under idle, what the host did meanwhile.
func budget(r *report.Report) []page.Block {
	if len(r.PerDevice) == 0 {
		return nil // no GPU: nothing waits
	}
	b, step := r.Budget, r.Budget.StepMs()
	digits := unit.MsDigits(step)
	part := func(name page.Text, ms float64) page.Part {
		return page.Part{Name: name, Value: ms, Figure: unit.Fixed(ms, digits), Share: unit.Percent(ms / step)}
	}
	var parts []page.Part
	for _, x := range []struct {
		name  string
		ms    float64
		block string
		ascii string
		style page.Style
	}{ // in the order in which an instant is counted
		{"compute", b.Compute, "█", "#", page.Green},
		{"exposed communication", b.CommExposed, "▓", "%", page.Magenta},
		{copyWord(b), b.Copy, "▒", "=", page.Cyan},
		{"idle", b.Idle, "░", ".", page.Red},
	} {
		if x.name != "compute" && x.name != "idle" && x.ms < noRow*step {
			continue
		}
		p := part(page.T(x.name), x.ms)
		p.Block, p.ASCII, p.Style = x.block, x.ascii, x.style
		parts = append(parts, p)
	}
	if causes := shownCauses(b); len(causes) > 0 {
		parts[len(parts)-1].Name = page.T("idle, while the host ...")
		for _, c := range causes {
			p := part(c.words, c.ms)
			p.Inner = true
			parts = append(append(parts, p), codeParts(b, c, part)...)
		}
	}
	whole, of := "one step", "step"
	if r.Steps.Source == "none" {
		whole, of = "the capture", "capture"
	}
	out := []page.Block{page.Breakdown{Parts: parts, Total: part(page.T(whole), step), Of: of}}
	for _, x := range []struct {
		ms   float64
		what string
	}{{b.CommOverlapped, "Communication"}, {b.CopyOverlapped, "Copies"}} {
		if x.ms/step >= 0.001 {
			hidden := page.Num(unit.Fixed(x.ms, digits) + " ms")
			out = append(out, page.Prose{Indent: 4, Small: true,
				Text: page.Sayf("%s: %s more is overlapped", x.what, hidden)})
		}
	}
	for i, x := range becauseRows(b) {
		if i == 0 {
			out = append(out, page.Gap{})
		}
		out = append(out, page.Prose{Indent: 2, Hang: 2, Text: becauseWords(x, r.Steps.Source)})
	}
	return out
}

// From which share of the time of copies and memsets on both are named, and only the one.
const (
	bothWords = 0.10
	oneWord   = 0.90
)

// copyWord is what the part of a budget is called in which the GPU only moves or sets memory.
func copyWord(b report.Budget) string {
	switch {
	case b.Memset >= oneWord*b.Copy && b.Memset > 0:
		return "memset"
	case b.Memset >= bothWords*b.Copy && b.Memset > 0:
		return "copy and memset"
	}
	return "copy"
}

// copyNoun is the same where it is said what the GPU does.
func copyNoun(b report.Budget) string {
	switch copyWord(b) {
	case "memset":
		return "memsets"
	case "copy and memset":
		return "copies and memsets"
	}
	return "copies"
}

// A cause is a part of the idle time.
type cause struct {
	key   string    // as in idle_by_host
	words page.Text // what the host did, as the end of "the host ..."
	ms    float64
}

// causesOf is a budget's idle by host, most first; ties by name. Calls that take long do not launch: they are shown by
// name.
func causesOf(b report.Budget) []cause {
	var out []cause
	inCalls := 0.0
	for _, call := range slices.Sorted(maps.Keys(b.IdleInLongCalls)) {
		ms := b.IdleInLongCalls[call]
		held := facts.HeldIn(call)
		out = append(out, cause{held.Key(), phrase(held.Clause()), ms})
		inCalls += ms
	}
	for key, ms := range b.IdleByHost {
		if key == facts.CauseLaunch {
			ms = max(0, ms-inCalls)
		}
		out = append(out, cause{key, causeWords(key), ms})
	}
	slices.SortFunc(out, func(a, b cause) int { return byLength(a.ms, b.ms, a.key, b.key) })
	return out
}

// maxCauses is how many causes of idle time are shown one by one.
const maxCauses = 6

// shownCauses is the parts of idle; small ones are one row.
func shownCauses(b report.Budget) (rows []cause) {
	rest, n, last := 0.0, 0, page.Text(nil)
	for i, c := range causesOf(b) {
		switch {
		case c.ms <= 0:
		case i >= maxCauses || c.ms < noRow*b.StepMs():
			rest, last = rest+c.ms, c.words
			n++
		default:
			rows = append(rows, c)
		}
	}
	if n > 1 {
		last = page.Sayf("does %d other things", n)
	}
	if rest >= noRow*b.StepMs() {
		rows = append(rows, cause{words: last, ms: rest})
	}
	return rows
}

// A becauseRow is a cause of which much more, or much less, idle time disappears than is seen in it.
type becauseRow struct {
	key         string
	seen, comes float64 // idle while the host does it, idle because of it; ms per step
}

// maxBecause is how many such causes are shown.
const maxBecause = 3

// becauseRows is the causes for which the two differ much, by how much.
func becauseRows(b report.Budget) []becauseRow {
	step := b.StepMs()
	var out []becauseRow
	for key, comes := range b.IdleBecauseOf {
		seen := b.IdleByHost[key]
		comes = min(comes, b.Idle) // a replay may shorten more than idle time: what ran slower side by side
		if max(seen, comes) >= worthSaying*step && math.Abs(comes-seen) >= worthSaying*step {
			out = append(out, becauseRow{key, seen, comes})
		}
	}
	slices.SortFunc(out, func(a, b becauseRow) int {
		return cmp.Or(cmp.Compare(math.Abs(b.comes-b.seen), math.Abs(a.comes-a.seen)), cmp.Compare(a.key, b.key))
	})
	return out[:min(len(out), maxBecause)]
}

// becauseWords is how much idle time a cause makes, in a sentence. source is what marks the steps.
func becauseWords(x becauseRow, source string) page.Text {
	only, alsoOnly, per := "only ", "", " per step"
	if x.comes > x.seen {
		only, alsoOnly = "", "only "
	}
	if source == "none" {
		per = ""
	}
	return page.Sayf("Idle time caused by %s: %s%s%s (%s%s coincides with it).", pathWords(x.key), only,
		page.Num(unit.About(x.comes)+" ms"), per, alsoOnly, page.Num(unit.About(x.seen)+" ms"))
}

// stepSeries shows each step's length, where there are enough of them to see a pattern.
func stepSeries(s report.Steps) []page.Block {
	if len(s.EachMs) < 3 {
		return nil
	}
	low, high := slices.Min(s.EachMs), slices.Max(s.EachMs)
	digits := unit.MsDigits(high)
	return []page.Block{page.Spark{Values: s.EachMs, Text: page.T(fmt.Sprintf("%s steps, %s to %s ms",
		unit.FormatCount(int64(len(s.EachMs))), unit.Fixed(low, digits), unit.Fixed(high, digits)))}}
}

// perDevice is the budget of each GPU, where there are several.
func perDevice(r *report.Report) []page.Block {
	if len(r.PerDevice) < 2 {
		return nil
	}
	columns := []page.Column{{Head: "GPU", Flex: true}, number("rank", "", 0), number("compute", "", 0),
		number("comm", "exposed communication", 0), number("copy", "", 1), number("idle", "", 0), number("step", "", 2)}
	digits := unit.MsDigits(r.Budget.StepMs())
	var rows [][]page.Text
	ranks := false
	for _, d := range r.PerDevice {
		rank := "-"
		if d.Rank != nil {
			rank, ranks = fmt.Sprint(*d.Rank), true
		}
		b, at := d.Budget, page.Place{Input: inputOf(r, d.Rank), Device: &d.Device}
		cells := []page.Text{page.Seen(page.T(fmt.Sprintf("%d %s", d.Device, d.Name)), at), page.T(rank)}
		for _, ms := range []float64{b.Compute, b.CommExposed, b.Copy, b.Idle, b.StepMs()} {
			cells = append(cells, page.T(unit.Fixed(ms, digits)))
		}
		rows = append(rows, cells)
	}
	if !ranks {
		columns = slices.Delete(columns, 1, 2)
		for i := range rows {
			rows[i] = slices.Delete(rows[i], 1, 2)
		}
	}
	title := "Each GPU, ms per step"
	if r.Steps.Source == "none" {
		columns[len(columns)-1].Head, title = "capture", "Each GPU, ms"
	}
	return section(title, true, page.Table{Columns: columns, Rows: rows})
}

// inputOf is the position of the input of a rank.
func inputOf(r *report.Report, rank *int32) int {
	if rank != nil {
		for i, in := range r.Inputs {
			if in.Rank != nil && *in.Rank == *rank {
				return i
			}
		}
	}
	return r.Slowest
}

// startup is the first steps, which the figures leave out.
func startup(s report.Steps) []page.Block {
	if len(s.Startup) == 0 {
		return nil
	}
	var rows [][]page.Text
	for _, x := range s.Startup {
		rows = append(rows, page.Row(fmt.Sprint(x.Index), unit.Fixed(x.Ms, unit.MsDigits(x.Ms)), x.Why))
	}
	columns := []page.Column{number("step", "", 0), number("ms", "", 0), {Head: "why", Flex: true}}
	return section("Start-up steps, left out of all figures", true, page.Table{Columns: columns, Rows: rows})
}
