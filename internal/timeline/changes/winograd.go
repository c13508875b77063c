package changes

import (
	"strings"

	"lacuna/internal/timeline/facts"
	"lacuna/internal/timeline/replay"
)

// winogradSaves is how many times as many FLOPs a convolution has as Winograd's algorithm computes for it: 2.25 with
// tiles of 2x2 and 4 with tiles of 4x4, for filters of 3x3 (Lavin and Gray, arXiv 1509.09308). The name does not say
// which; the geometric mean.
const winogradSaves = 3

// layoutOfTransform is the share of a transform's time that a change of layout to 16 bits takes. With tiles of 4x4 out
// of 6x6, a transform reads a tensor and writes 2.25 times as much (the same number of bytes the other way, for the
// result): 3.25; a change of layout reads it once and writes half: 1.5. Both move memory and nothing else.
const layoutOfTransform = 1.5 / 3.25

// transformIn16 is what is left of a transform where the convolution runs on tensor cores. With the sizes known the
// product's own estimate has the changes of layout; tensors that are channels-last need none.
func transformIn16(ns int64, sizesKnown bool) (mid, low, high int64) {
	layout := int64(layoutOfTransform * float64(ns))
	if sizesKnown {
		return 0, 0, layout
	}
	return layout, 0, ns
}

// winograd is the convolutions of a program that transform their operands.
type winograd struct {
	products   map[int32]bool  // products of matrices between transforms
	transforms map[int32]int32 // in FP32, with the product that each belongs to; -1: none was found
}

// winogradOf finds them in the order in which streams run: transforms of the operands, the product, that of the result.
func winogradOf(e *replay.Edit) winograd {
	w := winograd{make(map[int32]bool), make(map[int32]int32)}
	type lane struct {
		before  []int32 // transforms without a product yet
		product int32
	}
	lanes := make(map[int32]*lane)
	for i := range e.Works {
		n := int32(i)
		l := lanes[e.Works[i].Lane]
		if l == nil {
			l = &lane{product: -1}
			lanes[e.Works[i].Lane] = l
		}
		switch k := kindOf(e, n); {
		case k.Class == facts.ClassConvolutionTail && !strings.Contains(e.WorkName(n), "<float"):
			l.before, l.product = nil, -1
		case k.Class == facts.ClassConvolutionTail && l.product >= 0:
			w.transforms[n], l.product = l.product, -1 // of the result
		case k.Class == facts.ClassConvolutionTail:
			w.transforms[n] = -1
			l.before = append(l.before, n)
		case len(l.before) > 0 && k.FP32:
			w.products[n], l.product = true, n
			for _, t := range l.before {
				w.transforms[t] = n
			}
			l.before = nil
		default:
			l.before, l.product = nil, -1
		}
	}
	return w
}

// is says whether a product or a convolution computes less than the operator's formula says, by Winograd's algorithm.
func (w winograd) is(e *replay.Edit, i int32) bool {
	return w.products[i] || strings.Contains(strings.ToLower(e.WorkName(i)), "winograd")
}
