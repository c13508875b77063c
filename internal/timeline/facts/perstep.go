package facts

import "lacuna/internal/base/interval"

// A StepBudget is how one step's time divides, as a Budget, averaged over the devices that did work in the capture.
type StepBudget struct {
	Host          interval.Span // the host's step: marker to next marker; empty if not known
	ComputeNs     float64
	CommExposedNs float64
	CopyNs        float64
	IdleNs        float64
	Kernels       int64 // kernels and graphs that began in it, of all devices
}

// PerStep divides every step of s, start-up too.
func (f *Facts) PerStep(s *Steps) []StepBudget {
	w, devices := f.Work(), f.Devices()
	out := make([]StepBudget, len(s.All))
	// Time covered by compute, by compute and communication, and by all work, of each step over all devices.
	var covered [3][]int64
	for level := range covered {
		covered[level] = make([]int64, len(s.All))
		c := covering{steps: s.All, ns: covered[level], byDevice: make(map[uint32]*coverEdge)}
		for i := range w.Len() {
			if w.Kind[i].level() <= level {
				c.add(w.Device[i], interval.Span{StartNs: w.StartNs[i], EndNs: w.EndNs[i]})
			}
		}
	}
	step := 0
	for i, start := range w.StartNs {
		for step < len(s.All) && s.All[step].EndNs <= start {
			step++
		}
		if step < len(s.All) && s.All[step].Contains(start) && w.Kind[i] <= WorkComm {
			out[step].Kernels++
		}
	}
	n := float64(max(1, len(devices)))
	for i := range out {
		compute, busy, all := float64(covered[0][i]), float64(covered[1][i]), float64(covered[2][i])
		o := &out[i]
		o.ComputeNs, o.CommExposedNs, o.CopyNs = compute/n, (busy-compute)/n, (all-busy)/n
		o.IdleNs = float64(s.All[i].LenNs()) - all/n
		o.Host = s.hostStep(i)
	}
	return out
}

// level is the place of a kind in the order in which an instant is counted: compute, communication, copies.
func (k WorkKind) level() int {
	switch {
	case k.IsCompute():
		return 0
	case k == WorkComm:
		return 1
	}
	return 2
}

// covering adds up, by step, the time that spans cover, each device for itself. Spans come in order of start.
type covering struct {
	steps    []interval.Span
	ns       []int64
	byDevice map[uint32]*coverEdge
}

type coverEdge struct {
	endNs int64 // of what is covered so far
	step  int   // the first step that ends after it
}

func (c *covering) add(device uint32, s interval.Span) {
	e := c.byDevice[device]
	if e == nil {
		e = &coverEdge{endNs: s.StartNs}
		c.byDevice[device] = e
	}
	s.StartNs = max(s.StartNs, e.endNs)
	if s.LenNs() == 0 {
		return
	}
	e.endNs = s.EndNs
	for e.step < len(c.steps) && c.steps[e.step].EndNs <= s.StartNs {
		e.step++
	}
	for i := e.step; i < len(c.steps) && c.steps[i].StartNs < s.EndNs; i++ {
		c.ns[i] += s.Clip(c.steps[i]).LenNs()
	}
}
