package tables

import (
	"cmp"
	"slices"

	"lacuna/internal/base/unit"
	"lacuna/internal/timeline/facts"
	"lacuna/internal/timeline/flops"
	"lacuna/internal/timeline/model"
	"lacuna/internal/timeline/peaks"
)

var opRoofline = Table{
	Name:  "op_roofline",
	Title: "One row per operator, shapes and type: its work, the rate it reached, and what bounds it",
	Doc: `
GPU work is booked on the innermost operator that launched it, so that no call counts twice. FLOPs and bytes follow
from the operator's formula, the shapes and types of its inputs: a multiply and an add are two FLOPs, every operand is
moved once (docs/roofline.md has the formulas). They are what the operator asks for, not what its kernels did: a cache
or a fused kernel can make the bandwidth exceed the memory's, padding or recomputation make the rate lower.

Busy is the union of the GPU work of all calls of a row. Rates are the work of those calls over Busy. Peaks are the
device's dense ones, from a table with sources; for a device that is not in it they are unknown. GEMMs, convolutions
and attention are compared with the tensor cores' peak for their type, FP32 with TF32 where the kernels' names say
so, else with FP32; everything else with the CUDA cores' peak. Copies from and to the host are compared with the
host link, by the bytes that the copy itself states.

Bound is the roof that the operator is nearer to, compute or memory, if it reaches a quarter of it. Below that it is
latency: launch, tails, too little work or a poor kernel are the limit. It is unknown without FLOPs or without peaks.
Most Busy first.`,
	Columns: []Column{
		{"Op", unit.Text, "operator that launched the work"},
		{"Input Shapes", unit.Text, "shapes of its inputs, as the capture has them"},
		{"Type", unit.Text, "type of its operands"},
		{"Calls", unit.Count, "calls that launched work on the GPU"},
		{"Busy", unit.Us, "union of their GPU work"},
		{"Share", unit.Percent1, "Busy out of the Busy of all rows"},
		{"GFLOP", unit.Number, "floating-point operations of one call, in 10^9"},
		{"Moved", unit.MB, "least bytes of one call"},
		{"FLOP/byte", unit.Number, "intensity: operations over bytes"},
		{"TFLOP/s", unit.Number, "operations of all calls over Busy, in 10^12 per second"},
		{"TB/s", unit.Number, "bytes of all calls over Busy, in 10^12 per second"},
		{"Peak", unit.Text, "the unit of the device that TFLOP/s is compared with"},
		{"Compute", unit.Percent1, "TFLOP/s out of that peak"},
		{"Memory", unit.Percent1, "TB/s out of the peak of the device's memory; of a copy from or to the host, of " +
			"the host link"},
		{"Bound", unit.Text, "compute, memory, host link, latency or unknown"},
	},
	First:   []string{"Op", "Input Shapes", "Busy", "GFLOP", "FLOP/byte", "TFLOP/s", "Bound"},
	Needs:   stepNeeds | model.PartOpArgs,
	Spares:  model.PartPython | model.PartRanges,
	BySteps: true,
	Fill:    fillOpRoofline,
}

const howToRecordShapes = "record with torch.profiler.profile(record_shapes=True)"

// farFromRoof is the share of a roof below which it is not what bounds an operator. Kernels that stream or multiply
// well reach 60 to 95 % of a roof, poor ones for their roof 30 to 50 %; what is launched with too little work is an
// order of magnitude below: a quarter lies between.
const farFromRoof = 0.25

func fillOpRoofline(in []*facts.Facts, _ Args, out *Rows) error {
	f := in[0]
	switch t := f.Trace; {
	case t.Ops.Len() == 0:
		return &MissingError{"op_roofline", "framework operators", howToRecordShapes}
	case f.Work().Len() == 0:
		return &MissingError{"op_roofline", "GPU work", "record with ProfilerActivity.CUDA"}
	case !slices.ContainsFunc(t.Ops.Shapes, func(id model.StringID) bool { return id != 0 }):
		return &MissingError{"op_roofline", "shapes of operators", howToRecordShapes}
	}
	r := newRoofline(f)
	r.collect()
	var totalNs int64
	for _, row := range r.rows {
		totalNs += row.busyNs
	}
	text := f.Trace.Strings.Text
	slices.SortFunc(r.rows, func(a, b *rooflineRow) int {
		return cmp.Or(cmp.Compare(b.busyNs, a.busyNs), cmp.Compare(a.name, b.name),
			cmp.Compare(text(a.shapes), text(b.shapes)),
			cmp.Compare(a.work.FLOPs, b.work.FLOPs), cmp.Compare(a.work.Bytes, b.work.Bytes),
			cmp.Compare(a.first, b.first))
	})
	for _, row := range r.rows {
		out.Add(row.cells(text(row.shapes), totalNs)...)
	}
	r.notes(out, totalNs)
	return nil
}

// cells is the row as printed; what is not known is absent.
func (row *rooflineRow) cells(shapes string, totalNs int64) []Cell {
	w := row.work
	cells := make([]Cell, 15)
	copy(cells, []Cell{Str(row.name), Str(shapes), Str(string(w.Dtype)), Int(row.calls), Int(row.busyNs),
		percentOf(row.busyNs, totalNs)})
	if w.HasFLOPs {
		cells[6] = Float(w.FLOPs / 1e9)
	}
	if w.HasBytes {
		cells[7] = Float(w.Bytes / 1e6)
	}
	if w.HasFLOPs && w.HasBytes && w.Bytes > 0 {
		cells[8] = Float(w.FLOPs / w.Bytes)
	}
	if row.busyNs > 0 {
		if w.HasFLOPs {
			cells[9] = Float(row.tflops())
		}
		if w.HasBytes {
			cells[10] = Float(row.tbps())
		}
	}
	compute, memory := row.shares()
	if compute.known {
		cells[11], cells[12] = Str(row.peakName()), Float(100*compute.share)
	}
	if memory.known {
		cells[13] = Float(100 * memory.share)
	}
	cells[14] = Str(row.bound())
	return cells
}

// tflops and tbps are the rates of all calls together.
func (row *rooflineRow) tflops() float64 {
	return row.work.FLOPs * float64(row.calls) / float64(row.busyNs) / 1e3
}

func (row *rooflineRow) tbps() float64 {
	return row.work.Bytes * float64(row.calls) / float64(row.busyNs) / 1e3
}

// A roofShare is how much of a roof was reached.
type roofShare struct {
	share float64
	known bool
}

// shares is what was reached of the compute and the memory roof.
func (row *rooflineRow) shares() (compute, memory roofShare) {
	if row.peak == nil || row.busyNs == 0 {
		return
	}
	if peak, known := row.peak.TFLOPs(row.unit); known && row.work.HasFLOPs && row.work.FLOPs > 0 {
		compute = roofShare{row.tflops() / peak, true}
	}
	roof := row.peak.MemoryGBs
	if row.host {
		roof = row.peak.HostGBs
	}
	if row.work.HasBytes && roof > 0 {
		memory = roofShare{row.tbps() * 1e3 / roof, true}
	}
	return compute, memory
}

// bound is the nearer roof, if it is near. Work without FLOPs has one roof only; work of which the FLOPs or their
// peak are open could have either.
func (row *rooflineRow) bound() string {
	compute, memory := row.shares()
	onlyMoves := row.work.HasFLOPs && row.work.FLOPs == 0
	switch {
	case !memory.known || !compute.known && !onlyMoves:
		return "unknown"
	case max(compute.share, memory.share) < farFromRoof:
		return "latency"
	case compute.share > memory.share:
		return "compute"
	case row.host:
		return "host link"
	}
	return "memory"
}

// peakName is the unit, with a question mark where it is an assumption.
func (row *rooflineRow) peakName() string {
	if row.assumed {
		return string(row.unit) + "?"
	}
	return string(row.unit)
}

// unitFor is the unit that work should be held against. The type says it but for FP32 products: whether TF32 was
// allowed is not recorded, so that the kernels' names decide; where they do not, FP32 is assumed.
func unitFor(w flops.Work, p *peaks.Peak, precision fp32Math) (u peaks.Unit, assumed bool) {
	if !w.Family.Matrix() {
		switch w.Dtype {
		case flops.FP64:
			return peaks.VectorFP64, false
		case flops.FP32, flops.FP16, flops.BF16, flops.FP8:
			return peaks.VectorFP32, false
		}
		return "", false
	}
	switch w.Dtype {
	case flops.FP64:
		if p.FP64Matrix > 0 {
			return peaks.MatrixFP64, false
		}
		return peaks.VectorFP64, false
	case flops.FP16:
		return peaks.MatrixFP16, false
	case flops.BF16:
		return peaks.MatrixBF16, false
	case flops.FP8:
		return peaks.MatrixFP8, false
	case flops.Int8, flops.UInt8:
		return peaks.MatrixINT8, false
	case flops.FP32:
		switch {
		case p.FP32Matrix > 0: // AMD: the matrix units take FP32 as it is
			return peaks.MatrixFP32, false
		case p.TF32 > 0 && precision == mathTF32:
			return peaks.MatrixTF32, false
		}
		return peaks.VectorFP32, p.TF32 > 0 && precision == mathUnknown
	}
	return "", false
}
