package writers

import (
	"fmt"
	"io"
	"strings"

	"lacuna/internal/kernelname"
	"lacuna/internal/report"
	"lacuna/internal/unit"
)

// ReportMarkdown writes a report for a pull request: the answer and one short table, the rest folded away.
func ReportMarkdown(w io.Writer, r *report.Report) error {
	m := &markdown{printer{Page: Page{Width: 1 << 20}, w: w}}
	digits := unit.MsDigits(r.Budget.StepMs())
	step := r.Budget.StepMs()
	m.line("### Where a step's time goes")
	m.line("")
	m.line(headline(r, m.code))
	if words := profilerWords(r); words != "" {
		m.line("")
		m.line(m.text(words))
	}
	if r.Steps.Note != "" {
		m.line("")
		m.line("> " + m.text(sentence(r.Steps.Note)))
	}
	if step > 0 {
		m.budget(r, digits)
	}
	for _, x := range becauseRows(r.Budget) {
		m.line("")
		m.line(becauseWords(x, m.code))
	}
	m.findings(r)
	m.joinedKernels(r)
	m.devices(r, digits)
	m.fold("Start-up, left out of all figures", []string{"step", "ms", "why"}, "rrl", startupRows(r, m))
	m.fold("Kernels that take most", []string{"kernel", "ms per step", "% of step", "calls per step", "mean µs"}, "lrrrr", kernelRows(r, m))
	if len(r.PerDevice) == 0 {
		m.fold(hostOpsTitle, []string{"operator", "ms per step", "% of step", "calls per step"}, "lrrr", hostOpRows(r, m, digits))
	} else {
		m.fold("Operators and ranges, by the GPU work that they launch", []string{"operator", "ms per step", "% of step", "calls per step", "host ms"}, "lrrrr", opRows(r, m))
	}
	m.fold("Copies", []string{"copy", "ms per step", "MB per step", "GB/s", "calls per step"}, "lrrrr", copyRows(r, m))
	m.fold("Where the host waits for the GPU", []string{"call", "in", "ms per step", "calls per step"}, "llrr", syncRows(r, m))
	m.fold("Longest gaps", []string{"at ms", "ms", "the host", "longest call", "after", "until"}, "rrllll", gapRows(r, m))
	m.trust(r)
	return m.err
}

type markdown struct{ printer }

// text escapes what Markdown or HTML would take for its own.
func (m *markdown) text(s string) string {
	var b strings.Builder
	for _, r := range m.clean(s) {
		switch {
		case strings.ContainsRune("&<>|*_`[]~#@\\$", r):
			fmt.Fprintf(&b, "&#%d;", r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// maxMarkdownName is the longest name in a table.
const maxMarkdownName = 100

// code is a name as code, whatever is in it.
func (m *markdown) code(s string) string {
	return "<code>" + m.text(m.fit(m.clean(s), maxMarkdownName)) + "</code>"
}

// kernel is a kernel's name as code.
func (m *markdown) kernel(s string) string { return m.code(kernelname.Short(s)) }

func (m *markdown) budget(r *report.Report, digits int) {
	var rows [][]string
	b, step := r.Budget, r.Budget.StepMs()
	for _, x := range parts(b) {
		rows = append(rows, []string{x.block + " " + x.name, unit.Fixed(x.ms, digits), unit.Percent(x.ms / step)})
		if x.name != "idle" {
			continue
		}
		for _, c := range causesOf(b, m.code) {
			if c.ms/step >= 0.0005 {
				rows = append(rows, []string{"&emsp;the host " + c.words, unit.Fixed(c.ms, digits), unit.Percent(c.ms / step)})
			}
		}
	}
	rows = append(rows, []string{"**" + whole(r) + "**", "**" + unit.Fixed(step, digits) + "**", "100"})
	m.line("")
	m.line("`" + Page{}.bar(b, 60) + "`")
	m.line("")
	m.table([]string{"part", "ms per step", "% of step"}, "lrr", rows)
}

func (m *markdown) devices(r *report.Report, digits int) {
	if len(r.PerDevice) < 2 {
		return
	}
	var rows [][]string
	for _, d := range r.PerDevice {
		name := fmt.Sprintf("%d %s", d.Device, m.text(d.Name))
		if d.Rank != nil {
			name = fmt.Sprintf("rank %d, GPU %s", *d.Rank, name)
		}
		b := d.Budget
		rows = append(rows, []string{name, unit.Fixed(b.Compute, digits), unit.Fixed(b.CommExposed, digits), unit.Fixed(b.Copy, digits), unit.Fixed(b.Idle, digits), unit.Fixed(b.StepMs(), digits)})
	}
	m.fold("Each GPU, ms per step", []string{"GPU", "compute", "exposed communication", "copy", "idle", "step"}, "lrrrrr", rows)
}

func startupRows(r *report.Report, m *markdown) (rows [][]string) {
	for _, s := range r.Steps.Startup {
		rows = append(rows, []string{fmt.Sprint(s.Index), unit.Fixed(s.Ms, unit.MsDigits(s.Ms)), m.text(s.Why)})
	}
	return rows
}

func kernelRows(r *report.Report, m *markdown) (rows [][]string) {
	for _, k := range r.TopKernels {
		digits := unit.TableDigits(r.Budget.StepMs(), r.TopKernels[0].MsPerStep)
		rows = append(rows, []string{m.kernel(k.Name), unit.Fixed(k.MsPerStep, digits), unit.Percent(k.ShareOfStep), unit.PerStep(k.CallsPerStep), unit.Fixed(k.MeanUs, 1)})
	}
	return rows
}

func opRows(r *report.Report, m *markdown) (rows [][]string) {
	for _, o := range r.TopOps {
		digits := unit.TableDigits(r.Budget.StepMs(), r.TopOps[0].MsPerStep)
		rows = append(rows, []string{m.code(o.Name), unit.Fixed(o.MsPerStep, digits), unit.Percent(o.ShareOfStep), unit.PerStep(o.CallsPerStep), unit.Fixed(o.HostMs, digits)})
	}
	return rows
}

// hostOpRows is for captures without GPU work.
func hostOpRows(r *report.Report, m *markdown, digits int) (rows [][]string) {
	for _, o := range r.TopOps {
		rows = append(rows, []string{m.code(o.Name), unit.Fixed(o.HostMs, digits), unit.Percent(o.ShareOfStep), unit.PerStep(o.CallsPerStep)})
	}
	return rows
}

func copyRows(r *report.Report, m *markdown) (rows [][]string) {
	for _, c := range r.TopCopies {
		digits := unit.TableDigits(r.Budget.StepMs(), r.TopCopies[0].MsPerStep)
		rows = append(rows, []string{m.text(c.Name), unit.Fixed(c.MsPerStep, digits), known(c.MBPerStep), known(c.GBs), unit.PerStep(c.CallsPerStep)})
	}
	return rows
}

func syncRows(r *report.Report, m *markdown) (rows [][]string) {
	for _, s := range r.TopSyncs {
		digits := unit.TableDigits(r.Budget.StepMs(), r.TopSyncs[0].MsPerStep)
		rows = append(rows, []string{m.code(s.Name), m.text(s.Where), unit.Fixed(s.MsPerStep, digits), unit.PerStep(s.CallsPerStep)})
	}
	return rows
}

func gapRows(r *report.Report, m *markdown) (rows [][]string) {
	for _, g := range r.Gaps {
		rows = append(rows, []string{unit.Fixed(g.StartMs, 1), unit.Fixed(g.DurMs, unit.MsDigits(g.DurMs)), causeWords(gapKey(g, r.Budget), m.code), m.text(g.Call), m.kernel(g.Before), m.kernel(g.After)})
	}
	return rows
}

// fold writes a table that opens on a click, if it has rows.
func (m *markdown) fold(title string, heads []string, align string, rows [][]string) {
	if len(rows) == 0 {
		return
	}
	m.line("")
	m.line("<details><summary>" + title + "</summary>")
	m.line("")
	m.table(heads, align, rows)
	m.line("")
	m.line("</details>")
}

// table writes cells that are escaped already. align has a letter for each column: l or r.
func (m *markdown) table(heads []string, align string, rows [][]string) {
	m.line("| " + strings.Join(heads, " | ") + " |")
	rule := "|"
	for _, a := range align {
		if a == 'r' {
			rule += "--:|"
		} else {
			rule += "---|"
		}
	}
	m.line(rule)
	for _, row := range rows {
		m.line("| " + strings.Join(row, " | ") + " |")
	}
}

func (m *markdown) trust(r *report.Report) {
	m.line("")
	m.line("<sub>" + m.text(strings.TrimSuffix(trustWords(r.Capture), ":")))
	for _, l := range r.Capture.Losses {
		m.line("<br>" + m.text(m.loss(l)))
	}
	for _, w := range r.Capture.Warnings {
		m.line("<br>" + m.text(sentence(w)))
	}
	lines, rest := abstainedLines(r, false)
	if rest != "" {
		lines = append(lines, rest)
	}
	for _, l := range lines {
		m.line("<br>" + m.text(l))
	}
	m.line("</sub>")
}
