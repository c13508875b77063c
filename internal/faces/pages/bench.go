package pages

import (
	"fmt"
	"slices"
	"strings"

	"lacuna/internal/base/unit"
	"lacuna/internal/faces/page"
	"lacuna/internal/runs/bench"
	"lacuna/internal/runs/compare"
)

// Bench is what was measured of programs: the verdict or the median, then rows, then what the GPUs did.
func Bench(r *bench.Result) *page.Page {
	words, sign := benchWords(r), ""
	if len(r.Changes) > 0 && r.Changes[0].Name == r.Main {
		sign = verdictSigns[r.Changes[0].Verdict] + " "
	}
	p := &page.Page{Title: page.Join(page.Of(page.Icon, sign), words)}
	for i, x := range r.Programs {
		p.Add(page.Prose{Lead: page.Pad(benchName(r, i), 8, false), Text: benchProgramWords(x)})
	}
	p.Add(page.Gap{}, page.Prose{Text: words, Style: page.Bold, Elsewhere: true})
	if !r.Comparable {
		p.Add(page.Prose{Quote: true, Text: page.Join(page.Of(page.Strong, "NOT COMPARABLE: "),
			page.T(strings.Join(r.WhyNot, "; ")))})
	}
	p.Add(page.Prose{Small: true, Text: page.T(benchStopWords(r))})
	p.Add(page.Section{Title: page.T("Measures"), Level: 1, Blocks: []page.Block{benchRows(r)}})
	if blocks := benchConditions(r); len(blocks) > 0 {
		p.Add(page.Section{Title: page.T("The GPU during the runs"), Level: 1, Fold: true, Blocks: blocks})
	}
	if len(r.Warnings) > 0 || apartOf(r) != "" {
		var list []page.Text
		if words := apartOf(r); words != "" {
			list = append(list, page.T(words))
		}
		for _, x := range r.Warnings {
			list = append(list, page.T(x))
		}
		p.Add(page.Section{Title: page.T("Notes on these numbers"), Level: 1, Blocks: listed(list)})
	}
	return p
}

// benchName is what a program is called: two are before and after.
func benchName(r *bench.Result, i int) string {
	if len(r.Programs) < 2 {
		return "program"
	}
	return [...]string{"before", "after"}[i]
}

func benchProgramWords(x bench.ProgramResult) page.Text {
	text := page.Sayf("%s: %s", page.Of(page.Word, x.Command), unit.Plural(x.Runs, "run"))
	if x.Warmups > 0 {
		text = page.Sayf("%s, %s left out", text, unit.Plural(x.Warmups, "warm-up run"))
	}
	return text
}

// benchWords is the result in a sentence or two.
func benchWords(r *bench.Result) page.Text {
	for i := range r.Changes {
		if c := &r.Changes[i]; c.Name == r.Main {
			return benchChangeWords(c)
		}
	}
	if len(r.Programs) == 2 {
		return page.T("No verdict: one of the two has no finished run with " + r.Main + ".")
	}
	for _, m := range r.Programs[0].Measures {
		if m.Name != r.Main {
			continue
		}
		text := page.Sayf("%s is %s", benchSubject(m.Name), page.Num(unit.FormatMeasure(m.Median, m.Unit)))
		if m.Low != nil {
			text = page.Sayf("%s (95 %% interval %s to %s)", text, unit.FormatMeasure(*m.Low, m.Unit),
				unit.FormatMeasure(*m.High, m.Unit))
		}
		text = page.Sayf("%s, the median of %s", text, unit.Plural(m.Runs, "run"))
		if m.Runs > 1 {
			text = page.Sayf("%s (standard deviation %s)", text, page.Num(unit.Short(m.CVPct)+" %"))
		}
		return page.Join(text, page.T("."))
	}
	return page.T("Nothing was measured: no run finished with " + r.Main + ".")
}

func benchSubject(name string) page.Text {
	switch name {
	case "wall":
		return page.T("Wall time per run")
	case "step":
		return page.T("A step")
	}
	return page.Of(page.Word, name)
}

// apartOf says of which measures the change is another than that of the medians beside it; "": of none.
func apartOf(r *bench.Result) string {
	var names []string
	for i := range r.Changes {
		if _, apart := r.Changes[i].MedianPct(); apart {
			names = append(names, r.Changes[i].Name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return unit.List(names) + ": " + compare.MediansApart
}

func benchStopWords(r *bench.Result) string {
	text := "Interrupted"
	switch r.Stopped {
	case bench.StoppedPrecision:
		text = "Stopped: precise enough"
	case bench.StoppedRuns:
		text = "Stopped: all runs done"
	case bench.StoppedBudget:
		text = "Stopped: time budget spent"
	case bench.StoppedFailed:
		text = "Stopped: a run failed"
	}
	text += fmt.Sprintf(", after %.0f s", r.SpentS)
	if r.PrecisionPct != nil {
		text += fmt.Sprintf("; precision ±%s %%", unit.Short(*r.PrecisionPct))
	}
	return text + "."
}

// benchRows is the measures: of one program how each lies, of two what moved.
func benchRows(r *bench.Result) page.Table {
	if len(r.Programs) == 2 {
		out := page.Table{Columns: []page.Column{{Head: "measure", Flex: true}, {Head: "before", Right: true},
			{Head: "after", Right: true},
			{Head: "change", Right: true}, {Head: "95 % interval", Right: true, Drop: 1}, {Head: "verdict"}}}
		for i := range r.Changes {
			out.Rows = append(out.Rows, append(changeCells(&r.Changes[i]), page.T(benchVerdict(&r.Changes[i]))))
		}
		return out
	}
	out := page.Table{Columns: []page.Column{{Head: "measure", Flex: true}, {Head: "median", Right: true},
		{Head: "95 % interval", Right: true, Drop: 3},
		{Head: "CV %", Right: true}, {Head: "min", Right: true, Drop: 1}, {Head: "max", Right: true, Drop: 2}}}
	for _, m := range r.Programs[0].Measures {
		interval := ""
		if m.Low != nil {
			interval = unit.FormatMeasure(*m.Low, m.Unit) + " to " + unit.FormatMeasure(*m.High, m.Unit)
		}
		out.Rows = append(out.Rows, append([]page.Text{page.Named(m.Name)}, page.Row(
			unit.FormatMeasure(m.Median, m.Unit), interval, unit.Short(m.CVPct),
			unit.FormatMeasure(m.Min, m.Unit), unit.FormatMeasure(m.Max, m.Unit))...))
	}
	return out
}

// benchStateWords is a condition as people read it.
func benchStateWords(name string) string {
	switch name {
	case "busy_pct":
		return "GPU busy, %"
	case "memory_mhz":
		return "memory clock, MHz"
	case "power_w":
		return "power, W"
	case "sm_mhz":
		return "SM clock, MHz"
	case "temperature_c":
		return "temperature, °C"
	case "throttle":
		return "clock throttling"
	case "others":
		return "other processes"
	}
	return name
}

// A benchState is one condition of the GPUs: of numbers the range and median of each program, else words.
type benchState struct {
	name  string
	cells []string
	texts []string // with the program's name before each
}

// benchStates is the state of the GPUs while the programs ran.
func benchStates(r *bench.Result) (out []benchState) {
	for i, x := range r.Programs {
		for _, c := range x.Conditions {
			name := benchStateWords(c.Name)
			at := slices.IndexFunc(out, func(s benchState) bool { return s.name == name })
			if at < 0 {
				at = len(out)
				out = append(out, benchState{name: name, cells: make([]string, 2*len(r.Programs))})
			}
			if c.Text != "" {
				text := c.Text
				if len(r.Programs) > 1 {
					text = benchName(r, i) + " " + text
				}
				out[at].texts = append(out[at].texts, text)
				continue
			}
			out[at].cells[2*i], out[at].cells[2*i+1] = unit.Fixed(c.Median, 0),
				unit.Fixed(c.Min, 0)+" to "+unit.Fixed(c.Max, 0)
		}
	}
	return out
}

// benchStateHeads is the columns of benchStates.
func benchStateHeads(r *bench.Result) []page.Column {
	columns := []page.Column{{Flex: true}}
	for i := range r.Programs {
		name := benchName(r, i)
		if len(r.Programs) == 1 {
			name = "median"
		}
		columns = append(columns, page.Column{Head: name, Right: true},
			page.Column{Head: "range", Right: true, Drop: 1})
	}
	return columns
}

// benchConditions is the state of the GPUs while the programs ran.
func benchConditions(r *bench.Result) (out []page.Block) {
	states := benchStates(r)
	x := page.Table{Columns: benchStateHeads(r)}
	for _, s := range states {
		if s.texts == nil {
			x.Rows = append(x.Rows, page.Row(append([]string{s.name}, s.cells...)...))
		}
	}
	if len(x.Rows) > 0 {
		out = append(out, x)
	}
	for _, s := range states {
		for _, text := range s.texts {
			out = append(out, page.Prose{Indent: 2, Lead: s.name + ": ", Hang: 2, Text: page.T(text)})
		}
	}
	return out
}
