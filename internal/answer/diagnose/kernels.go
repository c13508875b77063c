package diagnose

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"

	"lacuna/internal/answer/report"
	"lacuna/internal/base/interval"
	"lacuna/internal/kernel/kernelname"
	"lacuna/internal/kernel/kernelreport"
	"lacuna/internal/timeline/facts"
)

// How much of a join is priced: each price costs two dozen replays.
const (
	maxPricedKernels  = 8
	maxPricedFindings = 2
	minPricedShare    = 0.005 // of the step: what takes less is worth less than any range
)

// maxUnmatched is how many kernels without a report are named, and kernels without a place in the timeline.
const maxUnmatched = 5

// Kernels joins reports on single kernels to a timeline: each of its kernels that they are about comes with what they
// say, and with what its fix saves per step, by replay. Most gain per step is first.
func (x *Diagnosis) Kernels(ctx context.Context, in *kernelreport.Report) ([]report.Kernel, *report.Kernels, error) {
	if err := x.hold(ctx); err != nil {
		return nil, nil, err
	}
	defer x.release()
	j := &join{f: x.job.in[x.self], steps: x.job.steps[x.self], in: in}
	j.timeline()
	j.match()
	all := j.kernels()
	for i := range all {
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
		if i < maxPricedKernels && all[i].ShareOfStep >= minPricedShare {
			x.priceKernel(&all[i], j.change(&all[i]))
		}
	}
	slices.SortStableFunc(all, func(a, b report.Kernel) int {
		return cmp.Or(cmp.Compare(b.RecoverableMs, a.RecoverableMs), cmp.Compare(b.MsPerStep, a.MsPerStep))
	})
	return all, j.summary(), nil
}

// A join brings a timeline and reports on its kernels together.
type join struct {
	f     *facts.Facts
	steps *facts.Steps
	in    *kernelreport.Report

	all      []*timed // kernels of the timeline by name, most time first
	totalNs  int64
	windowNs float64 // of all devices together
	perStep  float64 // what a sum has to be multiplied with to be that of one step of one device
}

// A timed is a kernel name of the timeline with its time in the steps looked at.
type timed struct {
	text  string
	name  kernelname.Name
	n     int64
	ns    int64
	sizes map[size]*share // by grid and block

	of      *kernelreport.Kernel // what the reports say of it; nil: nothing
	by      string               // how it was matched
	sameNs  int64                // in launches of the grid and block of that
	several int                  // other kernels of the reports that match as well
}

type size struct{ grid, block [3]uint32 }

// A share is the launches of one size.
type share struct{ n, ns int64 }

// in is what x has in launches of a size.
func (x *timed) in(s size) share {
	if have := x.sizes[s]; have != nil {
		return *have
	}
	return share{}
}

// timeline adds up the kernels of the steady steps, communication left out: ncu cannot replay it.
func (j *join) timeline() {
	w, t, window := j.f.Work(), j.f.Trace, j.steps.Window()
	at := make(map[string]*timed)
	devices := make(map[uint32]bool)
	for i := range w.Len() {
		if w.StartNs[i] >= window.EndNs {
			break
		}
		ns := (interval.Span{StartNs: w.StartNs[i], EndNs: w.EndNs[i]}).Clip(window).LenNs()
		if ns <= 0 {
			continue
		}
		devices[w.Device[i]] = true
		if w.Kind[i] != facts.WorkKernel {
			continue
		}
		row := int(w.Row[i])
		text := t.Strings.Text(t.Kernels.Name[row])
		x := at[text]
		if x == nil {
			x = &timed{text: text, name: kernelname.Of(text), sizes: make(map[size]*share)}
			at[text], j.all = x, append(j.all, x)
		}
		x.ns += ns
		j.totalNs += ns
		s := x.sizes[j.sizeOf(row)]
		if s == nil {
			s = new(share)
			x.sizes[j.sizeOf(row)] = s
		}
		s.ns += ns
		if window.Contains(w.StartNs[i]) {
			x.n++
			s.n++
		}
	}
	slices.SortStableFunc(j.all, func(a, b *timed) int { return cmp.Compare(b.ns, a.ns) })
	count := float64(max(1, len(devices)))
	j.windowNs = math.Max(1, float64(window.LenNs())*count)
	j.perStep = 1 / float64(max(1, len(j.steps.Steady()))) / count
}

// sizeOf is the grid and block of a row of kernels; zero where the capture has none.
func (j *join) sizeOf(row int) size {
	k := &j.f.Trace.Kernels
	if row >= min(len(k.GridX), len(k.GridY), len(k.GridZ), len(k.BlockX), len(k.BlockY), len(k.BlockZ)) {
		return size{}
	}
	return size{[3]uint32{uint32(k.GridX[row]), uint32(k.GridY[row]), uint32(k.GridZ[row])},
		[3]uint32{uint32(k.BlockX[row]), uint32(k.BlockY[row]), uint32(k.BlockZ[row])}}
}

// match finds for each kernel of the timeline what the reports say of it: by its whole name; else, where the two write
// it too differently, by the words in it with grid and block; else, where one has it short, by the function's name. Of
// several, the one of the size that takes most.
func (j *join) match() {
	names := make([][]kernelname.Name, len(j.in.Kernels))
	for i := range j.in.Kernels {
		k := &j.in.Kernels[i]
		names[i] = append(names[i], kernelname.Of(k.Name))
		if k.Mangled != "" {
			names[i] = append(names[i], kernelname.Of(k.Mangled))
		}
	}
	for _, x := range j.all {
		for _, way := range []struct {
			by    string
			sized bool // grid and block must be those of the report
			like  func(n kernelname.Name) bool
		}{
			{"name", false, func(n kernelname.Name) bool { return n.Whole == x.name.Whole }},
			{"words of the name", true, func(n kernelname.Name) bool {
				return n.Base == x.name.Base &&
					n.Words == x.name.Words
			}},
			{"function", false, func(n kernelname.Name) bool {
				return n.Base == x.name.Base &&
					(n.Bare || x.name.Bare)
			}},
		} {
			for i := range names {
				k := &j.in.Kernels[i]
				if slices.ContainsFunc(names[i], way.like) && (!way.sized || x.in(size{k.Grid, k.Block}).ns > 0) {
					j.take(x, k, way.by)
				}
			}
			if x.of != nil {
				break
			}
		}
	}
}

// take makes k what is said of a kernel of the timeline unless something nearer to it is there.
func (j *join) take(x *timed, k *kernelreport.Kernel, by string) {
	same := x.in(size{k.Grid, k.Block}).ns
	if x.of != nil {
		x.several++
		if same <= x.sameNs {
			return
		}
	}
	x.of, x.sameNs, x.by = k, same, by
	if same > 0 {
		x.by += ", grid and block"
	}
}

// kernels is the kernels of the timeline that reports are about, most time first.
func (j *join) kernels() []report.Kernel {
	out := []report.Kernel{}
	for _, x := range j.all {
		if x.of != nil {
			out = append(out, j.kernel(x))
		}
	}
	return out
}

func (j *join) kernel(x *timed) report.Kernel {
	k := x.of
	out := report.Kernel{Name: x.text, CallsPerStep: float64(x.n) * j.perStep,
		MsPerStep: float64(x.ns) / 1e6 * j.perStep, ShareOfStep: float64(x.ns) / j.windowNs,
		MeanUs: float64(x.ns) / 1e3 / float64(max(1, x.n)), ReportUs: k.DurationUs, MatchedBy: x.by,
		SameSize: float64(x.sameNs) / float64(max(1, x.ns)),
		Launches: k.Launches, Class: k.Class, ClassWhy: k.ClassWhy, Notes: []string{},
		Findings: []report.KernelFinding{}}
	if p := nearestRoof(k.Roofline); p != nil {
		out.Roofline = &report.RoofPlace{Precision: p.Precision, Level: p.Level, Flops: p.Flops,
			Intensity: p.Intensity, Ceiling: p.Ceiling, RoofPct: p.RoofPct}
	}
	out.Notes = append(out.Notes, notesOf(x)...)
	for i := range k.Findings {
		f := &k.Findings[i]
		o := report.KernelFinding{Rule: f.Rule, Title: f.Title, Confidence: f.Confidence, Healthy: f.Healthy,
			Evidence: f.Evidence, Fix: f.Fix}
		if f.PredictedUs > 0 && !f.Healthy && f.SymptomOf == "" && k.DurationUs != nil && *k.DurationUs > 0 {
			now := *k.DurationUs
			o.Ratio, o.LowRatio, o.HighRatio = min(1, f.PredictedUs/now), min(1, f.LowUs/now), min(1, f.HighUs/now)
		}
		out.Findings = append(out.Findings, o)
	}
	return out
}

// farApart is the factor between a kernel's time in the timeline and in the report from which it must be said. Below it
// lie ncu's locked base clock (1.0 to 1.3 slower) and the caches that it empties.
const farApart = 1.5

// usText is a duration given in µs, in the unit that people would use.
func usText(us float64) string {
	if us >= 1000 {
		return fmt.Sprintf("%.3g ms", us/1000)
	}
	return fmt.Sprintf("%.3g µs", us)
}

// notesOf is what stands against taking a report's word for a kernel of the timeline.
func notesOf(x *timed) (out []string) {
	k := x.of
	if same := x.in(size{k.Grid, k.Block}); k.DurationUs != nil && same.n > 0 {
		mean := float64(same.ns) / 1e3 / float64(same.n)
		if ratio := mean / *k.DurationUs; ratio > farApart || ratio < 1/farApart {
			out = append(out, fmt.Sprintf("it takes %s here and %s in the report: the data, the clocks or "+
				"concurrent work differ; shares are taken over, times are not", usText(mean), usText(*k.DurationUs)))
		}
	}
	switch part := float64(x.sameNs) / float64(max(1, x.ns)); {
	case len(x.sizes) == 1 && x.in(size{}).ns > 0:
		out = append(out, "the capture has no grid and block: whether the report has the same size is unknown")
	case x.sameNs == 0:
		out = append(out, fmt.Sprintf("the report has another size: grid %s, block %s", dims(k.Grid), dims(k.Block)))
	case part < 0.9:
		out = append(out, fmt.Sprintf("only %.0f %% of its time is in launches with the report's grid %s and block "+
			"%s; gains are for those", 100*part, dims(k.Grid), dims(k.Block)))
	}
	return out
}

// dims is a grid or block in words.
func dims(d [3]uint32) string { return fmt.Sprintf("%d x %d x %d", d[0], d[1], d[2]) }

// nearestRoof is the point that is nearest to its roof.
func nearestRoof(all []kernelreport.Point) *kernelreport.Point {
	var best *kernelreport.Point
	for i := range all {
		if p := &all[i]; best == nil || p.RoofPct > best.RoofPct {
			best = p
		}
	}
	return best
}

// summary is what was matched and what was not.
func (j *join) summary() *report.Kernels {
	out := &report.Kernels{Reports: []string{}, Device: j.in.Device.Name, Warnings: []string{},
		Unmatched: []report.UnmatchedTime{}, NotInTrace: []string{}}
	for _, in := range j.in.Inputs {
		out.Reports = append(out.Reports, in.Path)
	}
	used := make(map[*kernelreport.Kernel]bool)
	matched := int64(0)
	names := make(map[string]bool)
	for _, x := range j.all {
		if x.of == nil {
			if len(out.Unmatched) < maxUnmatched {
				out.Unmatched = append(out.Unmatched,
					report.UnmatchedTime{Name: x.text, MsPerStep: float64(x.ns) / 1e6 * j.perStep,
						ShareOfStep: float64(x.ns) / j.windowNs})
			}
			continue
		}
		matched += x.ns
		used[x.of], names[x.of.Name] = true, true
	}
	if j.totalNs > 0 {
		out.MatchedShare = float64(matched) / float64(j.totalNs)
	}
	for i := range j.in.Kernels {
		if k := &j.in.Kernels[i]; !used[k] && !names[k.Name] && len(out.NotInTrace) < maxUnmatched {
			names[k.Name] = true
			out.NotInTrace = append(out.NotInTrace, k.Name)
		}
	}
	out.Warnings = append(out.Warnings, j.otherDevice()...)
	return out
}

// otherDevice says if the reports were made on another GPU than the timeline.
func (j *join) otherDevice() []string {
	var here []string
	for _, d := range j.f.Devices() {
		if name := j.f.DeviceName(d); name != "" && !slices.Contains(here, name) {
			here = append(here, name)
		}
	}
	there := []string{j.in.Device.Name}
	for _, d := range j.in.Devices {
		there = append(there, d.Name)
	}
	for _, name := range there {
		if name != "" && len(here) > 0 && !slices.ContainsFunc(here, func(h string) bool { return sameGPU(h, name) }) {
			return []string{fmt.Sprintf("ANOTHER GPU: the timeline is of %s, the kernel report of %s; classes and "+
				"gains may not carry over: profile the kernels on the timeline's GPU", strings.Join(here, " and "),
				name)}
		}
	}
	return nil
}

// sameGPU compares names of GPUs, which drivers write with and without the maker's.
func sameGPU(a, b string) bool {
	plain := func(s string) string {
		s = strings.ToLower(strings.TrimSpace(s))
		for _, maker := range []string{"nvidia ", "tesla ", "geforce "} {
			s = strings.TrimPrefix(s, maker)
		}
		return s
	}
	return plain(a) == plain(b)
}

// change is a function that writes the what-if change which makes a kernel of the timeline take ratio of its time.
// Only launches of the report's size become faster, as far as it is known.
func (j *join) change(k *report.Kernel) func(ratio float64) string {
	at := slices.IndexFunc(j.all, func(x *timed) bool { return x.text == k.Name })
	pattern := "^" + regexp.QuoteMeta(k.Name) + "$"
	if base := j.all[at].name.Base; base != "" {
		short := regexp.QuoteMeta(base)
		if word := `\b` + short + `\b`; j.only(regexp.MustCompile(word), at) {
			pattern = word
			if j.only(regexp.MustCompile(short), at) {
				pattern = short
			}
		}
	}
	part := 1.0
	if k.SameSize > 0 && k.SameSize < 0.9 {
		part = k.SameSize
	}
	return func(ratio float64) string { return fmt.Sprintf("scale:%s=%.3g", pattern, 1-part*(1-ratio)) }
}

// only says whether of all work's names re matches none but that of kernel at.
func (j *join) only(re *regexp.Regexp, at int) bool {
	for i, x := range j.all {
		if re.MatchString(x.text) != (i == at) {
			return false
		}
	}
	return true
}

// priceKernel replays the step with a kernel's findings fixed, one at a time.
func (x *Diagnosis) priceKernel(k *report.Kernel, change func(ratio float64) string) {
	pricer, err := x.pricer()
	if err != nil {
		k.Notes = append(k.Notes, "its gain per step cannot be replayed from this capture")
		return
	}
	priced := 0
	for i := range k.Findings {
		f := &k.Findings[i]
		if f.Ratio <= 0 || f.Ratio >= 1 || priced == maxPricedFindings {
			continue
		}
		e := pricer.Program.Edit()
		text := change(f.Ratio)
		if applied, err := apply(e, text); err != nil || !applied.Applied {
			continue
		}
		priced++
		price := pricer.Unprofiled(e)
		f.Change, f.PredictedMs, f.RecoverableMs = text, price.Unprofiled.Ns/1e6, price.Gain.Ns/1e6
		f.GainLowMs, f.GainHighMs = price.Gain.LowNs/1e6, price.Gain.HighNs/1e6
		for _, ratio := range []float64{f.LowRatio, f.HighRatio} {
			bound := pricer.Program.Edit()
			if applied, err := apply(bound, change(ratio)); ratio > 0 && err == nil && applied.Applied {
				g := pricer.GainOver(pricer.Program.Edit(), bound)
				f.GainLowMs, f.GainHighMs = min(f.GainLowMs, g.LowNs/1e6), max(f.GainHighMs, g.HighNs/1e6)
			}
		}
		k.RecoverableMs = max(k.RecoverableMs, f.RecoverableMs)
	}
}
