package spool

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	raw "lacuna/internal/capture/spool"
	"lacuna/internal/timeline/model"
	"lacuna/internal/timeline/nccl"
)

// What this reader can meet beside what all can.
// the end of a range that began before recording did, or whose beginning was dropped
const lossUnopened model.LossCode = "unopened-range"

// An nvtxRow is a row of nvtx, its texts resolved.
type nvtxRow struct {
	timeNs          int64
	id, payload     uint64
	tid, domain     uint32
	category        uint32
	name, extended  model.StringID
	what, payloadIs uint8
	window          int32 // the window of recording that it is in, from 0
}

func (r *reading) nvtx(s *stream, c *raw.Chunk) {
	c.Keep(r.usable("nvtx", c.Column("time")))
	time, id, payload, tid := c.Column("time"), c.Column("id"), c.Column("payload"), c.Column("tid")
	domain, category, name, extended := c.Column("domain"), c.Column("category"), c.Column("name"), c.Column("extended")
	what, is := c.Column("what"), c.Column("payload_type")
	for i := range c.Count {
		s.nvtxRows = append(s.nvtxRows, nvtxRow{
			timeNs: raw.At[int64](time, i), id: raw.At[uint64](id, i), payload: raw.At[uint64](payload, i),
			tid: raw.At[uint32](tid, i), domain: raw.At[uint32](domain, i), category: raw.At[uint32](category, i),
			name: r.text(s, raw.At[uint32](name, i)), extended: r.text(s, raw.At[uint32](extended, i)),
			what: raw.At[uint8](what, i), payloadIs: raw.At[uint8](is, i),
		})
	}
}

// A stack is the ranges that a thread has pushed in a domain and not yet popped.
type stack struct {
	window int32
	open   []int // rows of Ranges; below 0, ^i is pairing.before[i]
}

// A pairing makes ranges of a stream's rows of nvtx.
type pairing struct {
	r       *reading
	s       *stream
	first   int // the stream's first row of Ranges
	domains map[uint32]model.DomainRow
	stacks  map[[2]uint32]*stack // by tid and domain
	started map[uint64]int       // rows of Ranges, by ID
	ends    map[uint64]nvtxRow   // ends whose start comes later in the file: threads hand their rows over in turn
	// pushes of ranges that were open when the window began; those that ended since have no ID
	before []nvtxRow
}

// ranges pairs pushes with pops, and starts with ends. The rows of one thread are in the order of their calls; those of
// different threads may be in any.
func (r *reading) ranges(s *stream) {
	if len(s.nvtxRows) == 0 {
		return
	}
	p := pairing{r: r, s: s, first: r.trace.Ranges.Len(), domains: r.domainRows(s), stacks: make(map[[2]uint32]*stack),
		started: make(map[uint64]int), ends: make(map[uint64]nvtxRow)}
	edges := s.windowEdges()
	for _, row := range s.nvtxRows {
		n, found := slices.BinarySearch(edges, row.timeNs)
		if found {
			n++
		}
		row.window = int32(n)
		switch row.what {
		case raw.NVTXPush:
			p.push(row)
		case raw.NVTXPop:
			p.pop(row)
		case raw.NVTXStart:
			p.start(row)
		case raw.NVTXEnd:
			p.end(row)
		case raw.NVTXMark:
			p.mark(row)
		default:
			r.trace.Losses.Add(model.LossUnknownEvent, 1, fmt.Sprintf("nvtx: what %d", row.what))
		}
	}
	s.nvtxRows = nil
	p.unopened(len(p.ends))
	for _, row := range p.before {
		if row.id != 0 {
			p.add(row, model.RangePushPop)
		}
	}
	p.stillOpen()
}

// windowEdges is where one window of recording ends and the next begins: between their times, since the rows of a
// window carry times of just around them.
func (s *stream) windowEdges() []int64 {
	var edges []int64
	var offNs int64
	for _, w := range s.windows {
		switch {
		case w.On == 0:
			offNs = int64(min(uint64(w.Time), maxNs))
		case offNs != 0:
			on := int64(min(uint64(w.Time), maxNs))
			edges = append(edges, offNs+(on-offNs)/2)
			offNs = 0
		}
	}
	slices.Sort(edges)
	return edges
}

// add makes a range of its beginning, open so far.
func (p *pairing) add(row nvtxRow, kind model.RangeKind) int {
	t, thread := &p.r.trace.Ranges, p.r.thread(p.s, row.tid)
	t.StartNs, t.DurNs, t.Kind = append(t.StartNs, row.timeNs), append(t.DurNs, model.OpenDurNs), append(t.Kind, kind)
	t.Thread, t.EndThread = append(t.Thread, thread), append(t.EndThread, model.NoThread)
	t.Name, t.Category = append(t.Name, row.name), append(t.Category, row.category)
	t.Domain, t.DomainID = append(t.Domain, p.domain(row.domain)), append(t.DomainID, int64(row.domain))
	if p.r.opt.Wants(model.PartPayloads) || p.r.linksNCCL() {
		t.Payload = append(t.Payload, p.r.payload(row))
	}
	return t.Len() - 1
}

// linksNCCL says whether the payloads of NCCL's ranges are to be made Collectives, which are one of PartOps.
func (r *reading) linksNCCL() bool {
	return r.opt.Wants(model.PartOps) && r.opt.Wants(model.PartRanges) && r.opt.Wants(model.PartKernels) &&
		r.opt.Wants(model.PartCalls)
}

// collectives makes them of NCCL's ranges, when the trace is finished.
func (r *reading) collectives() {
	if r.linksNCCL() {
		nccl.Link(r.trace)
	}
	if !r.opt.Wants(model.PartPayloads) {
		r.trace.Ranges.Payload = nil
	}
}

// close ends the range in a row of Ranges.
func (p *pairing) close(i int, end nvtxRow) {
	t := &p.r.trace.Ranges
	dur := end.timeNs - t.StartNs[i]
	if dur < 0 {
		p.r.trace.Losses.Add(model.LossNegative, 1,
			fmt.Sprintf("nvtx: a range on thread %d ends %d ns before it starts", end.tid, -dur))
		dur = 0
	}
	t.DurNs[i] = dur
	if i < len(t.Payload) && t.Payload[i] == 0 { // what is known only when it ends
		t.Payload[i] = p.r.payload(end)
	}
	if thread := p.r.thread(p.s, end.tid); thread != t.Thread[i] {
		t.EndThread[i] = thread
	}
}

func (p *pairing) push(row nvtxRow) {
	key := [2]uint32{row.tid, row.domain}
	st := p.stacks[key]
	// what was open when the last window ended stays so: the agent pushes it again
	if st == nil || st.window != row.window {
		st = &stack{window: row.window}
		p.stacks[key] = st
	}
	if row.id != 0 { // pushed before the window began, told at its beginning: when it was is not known
		p.before = append(p.before, row)
		st.open = append(st.open, ^(len(p.before) - 1))
		return
	}
	st.open = append(st.open, p.add(row, model.RangePushPop))
}

func (p *pairing) pop(row nvtxRow) {
	st := p.stacks[[2]uint32{row.tid, row.domain}]
	if st == nil || st.window != row.window || len(st.open) == 0 {
		p.unopened(1)
		return
	}
	last := len(st.open) - 1
	if i := st.open[last]; i >= 0 {
		p.close(i, row)
	} else {
		// its length within the window is not its length: a step or a loader's range of a moment would be judged by it
		p.before[^i].id = 0
		p.unopened(1)
	}
	st.open = st.open[:last]
}

func (p *pairing) start(row nvtxRow) {
	i := p.add(row, model.RangeStartEnd)
	if end, ok := p.ends[row.id]; ok && end.timeNs >= row.timeNs {
		p.close(i, end)
		delete(p.ends, row.id)
		return
	}
	p.started[row.id] = i
}

func (p *pairing) end(row nvtxRow) {
	i, ok := p.started[row.id]
	if !ok {
		p.ends[row.id] = row
		return
	}
	p.close(i, row)
	delete(p.started, row.id)
}

func (p *pairing) mark(row nvtxRow) {
	m := &p.r.trace.Marks
	m.TimeNs, m.Thread = append(m.TimeNs, row.timeNs), append(m.Thread, p.r.thread(p.s, row.tid))
	m.Name, m.Domain = append(m.Name, row.name), append(m.Domain, p.domain(row.domain))
}

func (p *pairing) unopened(n int) {
	p.r.trace.Losses.Add(lossUnopened, int64(n), "NVTX ranges end of which no beginning was recorded, in "+p.s.name())
}

// stillOpen counts the stream's ranges that never ended.
func (p *pairing) stillOpen() {
	t := &p.r.trace.Ranges
	for i := p.first; i < t.Len(); i++ {
		if t.DurNs[i] == model.OpenDurNs {
			p.r.trace.Losses.Add(model.LossUnclosed, 1,
				fmt.Sprintf("%.60q in %s", p.r.trace.Strings.Text(t.Name[i]), p.s.name()))
		}
	}
}

// domainRows makes the stream's domains, by the file's number. 0 is the default domain, which has no row.
func (r *reading) domainRows(s *stream) map[uint32]model.DomainRow {
	rows := make(map[uint32]model.DomainRow)
	for _, d := range s.domains {
		if _, have := rows[d.Domain]; have || d.Domain == 0 {
			continue // told again at the beginning of each window
		}
		rows[d.Domain] = model.DomainRow(len(r.trace.Domains))
		r.trace.Domains = append(r.trace.Domains, model.Domain{Process: s.process, ID: int64(d.Domain),
			Name: r.string(s, d.Name)})
	}
	return rows
}

func (p *pairing) domain(id uint32) model.DomainRow {
	if row, ok := p.domains[id]; ok {
		return row
	}
	return model.NoDomain
}

// payload is the text of a range's payload. Types are NVTX's: 1 u64, 2 i64, 3 f64, 4 u32, 5 i32, 6 f32.
func (r *reading) payload(row nvtxRow) model.StringID {
	if row.extended != 0 {
		return row.extended
	}
	var text []byte
	switch v := row.payload; row.payloadIs {
	case 1:
		text = strconv.AppendUint(nil, v, 10)
	case 2:
		text = strconv.AppendInt(nil, int64(v), 10)
	case 3:
		text = strconv.AppendFloat(nil, math.Float64frombits(v), 'g', -1, 64)
	case 4:
		text = strconv.AppendUint(nil, uint64(uint32(v)), 10)
	case 5:
		text = strconv.AppendInt(nil, int64(int32(v)), 10)
	case 6:
		text = strconv.AppendFloat(nil, float64(math.Float32frombits(uint32(v))), 'g', -1, 32)
	}
	return r.trace.Strings.InternBytes(text)
}
