package nsys

import (
	"strconv"
	"strings"

	"lacuna/internal/timeline/model"
	"lacuna/internal/timeline/nccl"
)

// Event types of NVTX_EVENTS.
const (
	nvtxMark         = 34
	nvtxThreadName   = 39
	nvtxPushPop      = 59
	nvtxStartEnd     = 60
	nvtxtPushPop     = 70
	nvtxtStartEnd    = 71
	nvtxDomainCreate = 75
)

// Slots of NVTX_EVENTS.
const (
	nvtxStart = iota
	nvtxEnd
	nvtxType
	nvtxTid
	nvtxText
	nvtxTextID
	nvtxDomain
	nvtxEndTid
	nvtxCategory
	nvtxPayload // the first of payloadColumns
)

var nvtxColumns = []string{"start", "end", "eventType", "globalTid", "text", "textId", "domainId", "endGlobalTid",
	"category"}

// A note is a row of NVTX_EVENTS that is no range: a mark, a domain's or a thread's name.
type note struct {
	kind   int64
	timeNs int64
	thread model.ThreadRow // of the part
	name   model.StringID  // of the part
	domain int64
}

func (r *reading) nvtx() {
	t := &r.trace.Ranges
	columns := nvtxColumns[:len(nvtxColumns):len(nvtxColumns)]
	payloads := r.opt.Wants(model.PartPayloads) || r.linksNCCL()
	var schemas payloadSchemas
	if payloads {
		columns = append(columns, payloadColumns...)
		schemas = r.payloadSchemas()
	}
	alloc := func(n int, has func(int) bool) {
		grow(n, &t.StartNs, &t.DurNs, &t.Thread, &t.Kind, &t.Style, &t.Name, &t.DomainID, &t.Category, &t.RowID)
		if has(nvtxEndTid) {
			grow(n, &t.EndThread)
		}
		if payloads {
			grow(n, &t.Payload)
		}
	}
	workers := r.scan(t, alloc, source{"NVTX_EVENTS", columns, func(w *worker, i int) bool {
		kind, _ := w.int(nvtxType)
		switch kind {
		case nvtxPushPop, nvtxtPushPop:
			t.Kind[i] = model.RangePushPop
		case nvtxStartEnd, nvtxtStartEnd:
			t.Kind[i] = model.RangeStartEnd
		default:
			w.note(kind)
			return false
		}
		if !w.openSpan(t, i) {
			return false
		}
		t.Thread[i], t.Style[i], t.Name[i] = w.thread(nvtxTid), uint8(kind), w.nvtxName()
		t.DomainID[i], t.Category[i], t.RowID[i] = w.i64(nvtxDomain, 0), w.u32(nvtxCategory, 0), w.row.RowID
		if t.EndThread != nil {
			t.EndThread[i] = w.thread(nvtxEndTid)
		}
		if payloads {
			t.Payload[i] = w.payload(schemas)
		}
		return true
	}})
	r.notes(workers)
}

// linksNCCL says whether payloads of NCCL's ranges, if there are any, are to be made Collectives, which are one of
// PartOps.
func (r *reading) linksNCCL() bool {
	for _, part := range []model.Parts{model.PartOps, model.PartRanges, model.PartKernels, model.PartCalls} {
		if !r.opt.Wants(part) {
			return false
		}
	}
	return r.db.Table("NVTX_PAYLOAD_SCHEMAS") != nil
}

// collectives makes them, when the trace is finished.
func (r *reading) collectives() {
	if r.linksNCCL() {
		nccl.Link(r.trace)
	}
	if !r.opt.Wants(model.PartPayloads) {
		r.trace.Ranges.Payload = nil
	}
}

// openSpan is span for a row that may have no end: such a range was still open when the capture ended.
func (w *worker) openSpan(t *model.Ranges, i int) bool {
	if _, ok := w.row.Int(nvtxEnd); ok || w.row.Kind(nvtxEnd) != 0 {
		return w.span(t.StartNs, t.DurNs, i)
	}
	start, ok := w.time(nvtxStart)
	if !ok {
		return false
	}
	t.StartNs[i], t.DurNs[i] = start, model.OpenDurNs
	w.lose(model.LossUnclosed, nvtxEnd, "is NULL")
	return true
}

// nvtxName is a range's name: a registered string, or the text beside it.
func (w *worker) nvtxName() model.StringID {
	if _, ok := w.row.Int(nvtxTextID); ok {
		return w.named(nvtxTextID)
	}
	return w.text(nvtxText)
}

// note keeps a row that is no range for after the scan.
func (w *worker) note(kind int64) {
	switch kind {
	case nvtxMark, nvtxThreadName, nvtxDomainCreate:
	default:
		return // names of categories, ends of domains, resources: the model has no place for them
	}
	timeNs, ok := w.time(nvtxStart)
	if !ok {
		return
	}
	notes, _ := w.aside.([]note)
	w.aside = append(notes, note{kind, timeNs, w.thread(nvtxTid), w.nvtxName(), w.i64(nvtxDomain, 0)})
}

// notes makes marks, domains and names of threads of what the workers kept, then finds each range's domain.
func (r *reading) notes(workers []*worker) {
	type key struct {
		process model.ProcessRow
		id      int64
	}
	domains := make(map[key]model.DomainRow)
	of := func(thread model.ThreadRow, id int64) key {
		if thread == model.NoThread {
			return key{model.NoProcess, id}
		}
		return key{r.trace.Threads[thread].Process, id}
	}
	domain := func(thread model.ThreadRow, id int64) model.DomainRow {
		if row, ok := domains[of(thread, id)]; ok && id != 0 {
			return row
		}
		return model.NoDomain
	}
	var marks []note
	for _, w := range workers {
		notes, _ := w.aside.([]note)
		for _, n := range notes {
			if int(n.thread) < len(w.threadRows) {
				n.thread = model.ThreadRow(w.threadRows[n.thread])
			}
			if n.name&ownText != 0 {
				n.name = w.textIDs[n.name&^ownText]
			}
			switch n.kind {
			case nvtxMark:
				marks = append(marks, n)
			case nvtxThreadName:
				r.nameThread(n.thread, r.trace.Strings.Text(n.name))
			case nvtxDomainCreate:
				k := of(n.thread, n.domain)
				if _, ok := domains[k]; !ok {
					domains[k] = model.DomainRow(len(r.trace.Domains))
					r.trace.Domains = append(r.trace.Domains,
						model.Domain{Process: k.process, ID: k.id, Name: r.trace.Strings.Text(n.name)})
				}
			}
		}
	}
	for _, n := range marks {
		m := &r.trace.Marks
		m.TimeNs, m.Thread = append(m.TimeNs, n.timeNs), append(m.Thread, n.thread)
		m.Name, m.Domain = append(m.Name, n.name), append(m.Domain, domain(n.thread, n.domain))
	}
	t := &r.trace.Ranges
	if t.Len() == 0 {
		return
	}
	grow(t.Len(), &t.Domain)
	for i, id := range t.DomainID {
		t.Domain[i] = domain(t.Thread[i], id)
	}
}

// nameThread keeps a name given by NVTX, which is the user's own. MPI's ranks are given that way.
func (r *reading) nameThread(row model.ThreadRow, name string) {
	if row == model.NoThread || name == "" {
		return
	}
	t := &r.trace.Threads[row]
	t.Name = name
	if n, ok := strings.CutPrefix(name, "MPI Rank "); ok && t.Process != model.NoProcess {
		if rank, err := strconv.ParseInt(n, 10, 32); err == nil && rank >= 0 {
			r.trace.Processes[t.Process].Rank = int32(rank)
		}
	}
}
