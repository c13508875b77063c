package tables

import (
	"math"
	"math/rand/v2"
	"testing"

	"lacuna/internal/base/interval"
	"lacuna/internal/timeline/facts"
	"lacuna/internal/timeline/model"
)

// randomTrace is a small capture on a short time axis, so that spans overlap, touch, nest and cross often.
func randomTrace(r *rand.Rand) *model.Trace {
	t := &model.Trace{Info: model.Info{Rank: -1}, Loaded: model.PartsAll, Processes: []model.Process{{Pid: 1}}}
	t.Threads = []model.Thread{{Tid: 1}, {Tid: 2}}
	at, dur := func() int64 { return r.Int64N(400) }, func() int64 { return r.Int64N(60) }
	name := func(of ...string) model.StringID { return t.Strings.Intern(of[r.IntN(len(of))]) }
	work := func(a *model.Activity) {
		a.StartNs, a.DurNs = append(a.StartNs, at()), append(a.DurNs, dur())
		a.Process, a.Device, a.Context = append(a.Process, 0), append(a.Device, uint32(r.IntN(2))), append(a.Context, 1)
		a.Stream, a.Corr, a.External = append(a.Stream, uint32(7+r.IntN(2))), append(a.Corr, uint32(r.IntN(12))),
			append(a.External, uint32(r.IntN(6)))
	}
	for range r.IntN(20) {
		work(&t.Kernels.Activity)
		t.Kernels.Name = append(t.Kernels.Name, name("gemm", "relu", "ncclDevKernel_AllReduce"))
	}
	for range r.IntN(8) {
		work(&t.Copies.Activity)
		t.Copies.Kind, t.Copies.Bytes = append(t.Copies.Kind, model.CopyHtoD), append(t.Copies.Bytes, r.Int64N(100))
		work(&t.Sets.Activity)
	}
	for range r.IntN(20) {
		c := &t.Calls
		c.StartNs, c.DurNs, c.Thread = append(c.StartNs, at()), append(c.DurNs, dur()/4),
			append(c.Thread, model.ThreadRow(r.IntN(2)))
		c.Name, c.Corr, c.Class = append(c.Name, name("cudaLaunchKernel", "cudaMalloc")),
			append(c.Corr, uint32(r.IntN(12))), append(c.Class, 0)
	}
	for range r.IntN(20) {
		o := &t.Ops
		thread := model.ThreadRow(r.IntN(3))
		if thread == 2 {
			thread = model.NoThread
		}
		o.StartNs, o.DurNs, o.Thread = append(o.StartNs, at()), append(o.DurNs, dur()), append(o.Thread, thread)
		o.Name, o.External, o.Sequence = append(o.Name, name("aten::mm", "aten::add")),
			append(o.External, uint32(r.IntN(6))), append(o.Sequence, model.NoSequence)
	}
	for range r.IntN(12) {
		g := &t.Ranges
		length := dur()
		if length == 0 {
			length = model.OpenDurNs
		}
		g.StartNs, g.DurNs, g.Thread = append(g.StartNs, at()), append(g.DurNs, length),
			append(g.Thread, model.ThreadRow(r.IntN(2)))
		g.Kind, g.Name = append(g.Kind, model.RangeKind(r.IntN(3))),
			append(g.Name, name("forward", "step_1", "step_2", "ProfilerStep#1", "ProfilerStep#2",
				"aten::mm, op_id = 3"))
		g.Domain, g.External = append(g.Domain, model.NoDomain), append(g.External, uint32(r.IntN(6)))
	}
	for range r.IntN(10) {
		a := &t.AllocEvents
		a.TimeNs, a.Thread, a.DeltaBytes = append(a.TimeNs, at()), append(a.Thread, 0),
			append(a.DeltaBytes, r.Int64N(200)-100)
		a.Device = append(a.Device, []uint32{model.NoDevice, 0}[r.IntN(2)])
	}
	t.Finish()
	return t
}

// fill runs a table and returns its cells by name of column, each in order of rows.
func fill(t *testing.T, table *Table, f *facts.Facts) map[string][]Cell {
	t.Helper()
	out := &Rows{Columns: table.Columns}
	if err := table.Fill([]*facts.Facts{f}, nil, out); err != nil {
		if _, missing := err.(*MissingError); !missing {
			t.Fatal(err)
		}
	}
	cells := make(map[string][]Cell)
	for _, row := range out.Rows {
		for i, c := range row {
			cells[out.Columns[i].Name] = append(cells[out.Columns[i].Name], c)
		}
	}
	return cells
}

func sum(cells []Cell) (total float64) {
	for _, c := range cells {
		total += float64(c.Int) + c.Float
	}
	return total
}

// TestSums checks on random captures that parts add up to their whole, counted instant by instant.
func TestSums(t *testing.T) {
	for seed := range uint64(3000) {
		r := rand.New(rand.NewPCG(seed, 1))
		trace := randomTrace(r)
		if err := model.Check(trace); err != nil {
			t.Fatal(err)
		}
		f := facts.Of(trace)
		var busy, span int64
		for device := range uint32(2) {
			var kinds [1000]bool
			first, last := int64(math.MaxInt64), int64(0)
			for _, i := range f.Selection().Rows {
				w := f.Work()
				if w.Device[i] != device {
					continue
				}
				first, last = min(first, w.StartNs[i]), max(last, w.EndNs[i])
				for ns := w.StartNs[i]; ns < w.EndNs[i]; ns++ {
					kinds[ns] = true
				}
			}
			for _, is := range kinds {
				if is {
					busy++
				}
			}
			span += max(0, last-first)
		}
		if got := sum(fill(t, &kernelType, f)["sum"]); got != float64(busy) {
			t.Fatalf("seed %d: kernel_type adds up to %g, the devices are busy for %d", seed, got, busy)
		}
		c := fill(t, &temporal, f)
		parts := sum(c["compute_time"]) + sum(c["non_compute_time"])
		if parts != float64(busy) || parts+sum(c["idle_time"]) != float64(span) ||
			sum(c["kernel_time"]) != float64(span) {
			t.Fatalf("seed %d: temporal has %g busy and %g idle of %g, want %d of %d", seed, parts,
				sum(c["idle_time"]), sum(c["kernel_time"]), busy, span)
		}
		checkOpSums(t, seed, f)
		checkSteps(t, seed, f)
		for _, table := range []*Table{&overlap, &idle, &launch, &queue, &memBW, &phases, &kernels} { // must not panic
			fill(t, table, f)
		}
	}
}

// checkOpSums: own times add up to the time in which any host event runs, on each thread for itself
// and counting those that cross twice; memory to all that was taken.
func checkOpSums(t *testing.T, seed uint64, f *facts.Facts) {
	t.Helper()
	if !f.HasOps() {
		return
	}
	c, o := fill(t, &opSum, f), f.OpTree()
	var roots, deviceRoots int64
	for i, p := range o.Parent {
		if p == facts.NotNested {
			roots += o.DurNs[i]
			deviceRoots += o.DeviceNs[i]
		}
	}
	if got := sum(c["Self CPU"]); got != float64(roots) {
		t.Fatalf("seed %d: op_sum has %g ns of its own, the outermost events last %d", seed, got, roots)
	}
	if got := sum(c["Self Device"]); got != float64(deviceRoots) {
		t.Fatalf("seed %d: op_sum has %g ns of device time, the outermost events %d", seed, got, deviceRoots)
	}
	if o.HostBytes == nil {
		return
	}
	for i := range o.Len() {
		var host, device int64
		start := [...][]int64{f.Trace.Ranges.StartNs, f.Trace.Ops.StartNs, f.Trace.Calls.StartNs}[o.Kind[i]][o.Row[i]]
		for k, at := range f.Trace.AllocEvents.TimeNs {
			if start <= at && at <= start+o.DurNs[i] {
				if delta := f.Trace.AllocEvents.DeltaBytes[k]; f.Trace.AllocEvents.Device[k] == model.NoDevice {
					host += delta
				} else {
					device += delta
				}
			}
		}
		if host != o.HostBytes[i] || device != o.DeviceBytes[i] {
			t.Fatalf("seed %d: event %d took %d and %d bytes, want %d and %d", seed, i, o.HostBytes[i],
				o.DeviceBytes[i], host, device)
		}
	}
}

// checkSteps: each step's parts are those of its budget, and add up to it.
func checkSteps(t *testing.T, seed uint64, f *facts.Facts) {
	t.Helper()
	s, err := f.Steps()
	if err != nil {
		t.Fatal(err)
	}
	devices := float64(max(1, len(f.Devices())))
	for i, b := range f.PerStep(s) {
		var want facts.StepBudget
		for _, d := range f.Budgets(s.All[i]) {
			want.ComputeNs += float64(d.ComputeNs) / devices
			want.CommExposedNs += float64(d.CommExposedNs) / devices
			want.CopyNs += float64(d.CopyNs) / devices
			want.IdleNs += float64(d.IdleNs) / devices
		}
		if f.Work().Len() == 0 {
			want.IdleNs = float64(s.All[i].LenNs())
		}
		if b.ComputeNs != want.ComputeNs || b.CommExposedNs != want.CommExposedNs || b.CopyNs != want.CopyNs ||
			b.IdleNs != want.IdleNs {
			t.Fatalf("seed %d: step %d is %+v, its budget %+v", seed, i, b, want)
		}
	}
	checkPhases(t, seed, f, s)
}

// checkPhases: idle in a range is the idle of the devices while any range of its name is open.
func checkPhases(t *testing.T, seed uint64, f *facts.Facts, s *facts.Steps) {
	t.Helper()
	for _, p := range f.Phases(s) {
		var open []interval.Span
		for i, id := range f.Trace.Ranges.Name {
			if id == p.Name && f.Trace.Ranges.DurNs[i] != model.OpenDurNs {
				open = append(open, interval.Span{StartNs: f.Trace.Ranges.StartNs[i], EndNs: f.Trace.Ranges.EndNs(i)})
			}
		}
		var idle int64
		union := interval.Union(open)
		for _, b := range f.Budgets(s.Window()) {
			idle += interval.Intersect(b.Idle, union).TotalNs()
		}
		if idle != p.IdleNs {
			t.Fatalf("seed %d: %s has %d ns idle, want %d", seed, f.Trace.Strings.Text(p.Name), p.IdleNs, idle)
		}
	}
}
