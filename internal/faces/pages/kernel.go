package pages

import (
	"fmt"
	"strings"

	"lacuna/internal/base/unit"
	"lacuna/internal/faces/page"
	"lacuna/internal/kernel/kernelname"
	"lacuna/internal/kernel/kernelreport"
)

// KernelDetail is how much of what is known of kernels is shown.
type KernelDetail struct {
	Top   int  // kernels shown in detail; 0: all
	Whole bool // all that is known of every finding, and what the profiler itself said
	Short bool // the verdict on one screen
}

// Kernel is what is known of kernels: what limits each and what to do first, then what that rests on.
func Kernel(r *kernelreport.Report, next []page.Advice, d KernelDetail) *page.Page {
	p := &page.Page{Title: page.T("What limits these kernels")}
	p.Add(kernelInputs(r)...)
	if len(r.Kernels) > 1 {
		p.Add(page.Section{Title: page.T("Kernels"), Level: 1, Blocks: []page.Block{kernelTable(r, d)}})
	}
	if s := r.Short; s != nil {
		p.Add(page.Section{Title: page.T("Many short launches"), Level: 1, Blocks: []page.Block{
			page.Prose{Text: page.Sentence(page.T(s.Why))},
			page.Prose{Text: page.T(strings.ReplaceAll(s.Fix, "\n", " "))}}})
	}
	some := firstKernels(r, d.Top)
	shared := sharedLacks(some, d)
	for i := range some {
		p.Add(kernelSection(r, &some[i], shared, d))
	}
	if n := len(r.Kernels); n > d.Top && d.Top > 0 {
		p.Add(page.Gap{}, page.Prose{Small: true, Text: page.Sayf(
			"%d of the %d kernels listed above in detail: --top %d shows all, --kernel REGEX picks by name.", d.Top, n,
			n)})
	}
	p.Add(lacksOfAll(shared, len(some))...)
	p.Add(kernelTrust(r)...)
	if !d.Short {
		p.Add(page.Next{List: next})
		return p
	}
	p.Add(page.Next{List: next[:min(len(next), shortNext)]}, page.Gap{}, page.Prose{Small: true, Text: page.Sayf(
		"%s shows the evidence, each fix, source lines, stalls, roofline, occupancy, memory and instructions.",
		page.Of(page.Word, "-v"))})
	return p
}

// firstKernels is the first n kernels; 0: all.
func firstKernels(r *kernelreport.Report, n int) []kernelreport.Kernel {
	if n == 0 {
		n = len(r.Kernels)
	}
	return r.Kernels[:min(n, len(r.Kernels))]
}

// kernelInputs says what was read.
func kernelInputs(r *kernelreport.Report) (out []page.Block) {
	for i, in := range r.Inputs {
		if i == maxInputs && len(r.Inputs) > maxInputs+1 {
			out = append(out, page.Prose{Text: page.Sayf("and %d more files", len(r.Inputs)-maxInputs)})
			break
		}
		var about []string
		for _, s := range []string{in.Producer, in.Host, unit.Counted(in.Launches, "launch", "launches")} {
			if s != "" {
				about = append(about, s)
			}
		}
		out = append(
			out,
			page.Prose{Text: page.Of(page.Path, in.Path)},
			page.Prose{Indent: 2, Text: page.T(strings.Join(about, ", "))},
		)
	}
	devices := r.Devices
	if len(devices) == 0 {
		devices = []kernelreport.Device{r.Device}
	}
	for _, d := range devices {
		out = append(out, page.Prose{Indent: 2, Text: page.T(deviceSays(d))})
	}
	return out
}

// How many kernels the list has.
const (
	maxKernelRows   = 30
	shortKernelRows = 10
)

// kernelTable lists the kernels.
func kernelTable(r *kernelreport.Report, d KernelDetail) page.Table {
	rows := maxKernelRows
	if d.Short {
		rows = shortKernelRows
	}
	largest := 0.0
	sizes := false // the same name twice: sizes tell them apart, and where they do not, the launch
	seen, like := make(map[string]string), make(map[string]int)
	for i := range r.Kernels {
		k := &r.Kernels[i]
		largest = max(largest, k.TotalUs)
		size := launchSize(k)
		sizes = sizes || seen[k.Name] != "" && seen[k.Name] != size
		seen[k.Name] = size
		like[size]++
	}
	scale := unit.ScaleOfUs(largest)
	t := page.Table{
		Columns: []page.Column{
			{Head: "kernel", Flex: true},
			{Head: "calls", Right: true, Drop: 4},
			{Head: scale.Symbol, Right: true},
			{
				Head:  "%",
				Right: true,
				Drop:  3,
			},
			{Head: "bound by", Drop: 1},
			{Head: "to", Right: true, Drop: 2},
			{Head: "finding", Drop: 5},
		},
	}
	for i := range firstKernels(r, rows) {
		k := &r.Kernels[i]
		name := page.Named(kernelname.Profiled(k.Name))
		if sizes {
			name = page.Sayf("%s %s", name, strings.ReplaceAll(dimsWords(k.Grid), " ", ""))
		}
		if like[launchSize(k)] > 1 {
			name = page.Sayf("%s launch %d", name, k.Launch)
		}
		row := append([]page.Text{name}, page.Row(unit.FormatCount(int64(k.Count)), "-", "-", shortClass(k.Class), "",
			"")...)
		if k.TotalUs > 0 {
			row[2], row[3] = page.Num(scale.Number(k.TotalUs)), page.T(unit.Percent(k.Share))
		}
		if len(k.Findings) > 0 {
			f := &k.Findings[0]
			row[6] = page.Of(page.Word, f.Rule)
			if f.PredictedUs > 0 && !f.Healthy && k.DurationUs != nil {
				row[5] = page.Num(scale.Number(f.PredictedUs / *k.DurationUs * k.TotalUs))
			}
		}
		t.Rows = append(t.Rows, row)
	}
	if n := len(r.Kernels) - rows; n > 0 {
		t.More = fmt.Sprintf("and %d more; --format csv has all", n)
	}
	t.Notes = []page.Text{
		page.Sayf(
			"%s: total of all calls; %%: of all kernels here; to: predicted with the first finding fixed",
			scale.Symbol,
		),
	}
	return t
}

// launchSize is what launches have alike unless they do other work.
func launchSize(k *kernelreport.Kernel) string {
	return fmt.Sprint(k.Input, k.Name, k.Device, k.Grid, k.Block)
}

// kernelSection is one kernel in detail.
func kernelSection(r *kernelreport.Report, k *kernelreport.Kernel, shared []page.Text, d KernelDetail) page.Section {
	s := page.Section{Title: kernelHeadline(k), Level: 1}
	add := func(blocks ...page.Block) { s.Blocks = append(s.Blocks, blocks...) }
	add(page.Prose{Text: page.Sentence(page.T(k.ClassWhy))})
	if k.Clock != nil {
		add(page.Prose{Text: page.Sentence(page.T(k.Clock.Why))})
	}
	add(page.Prose{Indent: 2, Text: launchWords(k)})
	if d.Short {
		add(shortSpeed(k)...)
		add(kernelFindings(k, d)...)
		return s
	}
	add(speedOfLight(k)...)
	add(kernelFindings(k, d)...)
	for _, part := range [][]page.Block{hotLines(k), stalls(k), rooflineChart(r, k), occupancy(k), memoryChart(k),
		mix(k)} {
		add(part...)
	}
	if d.Whole {
		add(profilerSays(k)...)
	}
	add(notJudged(k, shared, d)...)
	return s
}

// folded is a part of a kernel's page, if there is something in it.
func folded(title string, blocks []page.Block) []page.Block {
	if len(blocks) == 0 {
		return nil
	}
	return []page.Block{page.Section{Title: page.T(title), Level: 2, Fold: true, Blocks: blocks}}
}

// kernelHeadline is the kernel, its time and what limits it, in a sentence.
func kernelHeadline(k *kernelreport.Kernel) page.Text {
	time := page.T("time not measured")
	if k.DurationUs != nil {
		time = page.Num(unit.Micros(*k.DurationUs))
	}
	s := page.Sayf("%s: %s", page.Of(page.Long, kernelname.Profiled(k.Name)), time)
	if class := classWords(k.Class); class != "" {
		s = page.Sayf("%s, %s", s, class)
	}
	return page.Sayf("%s.", s)
}

// launchWords is how the kernel was launched, and how its launches differ.
func launchWords(k *kernelreport.Kernel) page.Text {
	var about []page.Text
	if k.Grid[0] > 0 {
		about = append(about, page.Sayf("grid %s, block %s", dimsWords(k.Grid), dimsWords(k.Block)))
	}
	switch s := k.Spread; {
	case s != nil:
		scale := unit.ScaleOfUs(s.MaxUs)
		which := "of median time"
		if k.Count == 2 && scale.Number(s.MinUs) != scale.Number(s.MaxUs) {
			which = "the shorter one"
		}
		about = append(about, page.Sayf("%d launches of %s to %s; this is launch %d, %s", k.Count,
			page.Num(scale.Number(s.MinUs)), page.Num(scale.Number(s.MaxUs)+" "+scale.Symbol), k.Launch, which))
	case k.Count > 1:
		about = append(about, page.Sayf("%d launches; this is launch %d", k.Count, k.Launch))
	default:
		about = append(about, page.Sayf("launch %d", k.Launch))
	}
	if n := len(k.Range); n > 0 {
		about = append(about, page.Sayf("in %s", page.Named(k.Range[n-1])))
	}
	return page.List(about, "; ")
}

// kernelTrust says what the files lost.
func kernelTrust(r *kernelreport.Report) []page.Block {
	var all []page.Text
	for _, w := range r.Capture.Warnings {
		all = append(all, page.Sentence(page.T(w)))
	}
	for _, l := range r.Capture.Losses {
		s := page.Sayf("%d x %s: %s", l.Count, page.Of(page.Word, l.Code), lossWords(l.Code))
		if l.Example != "" {
			s = page.Sayf("%s (the first: %s)", s, page.Excerpt(l.Example, maxExample))
		}
		all = append(all, page.Sayf("%s.", s))
	}
	if len(all) == 0 {
		return nil
	}
	return []page.Block{page.Section{Title: page.T("Can this report be trusted?"), Level: 1, Blocks: listed(all)}}
}
