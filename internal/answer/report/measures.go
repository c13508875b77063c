package report

import (
	"fmt"
	"maps"
	"slices"
	"sort"

	"lacuna/internal/base/interval"
	"lacuna/internal/runs/measure"
	"lacuna/internal/timeline/facts"
	"lacuna/internal/timeline/model"
)

// MeasureNeeds is the parts of a capture that Measures looks at.
const MeasureNeeds = Needs | model.PartMemory | model.PartCounters

// leastShare is the share of GPU or host time below which a name is no measure of its own: nobody gates on it,
// and a capture may have thousands of them.
const leastShare = 1e-4

// Measures is what a capture says of a run, step by step, in the names of package measure. Work counts in the step in
// which it starts, host time in the host's step.
func Measures(f *facts.Facts) (*measure.Run, error) {
	steps, err := f.Steps()
	if err != nil {
		return nil, err
	}
	m := &measuring{f: f, steps: steps, spans: steps.Steady(), devices: float64(max(1, len(f.Devices())))}
	m.run = &measure.Run{Name: f.Trace.Info.Path, Program: f.Trace.Info.Command, Tool: f.Trace.Info.Format,
		Profile: f.Trace.Info.Path, Machine: machineOf(f)}
	if at := f.Trace.Epoch.UnixNs; at > 0 {
		m.run.Started = at / 1e9
	}
	m.budgets()
	m.work()
	m.ranges()
	m.memory()
	m.conditions()
	m.kinds()
	m.run.Sort()
	return m.run, nil
}

// machineOf is where a capture was made, as far as it says.
func machineOf(f *facts.Facts) measure.Machine {
	info := &f.Trace.Info
	m := measure.Machine{Host: info.Host, GPUs: len(f.Devices())}
	if used := f.Devices(); len(used) > 0 {
		m.GPU = f.DeviceName(used[0])
	}
	if info.Driver > 0 {
		m.Driver = fmt.Sprintf("API %d.%d", info.Driver/1000, info.Driver%1000/10)
	}
	if info.Runtime > 0 {
		m.CUDA = fmt.Sprintf("%d.%d", info.Runtime/1000, info.Runtime%1000/10)
	}
	return m
}

// A measuring collects the measures of one capture.
type measuring struct {
	f       *facts.Facts
	steps   *facts.Steps
	spans   []interval.Span
	devices float64
	run     *measure.Run
}

func (m *measuring) add(name, unit string, better measure.Better, samples []float64) {
	if len(samples) > 0 {
		m.run.Measures = append(m.run.Measures, measure.Measure{Name: name, Unit: unit, Better: better,
			Samples: samples})
	}
}

// step is the position of the step in which an instant lies; -1: none.
func step(spans []interval.Span, ns int64) int {
	i := sort.Search(len(spans), func(i int) bool { return spans[i].EndNs > ns })
	if i < len(spans) && spans[i].Contains(ns) {
		return i
	}
	return -1
}

// budgets is the step and its parts.
func (m *measuring) budgets() {
	var all, compute, comm, copies, idle, busy, kernels []float64
	per := m.f.PerStep(m.steps)[m.steps.First:m.steps.Last]
	for i, s := range m.spans {
		ms := float64(s.LenNs()) / 1e6
		all = append(all, ms)
		if len(m.f.Devices()) == 0 {
			continue
		}
		p := per[i]
		compute, comm, copies, idle = append(compute, p.ComputeNs/1e6), append(comm, p.CommExposedNs/1e6),
			append(copies, p.CopyNs/1e6), append(idle, p.IdleNs/1e6)
		busy = append(busy, 1-p.IdleNs/1e6/max(ms, 1e-9))
		kernels = append(kernels, float64(p.Kernels))
	}
	m.add("step", "ms", measure.Lower, all)
	m.add("compute", "ms", measure.Lower, compute)
	m.add("comm_exposed", "ms", measure.Lower, comm)
	m.add("copy", "ms", measure.Lower, copies)
	m.add("idle", "ms", measure.Lower, idle)
	m.add("gpu_busy", "share", measure.Higher, busy)
	m.add("kernels", "count", measure.Lower, kernels)
}

// series is samples by step for each of many names.
type series struct {
	steps int
	of    map[model.StringID][]float64
}

func (s *series) add(name model.StringID, step int, x float64) {
	v := s.of[name]
	if v == nil {
		v = make([]float64, s.steps)
		s.of[name] = v
	}
	v[step] += x
}

// each gives the names whose samples sum to a share of whole that counts, in the order of their texts.
func (s *series) each(whole float64, text func(model.StringID) string, tell func(name string, samples []float64)) {
	byText := make(map[string][]float64)
	for _, id := range slices.Sorted(maps.Keys(s.of)) { // a text may be interned twice
		v, sum := s.of[id], 0.0
		for _, x := range v {
			sum += x
		}
		if sum < leastShare*whole {
			continue
		}
		name := text(id)
		if have := byText[name]; have != nil {
			for i := range v {
				have[i] += v[i]
			}
		} else {
			byText[name] = v
		}
	}
	names := make([]string, 0, len(byText))
	for n := range byText {
		names = append(names, n)
	}
	slices.Sort(names)
	for _, n := range names {
		tell(n, byText[n])
	}
}

// work is what is counted of GPU work: kernels and operators by name, launches, copies.
func (m *measuring) work() {
	w, t := m.f.Work(), m.f.Trace
	n := len(m.spans)
	kernels, ops := series{n, make(map[model.StringID][]float64)}, series{n, make(map[model.StringID][]float64)}
	launches, copies, copied := make([]float64, n), make([]float64, n), make([]float64, n)
	owners := m.f.WorkOps()
	window := m.steps.Window()
	counted := make(map[int32]bool) // launching calls
	for i, start := range w.StartNs {
		if start >= window.EndNs {
			break
		}
		k := step(m.spans, start)
		if k < 0 {
			continue
		}
		ms := float64(w.EndNs[i]-start) / 1e6 / m.devices
		if op := owners[i]; op != facts.NotNested {
			ops.add(t.Ops.Name[op], k, ms)
		}
		switch w.Kind[i] {
		case facts.WorkKernel, facts.WorkComm:
			kernels.add(t.Kernels.Name[w.Row[i]], k, ms)
		case facts.WorkCopy:
			copies[k]++
			if row := int(w.Row[i]); row < len(t.Copies.Bytes) {
				copied[k] += float64(t.Copies.Bytes[row])
			}
		}
		if c := w.Call[i]; c != facts.NoCall && w.Kind[i] <= facts.WorkComm && !counted[c] {
			counted[c] = true
			launches[k]++
		}
	}
	if len(m.f.Devices()) == 0 {
		return
	}
	m.add("launches", "count", measure.Lower, launches)
	m.add("copies", "count", measure.Lower, copies)
	m.add("copied", "bytes", measure.Lower, copied)
	whole := float64(window.LenNs()) / 1e6
	kernels.each(whole, t.Strings.Text, func(name string,
		v []float64) {
		m.add("kernel:"+name, "ms", measure.Lower, v)
	})
	ops.each(whole, t.Strings.Text, func(name string, v []float64) { m.add("op:"+name, "ms", measure.Lower, v) })
}

// ranges is host time in each user range, by the host's steps.
func (m *measuring) ranges() {
	r, classes := &m.f.Trace.Ranges, m.f.RangeClasses()
	spans := m.steps.Host
	if len(spans) < m.steps.Last {
		spans = m.steps.All
	}
	spans = spans[min(m.steps.First, len(spans)):min(m.steps.Last, len(spans))]
	if len(spans) == 0 {
		return
	}
	by := series{len(spans), make(map[model.StringID][]float64)}
	tree := m.f.RangeTree()
	for i, start := range r.StartNs {
		if classes[i] != facts.RangeUser || r.DurNs[i] < 0 || m.nestedInOwn(tree, int32(i)) {
			continue
		}
		if k := step(spans, start); k >= 0 {
			by.add(m.rangeName(int32(i)), k, float64(r.DurNs[i])/1e6)
		}
	}
	whole := float64(spans[len(spans)-1].EndNs-spans[0].StartNs) / 1e6
	by.each(whole, m.f.NameText, func(name string, v []float64) { m.add("range:"+name, "ms", measure.Lower, v) })
}

// rangeName is what the range in a row is called.
func (m *measuring) rangeName(row int32) model.StringID {
	return m.f.RangeNames()[m.f.Trace.Ranges.Name[row]]
}

// nestedInOwn says whether a range lies in one of the same name, whose time has it already.
func (m *measuring) nestedInOwn(tree *facts.RangeTree, row int32) bool {
	for p := tree.Parent[row]; p != facts.NotNested; p = tree.Parent[p] {
		if m.rangeName(p) == m.rangeName(row) {
			return true
		}
	}
	return false
}

// memory is the most that the framework's allocator had in use, by step.
func (m *measuring) memory() {
	a := &m.f.Trace.AllocEvents
	peak := make([]float64, len(m.spans))
	seen := false
	for i, at := range a.TimeNs {
		if i >= len(a.AllocatedBytes) || a.AllocatedBytes[i] < 0 || i < len(a.Device) && a.Device[i] == model.NoDevice {
			continue
		}
		if k := step(m.spans, at); k >= 0 {
			peak[k], seen = max(peak[k], float64(a.AllocatedBytes[i])), true
		}
	}
	if seen {
		m.add("peak_memory", "bytes", measure.Lower, peak)
	}
}
