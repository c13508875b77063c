package writers

import (
	"fmt"
	"io"
	"strings"

	"lacuna/internal/kernelname"
	"lacuna/internal/kernelreport"
	"lacuna/internal/unit"
)

// KernelDetail is how much of what is known of kernels is printed.
type KernelDetail struct {
	Top   int  // kernels told in detail
	Whole bool // all that is known of every finding, and what the profiler itself said
}

// KernelText prints what is known of kernels for people: what limits each and what to do first, then
// what that rests on.
func KernelText(w io.Writer, r *kernelreport.Report, next []Advice, page Page, d KernelDetail) error {
	p := &printer{Page: page, w: w}
	p.kernelInputs(r)
	if len(r.Kernels) > 1 {
		p.kernelTable(r)
	}
	for i := range topKernels(r, d.Top) {
		p.kernelPage(r, &r.Kernels[i], d)
	}
	if n := len(r.Kernels); n > d.Top && d.Top > 0 {
		p.line("")
		told := fmt.Sprintf("%d are", d.Top)
		if d.Top == 1 {
			told = "1 is"
		}
		p.prose("", 0, fmt.Sprintf("Of the %d kernels in the list above, %s told in detail: --top %d tells all, --kernel REGEX those of a name.", n, told, n))
	}
	p.kernelTrust(r)
	p.next(next)
	return p.err
}

// kernelInputs says what was read.
func (p *printer) kernelInputs(r *kernelreport.Report) {
	for i, in := range r.Inputs {
		if i == maxInputs && len(r.Inputs) > maxInputs+1 {
			p.line(fmt.Sprintf("and %d more files", len(r.Inputs)-maxInputs))
			break
		}
		p.line(p.fit(p.clean(in.Path), p.width()))
		var about []string
		for _, s := range []string{in.Producer, in.Host} {
			if s != "" {
				about = append(about, p.clean(s))
			}
		}
		about = append(about, unit.Counted(in.Launches, "launch", "launches"))
		p.prose("  ", 2, strings.Join(about, ", "))
	}
	for _, d := range append([]kernelreport.Device{r.Device}, r.Devices...)[min(len(r.Devices), 1):] {
		if words := deviceSays(d); words != "" {
			p.prose("  ", 2, p.clean(words))
		}
	}
}

// maxKernelRows is how many kernels the list has.
const maxKernelRows = 30

// kernelTable lists the kernels.
func (p *printer) kernelTable(r *kernelreport.Report) {
	p.heading("Kernels")
	largest := 0.0
	sizes := false // the same name twice: sizes tell them apart
	seen := make(map[string]bool)
	for i := range r.Kernels {
		k := &r.Kernels[i]
		largest = max(largest, k.TotalUs)
		sizes = sizes || seen[k.Name]
		seen[k.Name] = true
	}
	scale := unit.ScaleOfUs(largest)
	columns := []gridColumn{{head: "kernel", flex: true}, {head: "calls", right: true, drop: 4}, {head: scale.Symbol, right: true}, {head: "%", right: true, drop: 3},
		{head: "bound by", drop: 1}, {head: "to", right: true, drop: 2}, {head: "finding", drop: 5}}
	if p.ASCII {
		columns[2].head = strings.ReplaceAll(columns[2].head, "µ", "u")
	}
	var rows [][]string
	for i := range topKernels(r, maxKernelRows) {
		k := &r.Kernels[i]
		name := p.clean(kernelname.Profiled(k.Name))
		if sizes {
			name += " " + strings.ReplaceAll(dimsWords(k.Grid), " ", "")
		}
		row := []string{name, unit.FormatCount(int64(k.Count)), "-", "-", shortClass(k.Class), "", ""}
		if k.TotalUs > 0 {
			row[2], row[3] = scale.Number(k.TotalUs), unit.Percent(k.Share)
		}
		if f := firstFinding(k); f != nil {
			row[6] = f.Rule
			if f.PredictedUs > 0 && !f.Healthy && k.DurationUs != nil {
				row[5] = scale.Number(f.PredictedUs / *k.DurationUs * k.TotalUs)
			}
		}
		rows = append(rows, row)
	}
	p.grid(columns, rows)
	if n := len(r.Kernels) - maxKernelRows; n > 0 {
		p.prose("  ", 2, fmt.Sprintf("and %d more; --format csv has all", n))
	}
	p.prose("  ", 2, fmt.Sprintf("%s is the time of all calls; %% is of all kernels here; to is what the first finding's repair makes of it", strings.Join(strings.Fields(columns[2].head), "")))
}

// firstFinding is the finding that matters most, or nil.
func firstFinding(k *kernelreport.Kernel) *kernelreport.Finding {
	if len(k.Findings) == 0 {
		return nil
	}
	return &k.Findings[0]
}

// kernelPage tells one kernel.
func (p *printer) kernelPage(r *kernelreport.Report, k *kernelreport.Kernel, d KernelDetail) {
	p.line("")
	for _, l := range p.wrap(p.kernelHeadline(k), p.width()) {
		p.line(p.paint(bold, l))
	}
	if k.ClassWhy != "" {
		p.prose("", 0, p.clean(sentence(k.ClassWhy)))
	}
	if k.Clock != nil {
		p.prose("", 0, p.clean(sentence(k.Clock.Why)))
	}
	p.prose("  ", 2, p.launchWords(k))
	p.speedOfLight(k)
	p.kernelFindings(k, d)
	p.hotLines(k)
	p.stalls(k)
	p.rooflineChart(k)
	p.occupancy(k)
	p.memoryChart(k)
	p.mix(k)
	if d.Whole {
		p.profilerSays(k)
	}
	p.notJudged(k, d)
}

// kernelHeadline is the kernel, its time and what limits it, in a sentence.
func (p *printer) kernelHeadline(k *kernelreport.Kernel) string {
	s := p.fit(p.clean(kernelname.Profiled(k.Name)), max(minFlex, p.width()-minFlex))
	switch {
	case k.DurationUs == nil:
		s += ": time not measured"
	default:
		s += ": " + p.local(unit.Micros(*k.DurationUs))
	}
	if class := classWords(k.Class); class != "" {
		s += ", " + class
	}
	return s + "."
}

// local writes µ as u where the locale has none.
func (p *printer) local(s string) string { return p.localUnit(s) }

// launchWords is how the kernel was launched, and how its launches differ.
func (p *printer) launchWords(k *kernelreport.Kernel) string {
	var about []string
	if k.Grid[0] > 0 {
		about = append(about, fmt.Sprintf("grid %s, block %s", dimsWords(k.Grid), dimsWords(k.Block)))
	}
	switch s := k.Spread; {
	case s != nil:
		scale := unit.ScaleOfUs(s.MaxUs)
		about = append(about, p.local(fmt.Sprintf("%d launches of %s to %s %s; this is launch %d, of median time", k.Count, scale.Number(s.MinUs), scale.Number(s.MaxUs), scale.Symbol, k.Launch)))
	case k.Count > 1:
		about = append(about, fmt.Sprintf("%d launches; this is launch %d", k.Count, k.Launch))
	default:
		about = append(about, fmt.Sprintf("launch %d", k.Launch))
	}
	if n := len(k.Range); n > 0 {
		about = append(about, "in "+p.name(k.Range[n-1]))
	}
	return strings.Join(about, "; ")
}
