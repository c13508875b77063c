package replay

// A Prediction is how long a step takes with and without changes, as profiled and without the profiler. In ns.
type Prediction struct {
	MeasuredNs float64 // the mean step as recorded
	ReplayedNs float64 // the unmodified program's, by the rules alone
	SelfError  float64 // ReplayedNs / MeasuredNs - 1: what the rules do not explain
	Steps      int

	Profiled   Range // the changed step under the profiler
	Now        Range // the unchanged step without the profiler
	Unprofiled Range // the changed step without the profiler
	Known      bool  // whether the profiler's overhead is modelled; else Now and Unprofiled are as profiled
}

// A Range is a value with the bounds that it is believed to lie in.
type Range struct{ Ns, LowNs, HighNs float64 }

// How far the assumptions of a replay may be off: host work between two runs of one program, durations of
// kernels at another clock. Measured as the spread between captures of one program and its unprofiled runs.
const (
	hostLow, hostHigh = 0.90, 1.07
	workLow, workHigh = 0.97, 1.05
)

// Predict runs the program with and without changes. edit may have none.
func (p *Program) Predict(edit *Edit) Prediction {
	res := p.Residuals()
	out := Prediction{Steps: len(p.Steps.Steady()), MeasuredNs: p.measuredNs(), Known: p.Overhead.Tool != ""}
	out.ReplayedNs = p.StepNs(p.Simulate(Options{}))
	if out.MeasuredNs > 0 {
		out.SelfError = out.ReplayedNs/out.MeasuredNs - 1
	}
	q := p
	if edit != nil {
		q = edit.Program
	}
	out.Profiled = q.corners(res, 0)
	out.Now = p.corners(res, 1)
	out.Unprofiled = q.corners(res, 1)
	// What is added or left out for want of an explanation is no surer than the self-error.
	for _, r := range []*Range{&out.Profiled, &out.Now, &out.Unprofiled} {
		r.widen(max(out.SelfError, -out.SelfError))
	}
	if !out.Known {
		return out
	}
	for _, r := range []*Range{&out.Now, &out.Unprofiled} {
		r.widen(p.Overhead.MinShare)
	}
	return out
}

func (p *Program) measuredNs() float64 {
	return float64(p.window.LenNs()) / float64(max(1, len(p.Steps.Steady())))
}

// corners runs a program at its best estimate, and with everything taken well and everything taken badly.
func (p *Program) corners(res *Residuals, deflate float64) Range {
	spread := deflate * p.Overhead.Spread
	run := func(o Options) float64 {
		o.Residuals = res
		floor := p.Floor.Ns
		switch {
		case o.Corner < 0:
			floor = p.Floor.LowNs
		case o.Corner > 0:
			floor = p.Floor.HighNs
		}
		return max(p.StepNs(p.Simulate(o)), floor)
	}
	r := Range{
		Ns:     run(Options{Deflate: deflate}),
		LowNs:  run(Options{Deflate: deflate + spread, Host: hostLow, Work: workLow, Corner: -1}),
		HighNs: run(Options{Deflate: max(0, deflate-spread), Host: hostHigh, Work: workHigh, Corner: 1}),
	}
	r.LowNs, r.HighNs = min(r.LowNs, r.Ns), max(r.HighNs, r.Ns)
	return r
}

// widen makes a range at least share wide to each side.
func (r *Range) widen(share float64) {
	r.LowNs, r.HighNs = min(r.LowNs, r.Ns*(1-share)), max(r.HighNs, r.Ns*(1+share))
}
