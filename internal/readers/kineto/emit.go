package kineto

import (
	"bytes"
	"fmt"
	"hash/fnv"
	"math"

	"lacuna/internal/timeline/model"
)

// example words a loss: where, what, and the first bytes of the value.
func example(at int64, what string, value []byte) string {
	if value == nil {
		return fmt.Sprintf("byte %d: %s", at, what)
	}
	if len(value) > 40 {
		value = append(bytes.Clone(value[:40]), "…"...)
	}
	return fmt.Sprintf("byte %d: %s (%q)", at, what, value)
}

// legacyProcess is the process of operators that torch.autograd.profiler exported before Kineto, without a category.
const legacyProcess = "CPU functions"

// emit makes a row of the event that was read.
func (p *parser) emit() {
	p.out.events++
	if p.kind == kindUnset {
		if p.ph != 'X' {
			p.lose(model.LossBadEvent, int(p.name.from), "an event without phase", nil)
			return
		}
		p.kind = kindUnknown
	}
	if p.kind == kindUnknown && p.ph == 'X' && len(p.inner(p.cat)) == 0 && string(p.inner(p.pid)) == legacyProcess {
		if p.want.skip[kindOp] {
			return
		}
		p.kind = kindOp
	}
	if p.args.to > 0 && p.want.args[p.kind] != 0 { // its kind was not known when they came by
		p.arguments(int(p.args.from))
	}
	corrless := p.corrless
	p.corrless = false
	switch p.kind {
	case kindMeta:
		p.emitMeta()
	case kindInstant:
		p.emitInstant()
	case kindFlow:
		p.emitFlow(corrless)
	case kindCounter:
		p.emitCounters()
	case kindForeign:
		p.lose(model.LossForeignDevice, int(p.name.from), "work of another accelerator", p.inner(p.cat))
	case kindUnknown:
		p.lose(model.LossUnknownEvent, int(p.name.from), "an event of unknown kind",
			append([]byte{p.ph, ' '}, p.inner(p.cat)...))
	default:
		p.emitSpan()
	}
}

// emitSpan makes a row of an event that has a duration.
func (p *parser) emitSpan() {
	start, dur, ok := p.times()
	if !ok {
		return
	}
	if start != 0 {
		p.out.firstNs = min(p.out.firstNs, start)
	}
	switch p.kind {
	case kindKernel:
		p.emitKernel(start, dur)
	case kindCopy:
		p.out.copies = append(p.out.copies, p.copyRow(start, dur))
	case kindSet:
		p.out.sets = append(p.out.sets, p.copyRow(start, dur))
	case kindCall:
		p.emitCall(start, dur, model.CallRuntime)
	case kindDriverCall:
		p.emitCall(start, dur, model.CallDriver)
	case kindOp:
		if bytes.HasPrefix(p.inner(p.name), profilerStep) {
			p.emitRange(start, dur)
		} else {
			p.emitOp(start, dur)
		}
	case kindRange:
		p.emitRange(start, dur)
	case kindPython:
		row := pyRow{hostRow: p.host(start, dur), id: p.int(fieldPyID, -1), parent: p.int(fieldPyParent, -1)}
		p.out.pyCalls = append(p.out.pyCalls, row)
	case kindDeviceRange:
		p.emitDeviceRange(start, dur)
	case kindSync:
		p.emitSync(start, dur)
	case kindOverhead:
		p.out.overheads = append(p.out.overheads, p.host(start, dur))
	case kindTraceSpan:
		p.out.spans = append(p.out.spans, spanRow{start, dur, p.text(p.name)})
	case kindMetrics:
		p.emitMetrics(start)
	}
}

// times reads ts and dur. What has no time is a loss; a negative duration is kept as 0.
func (p *parser) times() (start, dur int64, ok bool) {
	start, ok = parseMicros(p.raw(p.ts))
	if !ok {
		what := `"ts" is missing`
		if p.ts.to > 0 {
			what = `"ts" is not a time in range`
		}
		p.lose(model.LossBadTime, int(max(p.ts.from, p.name.from)), what, p.raw(p.ts))
		return 0, 0, false
	}
	if p.dur.to == 0 {
		return start, 0, true
	}
	dur, ok = parseMicros(p.raw(p.dur))
	if !ok || dur > maxNs-start {
		p.lose(model.LossBadTime, int(p.dur.from), `"dur" is not a time in range`, p.raw(p.dur))
		return 0, 0, false
	}
	if dur < 0 {
		p.lose(model.LossNegative, int(p.dur.from), `"dur" is negative`, p.raw(p.dur))
		dur = 0
	}
	return start, dur, true
}

// --- reading values --------------------------------------------------------------------------------------------------

// text is the ID of a string, or of any other value's JSON.
func (p *parser) text(v piece) uint32 { return p.names.value(p.raw(v)) }

func (p *parser) fieldText(f field) uint32 {
	if !p.have.has(f) {
		return 0
	}
	return p.text(p.value[f])
}

// int is the integer of a field, or absent.
func (p *parser) int(f field, absent int64) int64 {
	if p.have.has(f) {
		if n, ok := parseInt(p.raw(p.value[f])); ok {
			return n
		}
	}
	return absent
}

// uint is the 32-bit number of a field, or absent. -1, in any width, is absent too.
func (p *parser) uint(f field, absent uint32) uint32 {
	if !p.have.has(f) {
		return absent
	}
	raw := p.raw(p.value[f])
	n, ok := parseInt(raw)
	switch {
	case !ok:
		if len(raw) > 0 && raw[0] != 'n' { // null is said on purpose
			p.lose(model.LossWidth, int(p.value[f].from), "is not a number that fits", raw)
		}
		return absent
	case n == -1:
		return absent
	case n < 0 || n > math.MaxUint32:
		p.lose(model.LossWidth, int(p.value[f].from), "does not fit 32 bits", raw)
		return absent
	}
	return uint32(n)
}

// external is the external ID; 0 is how old files say that there is none.
func (p *parser) external() uint32 {
	n := p.uint(fieldExternal, model.NoExternal)
	if n == 0 {
		return model.NoExternal
	}
	return n
}

// int32 is a field that must fit 31 bits; what is larger is a loss.
func (p *parser) int32(f field, absent int32) int32 {
	n := p.int(f, int64(absent))
	if n < math.MinInt32 || n > math.MaxInt32 {
		p.lose(model.LossWidth, int(p.value[f].from), "does not fit 32 bits", p.raw(p.value[f]))
		return absent
	}
	return int32(n)
}

func (p *parser) float(f field, absent float64) float64 {
	if p.have.has(f) {
		if x, ok := parseFloat(p.raw(p.value[f])); ok {
			return x
		}
	}
	return absent
}

// number is a process or thread: an integer, an integer in quotes, or a name, which gets a negative number of its own.
func (p *parser) number(v piece) int64 {
	raw := p.raw(v)
	if n, ok := parseInt(raw); ok {
		return n
	}
	if len(raw) == 0 {
		return 0
	}
	h := fnv.New32a()
	h.Write(raw)
	return -1<<32 - int64(h.Sum32())
}

func (p *parser) host(start, dur int64) hostRow {
	row := hostRow{startNs: start, durNs: dur, pid: p.number(p.pid), tid: p.number(p.tid), name: p.text(p.name),
		external: model.NoExternal}
	if p.have.has(fieldExternal) {
		if row.external = p.external(); row.external != model.NoExternal {
			p.out.has |= hasExternal
		}
	}
	return row
}
