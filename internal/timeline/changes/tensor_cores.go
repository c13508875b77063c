package changes

import (
	"math"

	"lacuna/internal/timeline/facts"
	"lacuna/internal/timeline/peaks"
	"lacuna/internal/timeline/replay"
)

var tensorCores = Change{
	Name:   "tensor-cores",
	Syntax: "tensor-cores",
	Title:  "FP32 GEMMs run on tensor cores in 16 bits, as with autocast",
	Doc: `FP32 GEMMs and convolutions take the time of 16-bit GEMMs of as many FLOPs: a share of the device's peak by
size, scaled by what the capture's own 16-bit GEMMs reach, or the time of what they move, whatever is longer. FLOPs
come from the operator's shapes where the capture has them; else from the duration, by what such kernels reach of the
FP32 peak, and the range is wider. Convolutions change layout before and after. One that transforms its operands
(Winograd) becomes one that does not: it computes more, and of the transforms stays what a change of layout moves.
Autocast's casts are added: 12 bytes
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
	winograd := winogradOf(e)
	for i := range e.Works {
		k := kindOf(e, int32(i))
		if product, is := winograd.transforms[int32(i)]; is && product >= 0 && !e.Works[i].Dropped {
			if p, err := peakOf(e, e.Lanes[e.Works[i].Lane].Device, "the throughput of its tensor cores"); err == nil &&
				max(p.BF16, p.FP16) > p.FP32 {
				_, known := work[product]
				mid, low, high := transformIn16(e.Works[i].DurNs, known)
				e.SetDur(int32(i), mid, low, high)
			}
			continue
		}
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
		if _, seen := scales[device]; !seen {
			scales[device] = seenShare(e, device, p, work)
		}
		of, known := work[int32(i)]
		if of.part == 0 {
			host.before(e.Works[i].Call)
		}
		if known {
			fromShapes++
		} else {
			count := flopsByTime(p, float64(e.Works[i].DurNs))
			if winograd.is(e, int32(i)) {
				count *= winogradSaves
			}
			of = product{flops: count, size: count}
		}
		convolution := k.Class == facts.ClassConvolution || winograd.products[int32(i)]
		mid, low, high := in16(p, of, scales[device], convolution)
		was := e.Works[i].DurNs
		if !known && convolution {
			high = max(high, int64(byTimeHigh*float64(mid)))
		}
		e.SetDur(int32(i), min(mid, was), min(low, was), min(high, was))
		if of.part >= mostKernels { // its time stays: it is a part of what the operator computes
			host.leaveOut(int32(i))
		}
	}
	if n > 0 {
		if fromShapes < products {
			e.Assume("the FLOPs of %d of %d GEMMs are taken from their duration in FP32", products-fromShapes, products)
		}
		e.Assume("autocast casts weights and their gradients in every step")
	}
	return matched(n)
}

// mostKernels is how many kernels a convolution's gradients launch in 16 bits: 10 in each layer but the first of a
// network on one H200, six of them changes of layout; forward it is 4. In FP32, by Fourier transform, it can be 80,
// whose launches hold up the host: those beyond are left out.
const mostKernels = 10

// byTimeHigh is how much longer than estimated a convolution may take whose FLOPs are taken from its duration: in FP32
// it may compute half of what its formula says, or less, by Winograd's algorithm or by Fourier transform.
const byTimeHigh = 2

// in16 is how long a kernel's part of a product takes in 16 bits: what it computes or what it moves, whatever takes
// longer, and autocast's casts. Convolutions of tensors that are not channels-last are surrounded by cuDNN's kernels
// that change the layout and back, which read and write every tensor once more; without them at best.
func in16(p *peaks.Peak, of product, scale shareScale, convolution bool) (mid, low, high int64) {
	unit := max(p.BF16, p.FP16)
	mid, low, high = spread(of.flops/unit/1e3, scale.of(p.MatrixShare(of.size/unit/1e6)))
	moved := int64(of.bytes / 2 / (p.MemoryGBs * p.MemoryShare().Mid))
	mid, low, high = max(mid, moved), max(low, moved), max(high, moved)
	if convolution {
		mid, high = mid+layoutTrips*moved, int64(convolutionHigh*float64(high))+2*layoutTrips*moved
	}
	casts := int64(castBytes * math.Pow(of.flops/2, 2.0/3) / (p.MemoryGBs * p.MemoryShare().Mid))
	return mid + casts, low, high + 2*casts
}

// convolutionHigh is how much longer than a GEMM of as many FLOPs a convolution may take in 16 bits: a step of those of
// three dimensions and of one took 1.39 and 1.22 times as long as estimated (one H200, 2026-11-23).
const convolutionHigh = 1.4

// layoutTrips is how often the tensors of a convolution move besides: once read and once written.
const layoutTrips = 2

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
