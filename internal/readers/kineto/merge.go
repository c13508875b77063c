package kineto

import (
	"math"

	"lacuna/internal/timeline/model"
)

// A merger appends parts, in the order of the file, to a trace.
type merger struct {
	trace *model.Trace
	want  *want
	dicts []dictionary // by parser

	threads  map[[2]int64]model.ThreadRow // by pid and tid
	pids     map[int64]model.ProcessRow
	lastKey  [2]int64
	lastRow  model.ThreadRow
	named    map[metaKey]model.StringID
	launches []launchRow // name is a model.StringID
	flows    []flowRow
	tracks   map[trackKey]uint32
	firstNs  int64

	held   int64   // bytes that the rows and texts so far take, roughly
	growth float64 // bytes expected over bytes merged, for room
}

type metaKey struct {
	pid, tid int64
	what     metaKind
}

type trackKey struct {
	name   model.StringID
	device uint32
}

// A dictionary turns a parser's text IDs into the trace's. A text is interned when the first row
// with it is merged, so that IDs follow the file whichever parser saw the text first.
type dictionary struct {
	texts []string
	ids   []model.StringID // 0: not interned yet
}

// textBytes is about what a text takes beside itself: in a parser's interner and in the trace's.
const textBytes = 150

func newMerger(w *want) *merger {
	return &merger{
		trace: &model.Trace{}, want: w,
		threads: make(map[[2]int64]model.ThreadRow), pids: make(map[int64]model.ProcessRow), lastRow: model.NoThread,
		named: make(map[metaKey]model.StringID), tracks: make(map[trackKey]uint32), firstNs: maxNs + 1, growth: 1,
	}
}

// learn takes over the texts that a part brought; even of a part whose rows are dropped.
func (m *merger) learn(p *part) {
	d := &m.dicts[p.parser]
	if len(d.texts) == 0 {
		d.texts, d.ids = []string{""}, []model.StringID{0}
	}
	d.texts = append(d.texts, p.texts...)
	d.ids = append(d.ids, make([]model.StringID, len(p.texts))...)
	for _, text := range p.texts {
		m.held += int64(2*len(text)) + textBytes
	}
	p.texts = nil
}

// add appends a part.
func (m *merger) add(p *part) {
	m.learn(p)
	d := &m.dicts[p.parser]
	id := func(local uint32) model.StringID {
		if got := d.ids[local]; got != 0 || local == 0 {
			return got
		}
		d.ids[local] = m.trace.Strings.Intern(d.texts[local])
		return d.ids[local]
	}
	m.held += p.bytes()
	m.firstNs = min(m.firstNs, p.firstNs)
	m.trace.Info.Events += p.events
	m.trace.Losses.Merge(&p.losses)
	collectives := m.addCollectives(p, id)
	m.addKernels(p, id, collectives)
	m.addCopies(p, id)
	m.addCalls(p, id)
	m.addOps(p, id, collectives)
	m.addRanges(p, id)
	m.addRest(p, id)
}

// thread is the row of a host thread, made when it is first met.
func (m *merger) thread(pid, tid int64) model.ThreadRow {
	key := [2]int64{pid, tid}
	if key == m.lastKey && m.lastRow != model.NoThread {
		return m.lastRow
	}
	row, ok := m.threads[key]
	if !ok {
		row = model.ThreadRow(len(m.trace.Threads))
		m.threads[key] = row
		m.trace.Threads = append(m.trace.Threads, model.Thread{Process: m.process(pid), Tid: tid,
			Priority: model.NoPriority})
	}
	m.lastKey, m.lastRow = key, row
	return row
}

func (m *merger) process(pid int64) model.ProcessRow {
	row, ok := m.pids[pid]
	if !ok {
		row = model.ProcessRow(len(m.trace.Processes))
		m.pids[pid] = row
		m.trace.Processes = append(m.trace.Processes, model.Process{Pid: pid, Rank: -1})
	}
	return row
}

// extend makes room for n more values in a column and is that room. The file's size says how much more will come.
func extend[T any](m *merger, column *[]T, n int) []T {
	have := *column
	need := len(have) + n
	if need > cap(have) {
		room := max(need+need/4, int(float64(need)*min(m.growth, 16)*1.02))
		grown := make([]T, len(have), room)
		copy(grown, have)
		have = grown
	}
	*column = have[:need]
	return have[len(have):need]
}

// optionally is extend of a column that is absent (nil) until some row has a value for it; rows before that get absent.
func optionally[T any](m *merger, column *[]T, before, n int, has bool, absent T) []T {
	if *column == nil {
		if !has {
			return nil
		}
		for i, early := 0, extend(m, column, before); i < before; i++ {
			early[i] = absent
		}
	}
	return extend(m, column, n)
}

// addActivity appends what all GPU work has. The process is the same for all and known only at the end.
func (m *merger) addActivity(a *model.Activity, n int, has optional, row func(i int) *gpuRow) {
	before := a.Len()
	start, dur := extend(m, &a.StartNs, n), extend(m, &a.DurNs, n)
	device, context, stream := extend(m, &a.Device, n), extend(m, &a.Context, n), extend(m, &a.Stream, n)
	corr := extend(m, &a.Corr, n)
	external := optionally(m, &a.External, before, n, has&hasExternal != 0, model.NoExternal)
	graph := optionally(m, &a.Graph, before, n, has&hasGraph != 0, model.NoGraph)
	node := optionally(m, &a.GraphNode, before, n, has&hasGraph != 0, 0)
	for i := range n {
		r := row(i)
		start[i], dur[i], device[i], context[i], stream[i], corr[i] = r.startNs, r.durNs, r.device, r.context,
			r.stream, r.corr
		if external != nil {
			external[i] = r.external
		}
		if graph != nil {
			graph[i], node[i] = r.graph, r.graphNode
		}
	}
}

func (m *merger) addKernels(p *part, id func(uint32) model.StringID, collectives model.CollectiveRow) {
	n := len(p.kernels)
	if n == 0 {
		return
	}
	k := &m.trace.Kernels
	before := k.Len()
	m.addActivity(&k.Activity, n, p.has, func(i int) *gpuRow { return &p.kernels[i].gpuRow })
	name := extend(m, &k.Name, n)
	for i := range n {
		name[i] = id(p.kernels[i].name)
	}
	launch := p.has&hasLaunch != 0
	gx, gy, gz := optionally(m, &k.GridX, before, n, launch, 0), optionally(m, &k.GridY, before, n, launch, 0),
		optionally(m, &k.GridZ, before, n, launch, 0)
	bx, by, bz := optionally(m, &k.BlockX, before, n, launch, 0), optionally(m, &k.BlockY, before, n, launch, 0),
		optionally(m, &k.BlockZ, before, n, launch, 0)
	if gx != nil {
		for i := range n {
			r := &p.kernels[i]
			gx[i], gy[i], gz[i] = r.grid[0], r.grid[1], r.grid[2]
			bx[i], by[i], bz[i] = r.block[0], r.block[1], r.block[2]
		}
	}
	if registers := optionally(m, &k.Registers, before, n, p.has&hasRegisters != 0, 0); registers != nil {
		for i := range n {
			registers[i] = p.kernels[i].registers
		}
	}
	if shared := optionally(m, &k.DynShared, before, n, p.has&hasShared != 0, 0); shared != nil {
		for i := range n {
			shared[i] = p.kernels[i].shared
		}
	}
	blocks, warps := optionally(m, &k.BlocksPerSM, before, n, p.has&hasPerSM != 0, 0),
		optionally(m, &k.WarpsPerSM, before, n, p.has&hasPerSM != 0, 0)
	if blocks != nil {
		for i := range n {
			blocks[i], warps[i] = p.kernels[i].blocksPerSM, p.kernels[i].warpsPerSM
		}
	}
	if occupancy := optionally(m, &k.OccEstimated, before, n, p.has&hasOccupancy != 0, 0); occupancy != nil {
		for i := range n {
			occupancy[i] = p.kernels[i].occupancy
		}
	}
	if coll := optionally(m, &k.Collective, before, n, p.has&hasCollective != 0, model.NoCollective); coll != nil {
		for i := range n {
			coll[i] = collectiveRowOf(p.kernels[i].collective, collectives)
		}
	}
}

// collectiveRowOf turns an index of a part into a row of the trace; first is where the part's begin.
func collectiveRowOf(index int32, first model.CollectiveRow) model.CollectiveRow {
	if index < 0 {
		return model.NoCollective
	}
	return first + model.CollectiveRow(index)
}

func (m *merger) addCopies(p *part, id func(uint32) model.StringID) {
	if n := len(p.copies); n > 0 {
		c := &m.trace.Copies
		before := c.Len()
		m.addActivity(&c.Activity, n, p.has, func(i int) *gpuRow { return &p.copies[i].gpuRow })
		kind, src, dst := extend(m, &c.Kind, n), extend(m, &c.Src, n), extend(m, &c.Dst, n)
		bytes, name := extend(m, &c.Bytes, n), extend(m, &c.Name, n)
		gbs := optionally(m, &c.GBs, before, n, p.has&hasGBs != 0, math.NaN())
		for i := range n {
			r := &p.copies[i]
			kind[i], src[i], dst[i], bytes[i], name[i] = r.kind, r.src, r.dst, r.bytes, id(r.name)
			if gbs != nil {
				gbs[i] = r.gbs
			}
		}
	}
	if n := len(p.sets); n > 0 {
		s := &m.trace.Sets
		before := s.Len()
		m.addActivity(&s.Activity, n, p.has, func(i int) *gpuRow { return &p.sets[i].gpuRow })
		bytes, mem, name := extend(m, &s.Bytes, n), extend(m, &s.Mem, n), extend(m, &s.Name, n)
		gbs := optionally(m, &s.GBs, before, n, p.has&hasGBs != 0, math.NaN())
		for i := range n {
			r := &p.sets[i]
			bytes[i], mem[i], name[i] = r.bytes, r.dst, id(r.name)
			if gbs != nil {
				gbs[i] = r.gbs
			}
		}
	}
}

func (m *merger) addCalls(p *part, id func(uint32) model.StringID) {
	for _, l := range p.launches {
		l.name = uint32(id(l.name))
		m.launches = append(m.launches, l)
	}
	n := len(p.calls)
	if n == 0 {
		return
	}
	c := &m.trace.Calls
	before := c.Len()
	start, dur, thread, name := extend(m, &c.StartNs, n), extend(m, &c.DurNs, n), extend(m, &c.Thread, n),
		extend(m, &c.Name, n)
	corr, class := extend(m, &c.Corr, n), extend(m, &c.Class, n)
	external := optionally(m, &c.External, before, n, p.has&hasCallExternal != 0, model.NoExternal)
	for i := range n {
		r := &p.calls[i]
		start[i], dur[i], thread[i], name[i] = r.startNs, r.durNs, m.thread(r.pid, r.tid), id(r.name)
		corr[i], class[i] = r.corr, r.class
		if external != nil {
			external[i] = r.external
		}
	}
}

func (m *merger) addOps(p *part, id func(uint32) model.StringID, collectives model.CollectiveRow) {
	n := len(p.ops)
	if n == 0 {
		return
	}
	o := &m.trace.Ops
	before := o.Len()
	start, dur, thread, name := extend(m, &o.StartNs, n), extend(m, &o.DurNs, n), extend(m, &o.Thread, n),
		extend(m, &o.Name, n)
	external := extend(m, &o.External, n)
	sequence := optionally(m, &o.Sequence, before, n, p.has&hasSequence != 0, model.NoSequence)
	fwd := optionally(m, &o.FwdThread, before, n, p.has&hasSequence != 0, 0)
	coll := optionally(m, &o.Collective, before, n, p.has&hasCollective != 0, model.NoCollective)
	for i := range n {
		r := &p.ops[i]
		start[i], dur[i], thread[i], name[i], external[i] = r.startNs, r.durNs, m.thread(r.pid, r.tid), id(r.name),
			r.external
		if sequence != nil {
			sequence[i], fwd[i] = r.sequence, r.fwdThread
		}
		if coll != nil {
			coll[i] = collectiveRowOf(r.collective, collectives)
		}
	}
	m.addTexts(p, &o.Shapes, before, hasShapes, id, func(r *opRow) uint32 { return r.shapes })
	m.addTexts(p, &o.Types, before, hasTypes, id, func(r *opRow) uint32 { return r.types })
	m.addTexts(p, &o.Strides, before, hasStrides, id, func(r *opRow) uint32 { return r.strides })
	m.addTexts(p, &o.Values, before, hasValues, id, func(r *opRow) uint32 { return r.values })
	m.addTexts(p, &o.Stack, before, hasStack, id, func(r *opRow) uint32 { return r.stack })
	m.addTexts(p, &o.Module, before, hasModule, id, func(r *opRow) uint32 { return r.module })
	m.addTexts(p, &o.Backend, before, hasBackend, id, func(r *opRow) uint32 { return r.backend })
}

// addTexts appends one optional column of texts of operators.
func (m *merger) addTexts(p *part, column *[]model.StringID, before int, has optional, id func(uint32) model.StringID,
	text func(*opRow) uint32) {
	rows := optionally(m, column, before, len(p.ops), p.has&has != 0, 0)
	for i := range rows {
		rows[i] = id(text(&p.ops[i]))
	}
}
