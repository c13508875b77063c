package changes

import (
	"math"
	"slices"

	"lacuna/internal/timeline/facts"
	"lacuna/internal/timeline/flops"
	"lacuna/internal/timeline/peaks"
	"lacuna/internal/timeline/replay"
)

var tensorCores = Change{
	Name:   "tensor-cores",
	Syntax: "tensor-cores",
	Title:  "FP32 GEMMs run on tensor cores in 16 bits, as with autocast",
	Doc: `FP32 GEMMs and convolutions take the time of 16-bit GEMMs of as many FLOPs: a share of the device's peak by
size, scaled by what the capture's own 16-bit GEMMs reach. FLOPs come from the operator's shapes where the capture
has them; else from the duration, by what such kernels reach of the FP32 peak. Autocast's casts are added: 12 bytes
per weight in a step with forward and backward, none at best, and 1.2 launches on the host per GEMM. Fused attention
in FP32 becomes fused attention in 16 bits.`,
	Assumes: "16 bits are precise enough; accumulation stays in FP32",
	NotWhen: "the device has no tensor cores, or is unknown",
	Example: "tensor-cores",
	Apply:   applyTensorCores,
}

func applyTensorCores(e *replay.Edit, arg string) (int, error) {
	work := flopsOf(e)
	n, products, fromShapes := 0, 0, 0
	scales := make(map[uint32]shareScale)
	host := newCaster(e)
	for i := range e.Works {
		k := kindOf(e, int32(i))
		attention := k.Class == facts.ClassAttention && fp32Attention.MatchString(e.WorkName(int32(i)))
		if e.Works[i].Dropped || !attention && (!k.FP32 || k.Class != facts.ClassGEMM &&
			k.Class != facts.ClassConvolution) {
			continue
		}
		device := e.Lanes[e.Works[i].Lane].Device
		p, err := peakOf(e, device, "the throughput of its tensor cores")
		if err != nil {
			return 0, err
		}
		unit := max(p.BF16, p.FP16)
		if unit <= p.FP32 {
			return 0, &NotAllowedError{Why: p.Name +
				" has no tensor cores for 16-bit types that are faster than its FP32 units"}
		}
		n++
		if attention {
			mid, low, high := attentionIn16(p, unit, float64(e.Works[i].DurNs), k.Backward)
			e.SetDur(int32(i), mid, low, high)
			continue
		}
		products++
		host.before(e.Works[i].Call)
		if _, seen := scales[device]; !seen {
			scales[device] = seenShare(e, device, p, work)
		}
		dur := float64(e.Works[i].DurNs)
		count := work[int32(i)].flops
		if count > 0 {
			fromShapes++
		} else {
			count = flopsByTime(p, dur)
		}
		s := scales[device].of(p.MatrixShare(count / unit / 1e6))
		mid, low, high := spread(count/unit/1e3, s)
		casts := int64(castBytes * math.Pow(count/2, 2.0/3) / (p.MemoryGBs * p.MemoryShare().Mid))
		e.SetDur(int32(i), min(mid+casts, int64(dur)), min(low, int64(dur)), min(high+2*casts, int64(dur)))
	}
	if n > 0 {
		if fromShapes < products {
			e.Assume("the FLOPs of %d of %d GEMMs are taken from their duration in FP32", products-fromShapes, products)
		}
		e.Assume("autocast casts weights and their gradients in every step")
	}
	return matched(n)
}

// castBytes is what autocast's casts of a weight move for each of the three products that use it: read 4 and write 2
// bytes of it forward, read 2 and write 4 of its gradient, a third each. How many weights a product has is
// not recorded: of m n k, the square of the cube root.
const castBytes = 4

// flopsByTime is how many FLOPs a product has that took this long in FP32. The share of the peak depends
// on the size: a few rounds settle it.
func flopsByTime(p *peaks.Peak, ns float64) float64 {
	share := 0.5
	peak := max(p.FP32, p.FP32Matrix)
	for range 20 {
		share = p.VectorShare(ns * share / 1e3).Mid
	}
	return ns * share * peak * 1e3
}

// A product is what the operator that launched a kernel asked for.
type product struct {
	flops float64
	half  bool // operands of 16 bits
}

// flopsOf is the products of the kernels whose operator's shapes are recorded and which that operator
// launched alone.
func flopsOf(e *replay.Edit) map[int32]product {
	t := e.Facts.Trace
	if len(t.Ops.Shapes) == 0 {
		return nil
	}
	opOf := make(map[uint32]int, t.Ops.Len())
	for i, id := range t.Ops.External {
		if id != 0 {
			opOf[id] = i
		}
	}
	kernels := make(map[uint32][]int32) // by operator
	for i := range e.Works {
		k := kindOf(e, int32(i))
		row := int(rowOf(e, int32(i)))
		if (k.Class == facts.ClassGEMM || k.Class == facts.ClassConvolution) && row < len(t.Kernels.External) {
			id := t.Kernels.External[row]
			kernels[id] = append(kernels[id], int32(i))
		}
	}
	out := make(map[int32]product)
	for id, works := range kernels {
		op, known := opOf[id]
		if !known || len(works) != 1 {
			continue
		}
		w, why := flops.Of(opAt(e, op))
		if why == flops.Known && w.HasFLOPs && w.Family.Matrix() {
			out[works[0]] = product{w.FLOPs, w.Dtype.Bytes() == 2}
		}
	}
	return out
}

// opAt is an operator as flops understands it.
func opAt(e *replay.Edit, i int) flops.Op {
	t := e.Facts.Trace
	o := flops.Op{Name: t.Strings.Text(t.Ops.Name[i])}
	if i < len(t.Ops.Shapes) {
		o.Shapes = t.Strings.Text(t.Ops.Shapes[i])
	}
	if i < len(t.Ops.Types) {
		o.Types = t.Strings.Text(t.Ops.Types[i])
	}
	if i < len(t.Ops.Strides) {
		o.Strides = t.Strings.Text(t.Ops.Strides[i])
	}
	if i < len(t.Ops.Values) {
		o.Values = t.Strings.Text(t.Ops.Values[i])
	}
	return o
}

// A shareScale is by how much products of a capture exceed what is usual, or fall short; the zero value: not known.
type shareScale struct{ mid, low, high float64 }

func (c shareScale) of(s peaks.Share) peaks.Share {
	if c.mid == 0 {
		return s
	}
	return peaks.Share{Mid: min(s.Mid*c.mid, 0.95), Low: min(s.Mid*c.low, 0.94), High: min(s.Mid*c.high, 0.96)}
}

// minObserved is how many products of its own a capture needs before they count for more than the table.
const minObserved = 8

// seenShare compares a capture's own products in 16 bits with what is usual.
func seenShare(e *replay.Edit, device uint32, p *peaks.Peak, work map[int32]product) shareScale {
	var ratios []float64
	unit := max(p.BF16, p.FP16)
	for i, of := range work {
		w := &e.Works[i]
		if w.Dropped || w.DurNs == 0 || e.Lanes[w.Lane].Device != device || !of.half {
			continue
		}
		ratios = append(ratios, of.flops/float64(w.DurNs)/1e3/unit/p.MatrixShare(of.flops/unit/1e6).Mid)
	}
	if len(ratios) < minObserved {
		return shareScale{}
	}
	slices.Sort(ratios)
	n := len(ratios)
	return shareScale{mid: ratios[n/2], low: ratios[n/10], high: ratios[n-1-n/10]}
}
