package rules

import (
	"fmt"
	"regexp"

	"lacuna/internal/timeline/facts"
)

var layoutConversion = Rule{
	ID:    "layout_conversion",
	Title: "Convolutions convert between NCHW and NHWC layouts",
	Since: "0.1",
	Needs: []Need{needKernels},
	Doc: `
Kernels whose names say that they convert NCHW to NHWC or back, in a program with convolutions. The chosen
convolution works on channels-last tensors and the program keeps them channels-first (or the reverse), so inputs,
weights and results are transposed around it. The gain is the time of these kernels; that kernels for the other
layout may be faster too, above all normalization, is not counted. Threshold: 3 % of the step.`,
	Limits: `
The rule goes by name: cuDNN, MIOpen and TensorFlow name their conversions; a copy that a program makes itself
(.contiguous()) looks like any other copy. For another layout the library may choose another algorithm, faster or
slower.`,
	Fix: `
Keep model and data channels-last from end to end:

    model = model.to(memory_format=torch.channels_last)
    x = x.to(memory_format=torch.channels_last)`,
	FixC: `
Create tensor and filter descriptors with CUDNN_TENSOR_NHWC and keep activations in that layout between layers.`,
	Confirm: `No kernel named nchwToNhwc or nhwcToNchw is left in the step.`,
	RefutedBy: `The convolutions become slower by more than the conversions took: an operator in between supports only
the old layout.`,
	Check: checkLayoutConversion,
}

// layoutNames is conversions by the names of cuDNN (nchwToNhwcKernel, nhwcToNchwKernel, nhwcToFoldedNhwc), TensorRT
// (nchw2nhwc), MIOpen (batched_transpose_16x32_half) and TensorFlow (ShuffleInTensor3Simple,
// SwapDimension1And2InTensor3).
const layoutNames = `(?i)(nchw|ncdhw)(to|2)(folded)?_?n?d?hwc|nd?hwc(to|2)(folded)?_?nc|batched_transpose_|ShuffleInTensor3|SwapDimension1And2InTensor3`

var layoutKernel = regexp.MustCompile(layoutNames)

func checkLayoutConversion(c *Case, out *Findings) {
	var rows []int32
	convolutions := 0
	changesLayout := c.saying(layoutKernel.MatchString)
	for _, l := range c.lanes() {
		for _, r := range l {
			if !c.isKernel(r) {
				continue
			}
			switch class := c.kind(r).Class; {
			case class == facts.ClassConvolution:
				convolutions++
			case changesLayout(c.kernelName(r)):
				rows = append(rows, r)
			}
		}
	}
	ns := c.unionNs(rows)
	if convolutions == 0 || c.shareOfStep(ns) < minWorkShare {
		return
	}
	f := out.Add(0.85, c.perStep(ns), "Tensors change between NCHW and NHWC %s times per step around convolutions: "+
		"%s of %s", number(float64(len(rows))*c.PerStep), ms(c.perStep(ns)), ms(c.StepNs))
	f.Because(fmt.Sprintf("kernels that only change the layout: %.1f %% of the step, next to %s convolutions per step",
		100*c.shareOfStep(ns), number(float64(convolutions)*c.PerStep)), c.kernelRows(rows)...)
	f.Repair("drop:" + layoutNames)
}
