package tables

import (
	"math"
	"slices"
	"strings"

	"lacuna/internal/timeline/facts"
	"lacuna/internal/timeline/flops"
	"lacuna/internal/timeline/model"
	"lacuna/internal/timeline/peaks"
)

// fp32Math is how the kernels of an operator multiply FP32 numbers, by their names.
type fp32Math uint8

const (
	mathUnknown fp32Math = iota
	mathFP32
	mathTF32
)

// fp32MathOf reads cuBLAS', cuDNN's and CUTLASS' names: tf32 and the shape of its matrix instruction, 16x8x8, against
// scalar instructions.
func fp32MathOf(kernel string) fp32Math {
	kernel = strings.ToLower(kernel)
	for _, sign := range []string{"tf32", "tfloat32", "s1688"} {
		if strings.Contains(kernel, sign) {
			return mathTF32
		}
	}
	for _, sign := range []string{"sgemm", "simt", "ffma", "f32f32_f32f32", "scudnn", "gemv"} {
		if strings.Contains(kernel, sign) {
			return mathFP32
		}
	}
	return mathUnknown
}

// A rooflineRow is the calls of one operator with the same shapes, types and work, on one kind of device.
type rooflineRow struct {
	name    string
	shapes  model.StringID
	work    flops.Work
	why     flops.Unknown
	peak    *peaks.Peak // nil: unknown
	unit    peaks.Unit
	assumed bool
	host    bool // copies between host and device: held against the link
	calls   int64
	busyNs  int64
	first   int   // of its Work rows
	endNs   int64 // of those counted so far
}

// insideWhy is the reason for not counting an operator that launched work itself and called another that is counted.
const insideWhy flops.Unknown = "counted in an operator that it calls"

// noOp is the name of the row of work that no operator launched.
const noOp = "[no operator]"

// A roofline sums GPU work by operator.
type roofline struct {
	f      *facts.Facts
	workOp []int32

	asked   map[[5]model.StringID]uint32 // what was asked of flops, by name and arguments
	answers []rooflineAnswer
	inside  map[int32]bool // operators of whose matrix work another one has the count

	rows  []*rooflineRow
	index map[rooflineKey]*rooflineRow
	ofOp  map[int32]*rooflineRow // the row that an operator's call is counted in
	peaks map[uint32]*peaks.Peak // by device
}

type rooflineAnswer struct {
	work flops.Work
	why  flops.Unknown
}

type rooflineKey struct {
	name, shapes, types model.StringID
	work                flops.Work
	why                 flops.Unknown
	peak                *peaks.Peak
	math                fp32Math
	host                bool
}

func newRoofline(f *facts.Facts) *roofline {
	r := &roofline{
		f: f, workOp: f.WorkOps(), asked: make(map[[5]model.StringID]uint32), inside: make(map[int32]bool),
		index: make(map[rooflineKey]*rooflineRow), ofOp: make(map[int32]*rooflineRow),
		peaks: make(map[uint32]*peaks.Peak),
	}
	for _, d := range f.Devices() {
		dev := deviceOf(f.Trace, d)
		r.peaks[d], _ = peaks.Find(dev.Name, dev)
	}
	return r
}

// deviceOf is what the capture says of a device. ROCm numbers devices in its events otherwise than in its list: where
// all that are listed are alike, an unlisted one is one of them.
func deviceOf(t *model.Trace, ordinal uint32) model.Device {
	for _, d := range t.Devices {
		if d.Ordinal == ordinal {
			return d
		}
	}
	alike := func(d model.Device) bool {
		return d.Name == t.Devices[0].Name && d.SMs == t.Devices[0].SMs && d.MemoryBytes == t.Devices[0].MemoryBytes
	}
	if len(t.Devices) > 0 && !slices.ContainsFunc(t.Devices, func(d model.Device) bool { return !alike(d) }) {
		return t.Devices[0]
	}
	return model.Device{}
}

// collect makes the rows: first how each operator multiplies, then the sums.
func (r *roofline) collect() {
	kinds := r.kindsOfWork()
	r.findInside()
	w := r.f.Work()
	for i, op := range r.workOp {
		row := r.rowFor(i, op, kinds[op])
		row.busyNs += max(w.EndNs[i]-max(w.StartNs[i], row.endNs), 0)
		row.endNs = max(row.endNs, w.EndNs[i])
	}
}

// A workKind is what the GPU work of an operator says about it.
type workKind struct {
	math      fp32Math // one kernel that says TF32 decides
	hostBytes int64    // copied from or to the host
}

// kindsOfWork looks at the work of each operator's call.
func (r *roofline) kindsOfWork() map[int32]workKind {
	t, w := r.f.Trace, r.f.Work()
	byName := make(map[model.StringID]fp32Math)
	out := make(map[int32]workKind)
	for i, op := range r.workOp {
		if op == facts.NotNested {
			continue
		}
		k, row := out[op], w.Row[i]
		switch w.Kind[i] {
		case facts.WorkKernel:
			id := t.Kernels.Name[row]
			m, known := byName[id]
			if !known {
				m = fp32MathOf(t.Strings.Text(id))
				byName[id] = m
			}
			k.math = max(k.math, m)
		case facts.WorkCopy:
			if kind := t.Copies.Kind[row]; kind == model.CopyHtoD || kind == model.CopyDtoH {
				k.hostBytes += t.Copies.Bytes[row]
			}
		default:
			continue
		}
		out[op] = k
	}
	return out
}

// findInside marks operators around one that counts for the same matrix work: both launched something, and the
// product is the inner one's.
func (r *roofline) findInside() {
	ops := &r.f.Trace.Ops
	var parent []int32
	for _, op := range r.workOp {
		if op == facts.NotNested || r.ofOp[op] != nil {
			continue
		}
		if a := r.answer(op); !a.work.Family.Matrix() || !a.work.HasFLOPs {
			continue
		}
		if parent == nil {
			parent, _ = facts.Nest(ops.StartNs, ops.DurNs, ops.Thread)
		}
		for p := parent[op]; p != facts.NotNested && !r.inside[p]; p = parent[p] {
			r.inside[p] = true
		}
	}
}

// answer is the work of an operator's call.
func (r *roofline) answer(op int32) rooflineAnswer {
	t := r.f.Trace
	at := func(column []model.StringID) model.StringID {
		if int(op) < len(column) {
			return column[op]
		}
		return 0
	}
	key := [5]model.StringID{t.Ops.Name[op], at(t.Ops.Shapes), at(t.Ops.Types), at(t.Ops.Strides), at(t.Ops.Values)}
	n, known := r.asked[key]
	if !known {
		text := t.Strings.Text
		w, why := flops.Of(flops.Op{Name: text(key[0]), Shapes: text(key[1]), Types: text(key[2]),
			Strides: text(key[3]), Values: text(key[4])})
		n = uint32(len(r.answers))
		r.asked[key], r.answers = n, append(r.answers, rooflineAnswer{w, why})
	}
	return r.answers[n]
}

// rowFor is the row of a piece of work; a call is counted with its first piece.
func (r *roofline) rowFor(work int, op int32, kind workKind) *rooflineRow {
	if op != facts.NotNested {
		if row := r.ofOp[op]; row != nil {
			return row
		}
	}
	t := r.f.Trace
	key := rooflineKey{peak: r.peaks[r.f.Work().Device[work]]}
	name := noOp
	if op != facts.NotNested {
		a := r.answer(op)
		if a.work.Family.Matrix() && r.inside[op] {
			a = rooflineAnswer{why: insideWhy}
		}
		key.name, key.work, key.why = t.Ops.Name[op], a.work, a.why
		name = t.Strings.Text(key.name)
		if int(op) < len(t.Ops.Shapes) {
			key.shapes = t.Ops.Shapes[op]
		}
		if int(op) < len(t.Ops.Types) {
			key.types = t.Ops.Types[op]
		}
		if a.work.Family.Matrix() && a.work.Dtype == flops.FP32 {
			key.math = kind.math
		}
		if key.work.Family == flops.Move && kind.hostBytes > 0 {
			key.host, key.work.Bytes, key.work.HasBytes = true, float64(kind.hostBytes), true
		}
	}
	row := r.index[key]
	if row == nil {
		row = &rooflineRow{name: name, shapes: key.shapes, work: key.work, why: key.why, peak: key.peak, first: work,
			endNs: math.MinInt64, host: key.host}
		if row.peak != nil {
			row.unit, row.assumed = unitFor(row.work, row.peak, key.math)
		}
		r.index[key], r.rows = row, append(r.rows, row)
	}
	if op != facts.NotNested {
		r.ofOp[op] = row
		row.calls++
	}
	return row
}
