package rules

import (
	"fmt"

	"lacuna/internal/timeline/facts"
	"lacuna/internal/timeline/peaks"
)

var tensorCoresIdle = Rule{
	ID:    "tensor_cores_idle",
	Title: "FP32 GEMMs run without tensor cores",
	Since: "0.1",
	Needs: []Need{needKernels},
	Doc: `
GEMMs and convolutions whose kernels compute in FP32 on the CUDA cores (simt, ffma, sgemm and scudnn in their
names), on a GPU whose tensor cores are at least twice as fast in TF32 or 16 bits (table of peaks, data sheets).

Kernels of under 10 µs are left out: launch and latency take most of their time, and tensor cores would hardly make
them shorter. So are matrix-vector products, which are memory-bound. Half of the time in which a kernel shares the
GPU with others counts as its own. The saving is at most what the ratio of the peaks leaves. Threshold: 3 % of the
step.`,
	Limits: `
Only for NVIDIA's libraries does a kernel's name say how it computes; other kernels are not judged. AMD's matrix
cores take FP32, so its FP32 library kernels count only where the table has a faster 16-bit rate and the name says
FP32. The capture does not say whether the model tolerates less precision.`,
	Fix: `
Train in mixed precision, or let FP32 GEMMs use TF32:

    with torch.autocast("cuda", dtype=torch.bfloat16):
        loss = loss_fn(model(x), y)
    torch.set_float32_matmul_precision("high")      # TF32 for what stays in FP32
    torch.backends.cudnn.allow_tf32 = True`,
	FixC: `cublasSetMathMode(handle, CUBLAS_TF32_TENSOR_OP_MATH), or operands in __half or __nv_bfloat16 with FP32
accumulation (CUBLAS_COMPUTE_32F).`,
	Confirm:   `Kernels named nvjet, tensorop, s1688, s16816, wgmma or gmma take the place of sgemm, simt and ffma.`,
	RefutedBy: `The loss diverges, or results are out of tolerance, with both TF32 and bfloat16.`,
	Check:     checkTensorCoresIdle,
}

const (
	// minProductNs is the duration from which tensor cores make a product shorter: a kernel of any size takes 2 to 4
	// µs, and under 10 µs even the FP32 one does not fill the device (50 TFLOP/s times 10 µs are 0.5 GFLOP, which is
	// 800³).
	minProductNs = 10_000
	// minUnitRatio is how much faster matrix units must be to be worth a change of precision.
	minUnitRatio = 2
	// minOldRatio is the same for devices without TF32: vector units of some take 16 bits at twice the rate of FP32
	// (P100, GTX 16), which is no tensor core. Volta's and Turing's are 4 to 8 times as fast.
	minOldRatio = 3
)

func checkTensorCoresIdle(c *Case, out *Findings) {
	var rows, transforms []int32
	crowd := c.crowded()
	for _, l := range c.lanes() {
		for _, r := range l {
			if c.kind(r).Class == facts.ClassConvolutionTail {
				transforms = append(transforms, r)
			}
			if c.kind(r).FP32 && c.durNs(r) >= minProductNs && c.durNs(r)-crowd.of(r)/2 >= minProductNs {
				rows = append(rows, r)
			}
		}
	}
	ns := c.unionNs(rows)
	if c.shareOfStep(ns) < minWorkShare {
		return
	}
	peak, known := c.peak()
	if !known {
		out.Cannot(fmt.Sprintf("FP32 GEMMs take %.0f %% of the step, but whether this GPU (%s) has tensor cores is "+
			"unknown", 100*c.shareOfStep(ns), c.deviceNames()), "a GPU in the table of peaks",
			"nsys profile, or torch.profiler, which both record the GPU's name; docs/peaks.md lists the known ones")
		return
	}
	unit, ratio := fasterUnit(peak)
	if ratio < minUnitRatio || peak.TF32 == 0 && ratio < minOldRatio {
		return // it has none: nothing idles
	}
	f := out.Add(0.9, c.perStep(ns)*(1-1/ratio), "FP32 %s take %s of %s; the tensor cores of this %s, up to "+
		"%.0f times as fast, are idle", c.productWords(rows), ms(c.perStep(ns)), ms(c.StepNs), peak.Name, ratio)
	f.Because(fmt.Sprintf("%s per step in FP32 on the CUDA cores: %.1f %% of the step; %s peaks at %.0f times the "+
		"FP32 rate", several(float64(len(rows))*c.PerStep, "kernel", "kernels"), 100*c.shareOfStep(ns), unit, ratio),
		c.kernelRows(rows)...)
	if ns := c.unionNs(transforms); c.shareOfStep(ns) >= minWorkShare {
		f.Because(fmt.Sprintf("transforms of Winograd's algorithm take %s more; on tensor cores a convolution has none, but "+
			"it computes two to four times as much, and may change layout instead", ms(c.perStep(ns))))
	}
	f.Repair("tensor-cores")
	switch trains := c.Facts.Passes().Trains || c.updates(); {
	case peak.BF16 == 0 && trains:
		f.Fix = fixOnlyFP16
	case peak.BF16 == 0:
		f.Fix = fixInferFP16
	case !trains:
		f.Fix = fixInfer
	}
}

// productWords is what most of the time of rows is in.
func (c *Case) productWords(rows []int32) string {
	var convolutions, all int64
	for _, r := range rows {
		all += c.durNs(r)
		if c.kind(r).Class == facts.ClassConvolution {
			convolutions += c.durNs(r)
		}
	}
	switch {
	case 10*convolutions >= 9*all:
		return "convolutions"
	case 10*convolutions >= all:
		return "GEMMs and convolutions"
	}
	return "GEMMs"
}

// fixInfer is the fix where nothing in the capture trains.
const fixInfer = `
Run the model in 16 bits, or let FP32 products use TF32:

    with torch.inference_mode(), torch.autocast("cuda", dtype=torch.bfloat16):
        out = model(x)                              # or model.bfloat16(), which also halves what weights take
    torch.set_float32_matmul_precision("high")      # TF32 for what stays in FP32
    torch.backends.cudnn.allow_tf32 = True`

// fixInferFP16 is that on Volta and Turing.
const fixInferFP16 = `
Run the model in float16: the tensor cores of this GPU have neither bfloat16 nor TF32.

    with torch.inference_mode(), torch.autocast("cuda", dtype=torch.float16):
        out = model(x)                              # or model.half(), which also halves what weights take`

// fixOnlyFP16 is the fix on Volta and Turing, whose tensor cores know neither bfloat16 nor TF32.
const fixOnlyFP16 = `
Train in mixed precision with float16: the tensor cores of this GPU have neither bfloat16 nor TF32.

    scaler = torch.amp.GradScaler("cuda")
    with torch.autocast("cuda", dtype=torch.float16):
        loss = loss_fn(model(x), y)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()`

// fasterUnit is the fastest of a device's units that PyTorch's products in FP32 can be moved to, against its FP32 peak.
func fasterUnit(p *peaks.Peak) (unit peaks.Unit, ratio float64) {
	vector, ok := p.TFLOPs(peaks.VectorFP32)
	if !ok {
		return "", 0
	}
	if own, ok := p.TFLOPs(peaks.MatrixFP32); ok {
		vector = max(vector, own)
	}
	for _, u := range []peaks.Unit{peaks.MatrixBF16, peaks.MatrixFP16, peaks.MatrixTF32} {
		if v, ok := p.TFLOPs(u); ok && v/vector > ratio {
			unit, ratio = u, v/vector
		}
	}
	return unit, ratio
}

// deviceNames is the names of the devices that did work, for people.
func (c *Case) deviceNames() string {
	text := ""
	for _, d := range c.Facts.Devices() {
		if name := c.Facts.DeviceName(d); name != "" && text != name {
			text = name
		}
	}
	if text == "" {
		return "no name recorded"
	}
	return text
}

// matrixWork says whether a kernel computes products of matrices, of whatever kind.
func matrixWork(k facts.KernelKind) bool {
	return k.Class == facts.ClassGEMM || k.Class == facts.ClassGEMMTail || k.Class == facts.ClassConvolution ||
		k.Class == facts.ClassAttention
}
