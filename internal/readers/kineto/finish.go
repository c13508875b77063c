package kineto

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"lacuna/internal/timeline/model"
)

// relativeNs is how near to 0 a clock that begins with the capture has its first event.
const relativeNs = 10_000_000_000

// finish derives what only the whole file shows and brings the tables into their order.
func (m *merger) finish() *model.Trace {
	t := m.trace
	m.dropZeroTimes()
	m.adoptLaunches()
	m.trace.Copies.Bytes = knownBytes(m.trace.Copies.Bytes)
	m.trace.Sets.Bytes = knownBytes(m.trace.Sets.Bytes)
	m.linkCollectives()
	m.pairFlows()
	m.nameThreads()
	gpu := m.gpuProcess()
	for _, a := range []*model.Activity{&t.Kernels.Activity, &t.Copies.Activity, &t.Sets.Activity} {
		a.Process = processColumn(a.Len(), gpu)
	}
	t.Syncs.Process = processColumn(t.Syncs.Len(), gpu)
	m.listStreams(gpu)
	m.listDevices()
	t.Finish()
	sortCounters(&t.Counters)
	return t
}

func processColumn(n int, p model.ProcessRow) []model.ProcessRow {
	if n == 0 {
		return nil
	}
	out := make([]model.ProcessRow, n)
	if p != 0 {
		for i := range out {
			out[i] = p
		}
	}
	return out
}

// dropZeroTimes drops GPU work at time 0, which CUPTI gives for what it could not time,
// unless the clock of the capture begins there.
func (m *merger) dropZeroTimes() {
	if m.firstNs < relativeNs || m.firstNs > maxNs {
		return
	}
	t := m.trace
	for _, x := range []struct {
		what    string
		table   any
		startNs []int64
	}{{"kernels", &t.Kernels, t.Kernels.StartNs}, {"copies", &t.Copies, t.Copies.StartNs},
		{"memsets", &t.Sets, t.Sets.StartNs}} {
		var keep []uint32
		for i, s := range x.startNs {
			if s != 0 {
				keep = append(keep, uint32(i))
			}
		}
		if n := len(x.startNs) - len(keep); n > 0 {
			model.Permute(x.table, keep)
			m.trace.Losses.Add(model.LossZeroTime, int64(n), fmt.Sprintf("%d %s at time 0", n, x.what))
			t.Warnings = append(t.Warnings, fmt.Sprintf(
				"%d of %d %s have the time 0: the profiler could not time them, and they are left out", n,
				len(x.startNs), x.what))
		}
	}
}

// adoptLaunches gives kernels and copies what ROCm says at their call.
func (m *merger) adoptLaunches() {
	if len(m.launches) == 0 {
		return
	}
	byCorr := make(map[uint32]int, len(m.launches))
	for i := range m.launches {
		if _, ok := byCorr[m.launches[i].corr]; !ok {
			byCorr[m.launches[i].corr] = i
		}
	}
	k := &m.trace.Kernels
	shared := k.DynShared == nil
	for i, corr := range k.Corr {
		at, ok := byCorr[corr]
		if !ok {
			continue
		}
		l := &m.launches[at]
		if k.Name[i] == 0 {
			k.Name[i] = model.StringID(l.name)
		}
		if l.block[0] == 0 || k.GridX != nil && k.GridX[i] != 0 || !m.want.Wants(model.PartLaunchConfig) {
			continue
		}
		if k.GridX == nil {
			for _, c := range []*[]int32{&k.GridX, &k.GridY, &k.GridZ, &k.BlockX, &k.BlockY, &k.BlockZ} {
				*c = make([]int32, k.Len())
			}
		}
		if shared && k.DynShared == nil {
			k.DynShared = make([]int32, k.Len())
		}
		k.GridX[i], k.GridY[i], k.GridZ[i] = l.grid[0], l.grid[1], l.grid[2]
		k.BlockX[i], k.BlockY[i], k.BlockZ[i] = l.block[0], l.block[1], l.block[2]
		if shared {
			k.DynShared[i] = l.shared
		}
	}
	m.adoptSizes(byCorr)
}

// adoptSizes gives copies without a size that of their call; byCorr is the rows of launches.
func (m *merger) adoptSizes(byCorr map[uint32]int) {
	c := &m.trace.Copies
	for i, corr := range c.Corr {
		at, ok := byCorr[corr]
		if !ok || c.Bytes[i] >= 0 || m.launches[at].bytes < 0 {
			continue
		}
		c.Bytes[i] = m.launches[at].bytes
		if c.GBs == nil { // Kineto states bandwidths, but none where it does not know the copy's size
			c.GBs = make([]float64, c.Len())
			for j := range c.GBs {
				c.GBs[j] = math.NaN()
			}
		}
	}
}

// knownBytes is a column in which -1 stands for an unknown size: nil if there is no other, else with 0 for it.
func knownBytes(bytes []int64) []int64 {
	known := false
	for i, n := range bytes {
		if known = known || n >= 0; n < 0 {
			bytes[i] = 0
		}
	}
	if !known {
		return nil
	}
	return bytes
}

// linkCollectives gives communication kernels without data of their own those of the operator that issued them.
func (m *merger) linkCollectives() {
	t := m.trace
	if t.Collectives.Len() == 0 || t.Ops.Collective == nil || t.Kernels.External == nil {
		return
	}
	byExternal := make(map[uint32]model.CollectiveRow)
	for i, c := range t.Ops.Collective {
		if c != model.NoCollective && t.Ops.External[i] != model.NoExternal &&
			t.Strings.Text(t.Collectives.Name[c]) != "wait" {
			byExternal[t.Ops.External[i]] = c
		}
	}
	k := &t.Kernels
	for i, x := range k.External {
		c, ok := byExternal[x]
		if !ok || k.Collective != nil && k.Collective[i] != model.NoCollective ||
			!isCollectiveName(t.Strings.Text(k.Name[i])) {
			continue
		}
		if k.Collective == nil {
			k.Collective = make([]model.CollectiveRow, k.Len())
			for j := range k.Collective {
				k.Collective[j] = model.NoCollective
			}
		}
		k.Collective[i] = c
	}
}

// isCollectiveName keeps the casts and copies that a collective's operator also launches out.
func isCollectiveName(name string) bool {
	return strings.HasPrefix(name, "nccl") || strings.HasPrefix(name, "rccl")
}

// pairFlows makes links of the two ends of the arrows from forward to backward operators.
func (m *merger) pairFlows() {
	starts := make(map[int64]int, len(m.flows)/2)
	for i := range m.flows {
		if m.flows[i].start {
			starts[m.flows[i].id] = i
		}
	}
	l := &m.trace.Links
	for i := range m.flows {
		to := &m.flows[i]
		at, ok := starts[to.id]
		if to.start || !ok {
			continue
		}
		from := &m.flows[at]
		l.ID = append(l.ID, to.id)
		l.FromNs, l.FromThread = append(l.FromNs, from.timeNs), append(l.FromThread, m.thread(from.pid, from.tid))
		l.ToNs, l.ToThread = append(l.ToNs, to.timeNs), append(l.ToThread, m.thread(to.pid, to.tid))
	}
}

// nameThreads names processes and threads that have events; the lanes of GPUs are drawn as processes too and are none.
func (m *merger) nameThreads() {
	t := m.trace
	for i := range t.Processes {
		t.Processes[i].Name = t.Strings.Text(m.named[metaKey{t.Processes[i].Pid, 0, metaProcess}])
		t.Processes[i].Rank = t.Info.Rank
	}
	for i := range t.Threads {
		th := &t.Threads[i]
		th.Name = t.Strings.Text(m.named[metaKey{t.Processes[th.Process].Pid, th.Tid, metaThread}])
	}
}

// gpuProcess is the host process that the GPU work belongs to: the one with most calls, else most operators.
// A trace is of one process; others in it are children or the profiler's own.
func (m *merger) gpuProcess() model.ProcessRow {
	t := m.trace
	for _, threads := range [][]model.ThreadRow{t.Calls.Thread, t.Ops.Thread, t.Ranges.Thread} {
		count := make([]int, len(t.Processes))
		best := -1
		for _, th := range threads {
			p := int(t.Threads[th].Process)
			if count[p]++; best < 0 || count[p] > count[best] || count[p] == count[best] && p < best {
				best = p
			}
		}
		if best >= 0 {
			return model.ProcessRow(best)
		}
	}
	if len(t.Processes) > 0 {
		return 0
	}
	if t.Kernels.Len()+t.Copies.Len()+t.Sets.Len()+t.Syncs.Len() > 0 {
		return m.process(-1) // work whose process was not recorded
	}
	return 0
}

// listStreams lists the contexts and streams that GPU work ran on.
func (m *merger) listStreams(gpu model.ProcessRow) {
	t := m.trace
	type place struct{ device, context, stream uint32 }
	seen := make(map[place]bool)
	for _, a := range []*model.Activity{&t.Kernels.Activity, &t.Copies.Activity, &t.Sets.Activity} {
		last := place{math.MaxUint32, math.MaxUint32, math.MaxUint32}
		for i := range a.StartNs {
			if p := (place{a.Device[i], a.Context[i], a.Stream[i]}); p != last {
				seen[p], last = true, p
			}
		}
	}
	places := make([]place, 0, len(seen))
	for p := range seen {
		places = append(places, p)
	}
	slices.SortFunc(places, func(a, b place) int {
		return cmp.Or(cmp.Compare(a.device, b.device), cmp.Compare(a.context, b.context),
			cmp.Compare(a.stream, b.stream))
	})
	for i, p := range places {
		if i == 0 || p.device != places[i-1].device || p.context != places[i-1].context {
			t.Contexts = append(t.Contexts, model.Context{Process: gpu, Device: p.device, ID: p.context,
				NullStream: model.NoStream})
		}
		name := t.Strings.Text(m.named[metaKey{int64(p.device), int64(p.stream), metaThread}])
		t.Streams = append(t.Streams, model.Stream{Process: gpu, Context: p.context, ID: p.stream, Flags: -1,
			Name: strings.TrimSpace(name)})
	}
}

// listDevices adds devices that did work and are not in the file's list, which can be empty or of another machine.
func (m *merger) listDevices() {
	t := m.trace
	known := make(map[uint32]bool)
	for _, d := range t.Devices {
		known[d.Ordinal] = true
	}
	for _, c := range t.Contexts {
		if !known[c.Device] && c.Device != model.NoDevice {
			known[c.Device] = true
			t.Devices = append(t.Devices, model.Device{Ordinal: c.Device})
		}
	}
	slices.SortStableFunc(t.Devices, func(a, b model.Device) int { return cmp.Compare(a.Ordinal, b.Ordinal) })
}

// sortCounters orders samples by track, then time.
func sortCounters(c *model.Counters) {
	order := make([]uint32, c.Len())
	for i := range order {
		order[i] = uint32(i)
	}
	slices.SortStableFunc(order, func(a, b uint32) int {
		return cmp.Or(cmp.Compare(c.Track[a], c.Track[b]), cmp.Compare(c.TimeNs[a], c.TimeNs[b]))
	})
	model.Permute(c, order)
}
