package kineto

import (
	"bytes"
	"math"
	"strings"

	"lacuna/internal/timeline/model"
)

func (p *parser) emitCall(start, dur int64, class model.CallClass) {
	corr := p.uint(fieldCorr, model.NoCorr)
	if p.have&setOf(fieldGrid, fieldBlock, fieldBytes, fieldSize) != 0 && corr != model.NoCorr {
		row := launchRow{corr: corr, name: p.fieldText(fieldKernelName), bytes: p.int(fieldBytes, p.int(fieldSize, -1))}
		row.grid, row.block = p.dims(fieldGrid), p.dims(fieldBlock)
		row.shared = p.int32(fieldShared, 0)
		p.out.launches = append(p.out.launches, row)
	}
	if !p.want.Wants(model.PartCalls) {
		return
	}
	row := callRow{hostRow: p.host(start, dur), corr: corr, class: class}
	if row.external != model.NoExternal {
		p.out.has |= hasCallExternal
	}
	p.corrless = corr == model.NoCorr
	p.out.calls = append(p.out.calls, row)
}

func (p *parser) emitOp(start, dur int64) {
	row := opRow{hostRow: p.host(start, dur), sequence: p.int(fieldSequence, model.NoSequence),
		fwdThread: p.int(fieldFwdThread, 0), collective: p.collective()}
	if row.sequence != model.NoSequence {
		p.out.has |= hasSequence
	}
	for _, x := range [...]struct {
		field field
		to    *uint32
		has   optional
	}{
		{fieldShapes, &row.shapes, hasShapes}, {fieldTypes, &row.types, hasTypes},
		{fieldStrides, &row.strides, hasStrides},
		{fieldValues, &row.values, hasValues}, {fieldStack, &row.stack, hasStack},
		{fieldModule, &row.module, hasModule},
		{fieldBackend, &row.backend, hasBackend},
	} {
		if p.have.has(x.field) {
			if *x.to = p.text(p.value[x.field]); *x.to != 0 {
				p.out.has |= x.has
			}
		}
	}
	p.out.ops = append(p.out.ops, row)
}

func (p *parser) emitRange(start, dur int64) {
	if !p.want.Wants(model.PartRanges) {
		return
	}
	row := rangeRow{hostRow: p.host(start, dur), sequence: p.int(fieldSequence, model.NoSequence),
		shapes: p.fieldText(fieldShapes), kind: model.RangeAnnotation}
	if bytes.HasPrefix(p.inner(p.name), []byte("ProfilerStep#")) {
		row.kind = model.RangeProfiler
	}
	if row.shapes != 0 {
		p.out.has |= hasRangeShapes
	}
	if row.sequence != model.NoSequence {
		p.out.has |= hasRangeSequence
	}
	p.out.ranges = append(p.out.ranges, row)
}

// collective reads what is said of a collective, as an index of the part's; -1: nothing.
func (p *parser) collective() int32 {
	if p.have&setOf(fieldCollective, fieldInElems, fieldGroup, fieldGroupID, fieldGroupRanks) == 0 {
		return -1
	}
	row := collectiveRow{
		name: p.fieldText(fieldCollective), group: p.fieldText(fieldGroup), desc: p.fieldText(fieldGroupDesc),
		ranks: p.fieldText(fieldGroupRanks),
		dtype: p.fieldText(fieldDtype), inSplit: p.fieldText(fieldInSplit), outSplit: p.fieldText(fieldOutSplit),
		groupSize: p.int32(fieldGroupSize, 0), peer: -1,
		inElems: p.int(fieldInElems, 0), outElems: p.int(fieldOutElems, 0), seq: p.int(fieldCollSeq, model.NoSequence),
	}
	if row.group == 0 {
		row.group = p.fieldText(fieldGroupID)
	}
	// Of point-to-point, one of the two is this rank itself.
	src, dst, self := p.int32(fieldSrcRank, -1), p.int32(fieldDstRank, -1), p.int32(fieldRank, -1)
	if row.peer = dst; dst < 0 || dst == self && src >= 0 {
		row.peer = src
	}
	p.out.has |= hasCollective
	p.out.collectives = append(p.out.collectives, row)
	return int32(len(p.out.collectives) - 1)
}

// emitInstant makes a row of a [memory] event or a mark.
func (p *parser) emitInstant() {
	at, ok := parseMicros(p.raw(p.ts))
	if !ok {
		p.lose(model.LossBadTime, int(max(p.ts.from, p.name.from)), `"ts" is not a time in range`, p.raw(p.ts))
		return
	}
	if string(p.inner(p.name)) != "[memory]" {
		if !p.want.Wants(model.PartRanges) {
			return
		}
		row := markRow{timeNs: at, pid: p.number(p.pid), tid: p.number(p.tid), name: p.text(p.name)}
		row.thread = row.pid >= 0 && row.tid >= 0 && len(bare(p.raw(p.tid))) > 0
		p.out.marks = append(p.out.marks, row)
		return
	}
	if !p.want.Wants(model.PartMemory) {
		return
	}
	row := allocRow{
		timeNs: at, pid: p.number(p.pid), tid: p.number(p.tid), delta: p.int(fieldMemBytes, 0),
		allocated: p.int(fieldAllocated, -1), reserved: p.int(fieldReserved, -1), device: model.NoDevice,
	}
	if p.int(fieldDeviceType, 0) != 0 { // 0 is the host
		row.device = p.uint(fieldDeviceID, model.NoDevice)
	}
	if p.have.has(fieldAddr) {
		row.addr, _ = parseUint(p.raw(p.value[fieldAddr]))
		p.out.has |= hasAddr
	}
	p.out.allocs = append(p.out.allocs, row)
}

// emitFlow keeps the arrows between operators, and gives a correlation ID to the event just before that lacks one.
func (p *parser) emitFlow(corrless bool) {
	id, ok := parseInt(p.raw(p.flow))
	if !ok {
		return
	}
	if cat := p.inner(p.cat); p.hasCat && string(cat) == "fwdbwd" {
		if !p.want.Wants(model.PartOps) {
			return
		}
		at, ok := parseMicros(p.raw(p.ts))
		if !ok {
			p.lose(model.LossBadTime, int(max(p.ts.from, p.flow.from)), `"ts" is not a time in range`, p.raw(p.ts))
			return
		}
		p.out.flows = append(p.out.flows, flowRow{timeNs: at, pid: p.number(p.pid), tid: p.number(p.tid), id: id,
			start: p.ph == 's'})
		return
	}
	if corrless && id >= 0 && id < math.MaxUint32 {
		p.adoptFlow(uint32(id))
	}
}

// adoptFlow gives the last row of the part that has no correlation ID, and starts where the flow does, the flow's.
func (p *parser) adoptFlow(id uint32) {
	at, ok := parseMicros(p.raw(p.ts))
	if !ok {
		return
	}
	o := p.out
	try := func(startNs int64, corr *uint32) bool {
		if *corr != model.NoCorr || startNs != at {
			return false
		}
		*corr = id
		return true
	}
	if n := len(o.kernels); n > 0 && try(o.kernels[n-1].startNs, &o.kernels[n-1].corr) {
		return
	}
	if n := len(o.copies); n > 0 && try(o.copies[n-1].startNs, &o.copies[n-1].corr) {
		return
	}
	if n := len(o.sets); n > 0 && try(o.sets[n-1].startNs, &o.sets[n-1].corr) {
		return
	}
	if n := len(o.calls); n > 0 {
		try(o.calls[n-1].startNs, &o.calls[n-1].corr)
	}
}

// emitMeta keeps the names of processes and threads, each once.
func (p *parser) emitMeta() {
	row := metaRow{pid: p.number(p.pid), tid: p.number(p.tid)}
	switch string(p.inner(p.name)) {
	case "process_name":
		row.what, row.tid = metaProcess, 0
	case "thread_name":
		row.what = metaThread
	default:
		return
	}
	if row.text = p.fieldText(fieldMetaName); row.text == 0 {
		return
	}
	p.out.metas = append(p.out.metas, row)
}

// emitMetrics makes a sample of each number in the arguments of a CUPTI range.
func (p *parser) emitMetrics(start int64) { p.samples(start, p.device()) }

func (p *parser) emitCounters() {
	at, ok := parseMicros(p.raw(p.ts))
	if !ok {
		p.lose(model.LossBadTime, int(max(p.ts.from, p.name.from)), `"ts" is not a time in range`, p.raw(p.ts))
		return
	}
	p.samples(at, model.NoDevice)
}

// samples reads every argument that is a number.
func (p *parser) samples(timeNs int64, device uint32) {
	b := p.b
	if p.args.to == 0 || b[p.args.from] != '{' {
		return
	}
	for i, last := int(p.args.from)+1, &p.firstArg; ; {
		node, at := p.member(i, last)
		if at < 0 || node.closes {
			return
		}
		end := skipValue(b, at)
		if end < 0 {
			return
		}
		if x, ok := parseFloat(b[at:end]); ok {
			_, key, _ := strings.Cut(node.text, `"`)
			key = key[:strings.LastIndexByte(key, '"')]
			p.out.counters = append(p.out.counters,
				counterRow{timeNs: timeNs, name: p.names.text([]byte(key)), device: device, value: x})
		}
		last, i = node, end
	}
}
