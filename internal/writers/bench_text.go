package writers

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"lacuna/internal/bench"
	"lacuna/internal/compare"
	"lacuna/internal/unit"
)

// BenchJSON writes what was measured by the JSON contract.
func BenchJSON(w io.Writer, r *bench.Result) error { return JSON(w, r) }

// BenchProgress is where a measurement stands, before a run, in a line.
func BenchProgress(p bench.Progress, programs []bench.Program) string {
	text := fmt.Sprintf("run %d of at most %d", p.Run+1, p.Of)
	if p.Run < 0 {
		text = "warm-up run"
	}
	if len(programs) == 2 {
		text += [...]string{" of before", " of after"}[p.Program]
	}
	text += fmt.Sprintf(", %.0f s spent", p.Spent.Seconds())
	if p.Precision > 0 {
		text += fmt.Sprintf(", known to %s %%", unit.Short(100*p.Precision))
	}
	return text
}

// BenchText prints what was measured: the verdict or the median first, then rows, then what the GPUs did.
func BenchText(w io.Writer, r *bench.Result, page Page) error {
	p := &printer{Page: page, w: w}
	for i, x := range r.Programs {
		p.prose(pad(benchName(r, i), 8, false), 8, p.clean(benchProgramWords(x)))
	}
	p.line("")
	for _, l := range p.wrap(p.clean(benchWords(r)), p.width()) {
		p.line(p.paint(bold, l))
	}
	if !r.Comparable {
		p.prose("", 0, p.paint(bold, "NOT COMPARABLE: ")+p.clean(strings.Join(r.WhyNot, "; ")))
	}
	p.prose("", 0, benchStopWords(r))
	p.heading("Measures")
	heads, rows := benchRows(r, p)
	p.grid(heads, rows)
	p.benchConditions(r)
	if len(r.Warnings) > 0 {
		p.heading("What to know of these numbers")
		for _, x := range r.Warnings {
			p.prose("  - ", 4, p.clean(x))
		}
	}
	return p.err
}

// benchName is what a program is called: two are before and after.
func benchName(r *bench.Result, i int) string {
	if len(r.Programs) < 2 {
		return "program"
	}
	return [...]string{"before", "after"}[i]
}

func benchProgramWords(x bench.ProgramResult) string {
	text := fmt.Sprintf("%s: %s", x.Command, unit.Plural(x.Runs, "run"))
	if x.Warmups > 0 {
		text += fmt.Sprintf(", %s left out", unit.Plural(x.Warmups, "warm-up run"))
	}
	return text
}

// benchWords is the result in a sentence or two.
func benchWords(r *bench.Result) string {
	for i := range r.Changes {
		if c := &r.Changes[i]; c.Name == r.Main {
			return benchChangeWords(c)
		}
	}
	if len(r.Programs) == 2 {
		return "Nothing can be told: one of the two has no finished run with " + r.Main + "."
	}
	for _, m := range r.Programs[0].Measures {
		if m.Name == r.Main {
			text := fmt.Sprintf("%s is %s", benchSubject(m.Name), unit.FormatMeasure(m.Median, m.Unit))
			if m.Low != nil {
				text += fmt.Sprintf(" (95 %% interval %s to %s)", unit.FormatMeasure(*m.Low, m.Unit), unit.FormatMeasure(*m.High, m.Unit))
			}
			text += fmt.Sprintf(", the median of %s", unit.Plural(m.Runs, "run"))
			if m.Runs > 1 {
				text += fmt.Sprintf(", which vary by %s %% (standard deviation)", unit.Short(m.CVPct))
			}
			return text + "."
		}
	}
	return "Nothing was measured: no run was finished with " + r.Main + "."
}

func benchSubject(name string) string {
	switch name {
	case "wall":
		return "A run's wall time"
	case "step":
		return "A step"
	}
	return name
}

func benchChangeWords(c *compare.Change) string {
	text := fmt.Sprintf("%s is %s, before %s", benchSubject(c.Name), unit.FormatMeasure(c.After, c.Unit), unit.FormatMeasure(c.Before, c.Unit))
	if c.ChangePct != nil {
		text += ": " + unit.Signed(*c.ChangePct) + " %" + percentRange(c)
	}
	switch c.Verdict {
	case compare.Undecided:
		text += ". Undecided" + neededWords(c.RunsNeeded)
	case compare.Same:
		text += fmt.Sprintf(". No change of %s %% or more", unit.Short(c.LimitPct))
	default:
		text += ". It is " + string(c.Verdict)
	}
	return text + "."
}

func benchStopWords(r *bench.Result) string {
	text := "Interrupted"
	switch r.Stopped {
	case bench.StoppedPrecision:
		text = "Stopped because this is precise enough"
	case bench.StoppedRuns:
		text = "Stopped because all runs are made"
	case bench.StoppedBudget:
		text = "Stopped because the time is spent"
	case bench.StoppedFailed:
		text = "Stopped because a run failed"
	}
	text += fmt.Sprintf(", after %.0f s", r.SpentS)
	if r.PrecisionPct != nil {
		text += fmt.Sprintf("; known to %s %% to either side", unit.Short(*r.PrecisionPct))
	}
	return text + "."
}

// benchRows is the measures as a grid: of one program how each lies, of two what moved.
func benchRows(r *bench.Result, p *printer) (columns []gridColumn, rows [][]string) {
	if len(r.Programs) == 2 {
		for i := range r.Changes {
			rows = append(rows, p.changeCells(&r.Changes[i]))
		}
		return []gridColumn{{head: "measure", flex: true}, {head: "before", right: true}, {head: "after", right: true}, {head: "change", right: true}, {head: "95 % interval", right: true, drop: 1}, {head: "verdict"}}, rows
	}
	for _, m := range r.Programs[0].Measures {
		interval := ""
		if m.Low != nil {
			interval = p.clean(unit.FormatMeasure(*m.Low, m.Unit) + " to " + unit.FormatMeasure(*m.High, m.Unit))
		}
		rows = append(rows, []string{p.clean(m.Name), p.clean(unit.FormatMeasure(m.Median, m.Unit)), interval, unit.Short(m.CVPct), p.clean(unit.FormatMeasure(m.Min, m.Unit)), p.clean(unit.FormatMeasure(m.Max, m.Unit))})
	}
	return []gridColumn{{head: "measure", flex: true}, {head: "median", right: true}, {head: "95 % interval", right: true, drop: 3}, {head: "varies %", right: true}, {head: "least", right: true, drop: 1}, {head: "most", right: true, drop: 2}}, rows
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
		return "clocks held down"
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
func benchStates(r *bench.Result, degree string) (out []benchState) {
	for i, x := range r.Programs {
		for _, c := range x.Conditions {
			name := strings.ReplaceAll(benchStateWords(c.Name), "°", degree)
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
			out[at].cells[2*i], out[at].cells[2*i+1] = unit.Fixed(c.Median, 0), unit.Fixed(c.Min, 0)+" to "+unit.Fixed(c.Max, 0)
		}
	}
	return out
}

// benchStateHeads is the columns of benchStates.
func benchStateHeads(r *bench.Result) []gridColumn {
	columns := []gridColumn{{head: "", flex: true}}
	for i := range r.Programs {
		name := benchName(r, i)
		if len(r.Programs) == 1 {
			name = "median"
		}
		columns = append(columns, gridColumn{head: name, right: true}, gridColumn{head: "range", right: true, drop: 1})
	}
	return columns
}

func (p *printer) benchConditions(r *bench.Result) {
	states := benchStates(r, p.pick("°", "degrees "))
	var rows [][]string
	for _, x := range states {
		if x.texts == nil {
			rows = append(rows, append([]string{p.clean(x.name)}, x.cells...))
		}
	}
	if len(states) == 0 {
		return
	}
	p.heading("The GPU meanwhile")
	if len(rows) > 0 {
		p.grid(benchStateHeads(r), rows)
	}
	for _, x := range states {
		for _, text := range x.texts {
			p.prose("  "+x.name+": ", 4, p.clean(text))
		}
	}
}
