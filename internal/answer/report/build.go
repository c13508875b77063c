package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"lacuna/internal/base/interval"
	"lacuna/internal/timeline/facts"
	"lacuna/internal/timeline/model"
)

// Needs is the parts of a capture that a report looks at.
const Needs = model.PartsGPU | model.PartCalls | model.PartSyncs | model.PartOps | model.PartRanges |
	model.PartOS | model.PartOverheads | model.PartLibs | model.PartMPI | model.PartPython | model.PartSamples |
	model.PartSched

// Options says what to report on. The zero value is everything, with the usual lengths of lists.
type Options struct {
	Device *uint32 // only this device; nil: all
	Top    int     // rows of each list; 0: 10

	Serving ServingOptions
}

// defaultTop is how many rows a list has: what fits on a screen with the rest.
const defaultTop = 10

// one is what is known of one input.
type one struct {
	f       *facts.Facts
	steps   *facts.Steps
	window  interval.Span
	perStep float64 // 1 / number of steps
	budgets []facts.Idleness
	gaps    [][]facts.IdleGap // by budget
}

// Judged is what rules and replays say of the input that a report judges, the slowest. The zero value says nothing.
type Judged struct {
	Findings      []Finding
	Negligible    []Finding          // found, without a price, and of next to nothing of the step
	Abstained     []Abstained        // what rules and replays could not judge
	Profiler      *Profiler          // nil: the capture cannot be replayed
	IdleBecauseOf map[string]float64 // ms of a step by cause; nil: the capture cannot be replayed
	AfterAll      *AfterAll          // nil: nothing that is found has a price

	// CommWaitNs is how long the kernel of a collective waited for other ranks, by row of Work; nil: not known.
	CommWaitNs map[int32]int64

	Kernels       []Kernel // what reports on single kernels say, most gain in a step first
	KernelReports *Kernels // nil: none was given
}

// Build makes the report of one capture, or of the captures of one job's ranks. judged is asked last: it may be at
// work meanwhile. No list of the report is nil.
func Build(in []*facts.Facts, opt Options, judged func() (Judged, error)) (*Report, error) {
	if opt.Top == 0 {
		opt.Top = defaultTop
	}
	r := &Report{Schema: Schema, PerDevice: []Device{}}
	var all []*one
	var steps []*facts.Steps
	for _, f := range in {
		o, err := look(f, opt)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", facts.InputName(f, in), err)
		}
		all, steps = append(all, o), append(steps, o.steps)
		r.Inputs = append(r.Inputs, InputOf(f))
		r.PerDevice = append(r.PerDevice, o.devices()...)
		file, name := inputNames(&f.Trace.Info, in)
		addCapture(&r.Capture, o, file, name)
		r.Capture.addUnused(f)
	}
	r.Slowest = facts.Slowest(steps)
	slowest := all[r.Slowest]
	r.Steps = slowest.stepsPart(in)
	r.Budget = meanBudget(r.PerDevice)
	if len(r.PerDevice) == 0 {
		r.Budget = slowest.hostBudget()
	} else if len(all) > 1 && r.Steps.Count > 0 {
		r.Steps.MeanMs = r.Budget.StepMs() // over all devices, so that the parts of the budget sum to it
	}
	r.Budget.IdleByCode = idleByCode(all)
	r.Phases, r.Unjudged = slowest.phases(), slowest.unjudged()
	r.TopKernels = slowest.topKernels(opt.Top)
	r.TopOps = slowest.topOps(opt.Top)
	r.TopCopies = slowest.topCopies(opt.Top)
	r.TopSyncs = slowest.topSyncs(opt.Top)
	r.Gaps = slowest.longestGaps(opt.Top)
	r.Inside = slowest.inside()
	r.Capture.warn("", frontEnds(in))
	r.Serving = slowest.serving(&r.Steps, opt.Serving, len(all))
	if len(steps) > 1 && kindsDiffer(steps) {
		r.Steps.Note = joinNotes(r.Steps.Note, "the inputs are on engine steps of different kinds or sizes: means over "+
			"them say little; --kind takes one")
	}
	said, err := judged()
	if err != nil {
		return nil, err
	}
	r.Findings, r.Negligible = append([]Finding{}, said.Findings...), said.Negligible
	r.Abstained = append(abstained(all), said.Abstained...)
	for i := range r.Abstained {
		r.Abstained[i].GetItWith = otherTools(r.Abstained[i].GetItWith, in)
	}
	r.Profiler, r.AfterAll, r.Budget.IdleBecauseOf = said.Profiler, said.AfterAll, said.IdleBecauseOf
	r.Kernels, r.KernelReports = said.Kernels, said.KernelReports
	if r.Profiler != nil && r.Steps.Count == 1 && r.Steps.Source != "none" {
		r.Capture.Warnings = append(r.Capture.Warnings, oneStep)
	}
	r.Communication = slowest.communication(said.CommWaitNs)
	return r, nil
}

// oneStep is what a reader must know of gains that one step is the witness of.
const oneStep = "one step was captured: that its replay takes as long proves little, and another step may differ"

// look finds the steps of a capture and divides its window.
func look(f *facts.Facts, opt Options) (*one, error) {
	steps, err := f.Steps()
	if err != nil {
		return nil, err
	}
	o := &one{f: f, steps: steps, window: steps.Window(), perStep: 1 / float64(max(1, len(steps.Steady())))}
	for _, b := range f.Idleness(o.window) {
		if opt.Device != nil && b.Device != *opt.Device {
			continue
		}
		o.budgets = append(o.budgets, b)
		o.gaps = append(o.gaps, b.Gaps)
	}
	if opt.Device != nil && len(o.budgets) == 0 {
		return nil, fmt.Errorf("--device %d: no GPU work on it (has %v)", *opt.Device, f.Devices())
	}
	return o, nil
}

func (o *one) meanNs() float64 { return float64(o.window.LenNs()) * o.perStep }

// ms is nanoseconds over the window as milliseconds per step.
func (o *one) ms(ns int64) float64 { return float64(ns) / 1e6 * o.perStep }

// InputOf describes the file that a capture was read from.
func InputOf(f *facts.Facts) Input {
	info := &f.Trace.Info
	in := Input{Path: info.Path, Format: info.Format, Producer: info.Producer, Host: info.Host, GPUs: []GPU{}}
	if info.Rank >= 0 {
		rank := info.Rank // a copy: who keeps the answer keeps no capture
		in.Rank = &rank
	}
	used := f.Devices()
	for _, d := range f.Trace.Devices {
		if len(used) == 0 || slices.Contains(used, d.Ordinal) {
			in.GPUs = append(in.GPUs, GPU{f.DeviceName(d.Ordinal), d.Ordinal})
		}
	}
	for _, ordinal := range used {
		if !slices.ContainsFunc(f.Trace.Devices, func(d model.Device) bool { return d.Ordinal == ordinal }) {
			in.GPUs = append(in.GPUs, GPU{f.DeviceName(ordinal), ordinal})
		}
	}
	slices.SortStableFunc(in.GPUs, func(a, b GPU) int { return cmp.Compare(a.Ordinal, b.Ordinal) })
	return in
}

// devices is the budget of each device.
func (o *one) devices() []Device {
	out := []Device{}
	for i := range o.budgets {
		b := &o.budgets[i]
		d := Device{Device: b.Device, Name: o.f.DeviceName(b.Device), Budget: Budget{
			Compute: o.ms(b.ComputeNs), Copy: o.ms(b.CopyNs), CommExposed: o.ms(b.CommExposedNs), Idle: o.ms(b.IdleNs),
			IdleByHost:     make(map[string]float64),
			CommOverlapped: o.ms(b.CommNs - b.CommExposedNs),
			CopyOverlapped: o.ms(b.CopyAllNs - b.CopyNs),
			Memset:         o.ms(b.SetNs),
		}}
		for cause, ns := range b.Causes {
			d.Budget.IdleByHost[o.f.CauseText(cause)] += o.ms(ns)
		}
		for call, ns := range o.f.IdleInLongCalls(b.Gaps) {
			d.Budget.addLongCall(call, o.ms(ns))
		}
		if rank := o.f.Trace.Info.Rank; rank >= 0 {
			d.Rank = &rank
		}
		out = append(out, d)
	}
	return out
}

// meanBudget is the mean over devices.
func meanBudget(devices []Device) Budget {
	m := Budget{IdleByHost: make(map[string]float64)}
	k := 1 / float64(max(1, len(devices)))
	for _, d := range devices {
		b := d.Budget
		m.Compute += b.Compute * k
		m.Copy += b.Copy * k
		m.CommExposed += b.CommExposed * k
		m.Idle += b.Idle * k
		m.CommOverlapped += b.CommOverlapped * k
		m.CopyOverlapped += b.CopyOverlapped * k
		m.Memset += b.Memset * k
		for cause, v := range b.IdleByHost {
			m.IdleByHost[cause] += v * k
		}
		for call, v := range b.IdleInLongCalls {
			m.addLongCall(call, v*k)
		}
	}
	return m
}

func (b *Budget) addLongCall(call string, ms float64) {
	if b.IdleInLongCalls == nil {
		b.IdleInLongCalls = make(map[string]float64)
	}
	b.IdleInLongCalls[call] += ms
}

// hostBudget is the budget where no device did anything: all of the step is idle, and what the host did is not asked.
func (o *one) hostBudget() Budget {
	idle := o.ms(o.window.LenNs())
	return Budget{Idle: idle, IdleByHost: map[string]float64{facts.CauseUnknown: idle}}
}

// otherTools is what records what a capture lacks, without the tool that recorded the capture as it is: it did not.
// Where one with a flag is named, the flag is what was missing.
func otherTools(with string, in []*facts.Facts) string {
	first, rest, _ := strings.Cut(with, ", ")
	for _, f := range in {
		if first != f.Trace.Info.Tool.Name {
			return with
		}
	}
	return strings.TrimPrefix(rest, "or ")
}
