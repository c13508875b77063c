package kernelrules

import (
	"math"
	"strings"

	"lacuna/internal/kernel"
)

var tensorCoresIdle = Rule{
	ID:    "tensor_cores_idle",
	Title: "Tensor cores idle: a 16-bit GEMM runs on the FP32 pipe",
	Since: "0.2",
	Needs: []Need{needTime, needFP, needOpcodes, needL1},
	Doc: `
FP16 or BF16 data is widened to FP32 and multiplied on the FP32 pipe, while the tensor cores, at least sixteen times
as fast, are idle. It is a finding when the GPU has tensor cores and they are idle (under 1 %), at least 40 % of the
instructions are FMAs, conversions or loads of 16-bit data are at least 1 %, and each byte from L2 is used for ten
operations or more: only GEMMs reuse that much.

After the fix the GEMM takes the time that tensor instructions need at 40 % of their peak (20 to 80 % for the range,
as libraries and hand-written kernels reach), and operands no longer pass through registers one by one.`,
	Limits: `
A GEMM of FP32 data is not reported: tensor cores would round it to TF32. Small GEMMs cannot fill tensor cores.
Hand-written convolutions look like GEMMs, and are.`,
	Fix: `
Call cuBLAS, or use matrix instructions:

    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> a;
    wmma::load_matrix_sync(a, A + ..., lda);
    wmma::mma_sync(c, a, b, c);

In PyTorch: a matmul of half or bfloat16 tensors, or tl.dot in Triton, with dimensions that are multiples of 8.`,
	RefutedBy: `The kernel is not a GEMM: no operand is used more than a few times.`,
	Check:     checkTensorCoresIdle,
}

const (
	tensorIdle    = 0.01
	productFFMA   = 0.4  // of the instructions
	halfShare     = 0.01 // of the instructions: conversions and 16-bit loads
	productReuse  = 10   // operations a byte of L2
	tensorReaches = 0.4  // of the peak of matrix instructions
	tensorBest    = 0.8
	tensorPoor    = 0.2
)

func is16Bit(name string) bool {
	return strings.HasPrefix(name, "HADD2.F32") || strings.HasPrefix(name, "LDG") &&
		(strings.Contains(name, ".U16") || strings.Contains(name, ".S16"))
}

func checkTensorCoresIdle(c *Case, out *Findings) {
	major, ok := c.Capability()
	if !ok || major < 70 || !(c.use(kernel.Tensor) < tensorIdle) || strings.Contains(c.DeviceName(), "GTX 16") {
		return
	}
	ffma := c.mix("FFMA")
	half := c.modified(is16Bit)
	if math.IsNaN(half) {
		half = c.mix("HADD2")
	}
	perSecond := known(c.ThreadOps("ffma"))
	flops := 2 * perSecond * c.us() / 1e6
	reuse := flops / known(c.L2TexBytes())
	if !(ffma >= productFFMA) || !(half >= halfShare) || !(reuse >= productReuse) {
		return
	}
	f := out.Add(0.85, "Tensor cores idle: a 16-bit GEMM runs on the FP32 pipe")
	f.Because("%s of the instructions are FP32 FMAs, %s widen or load 16-bit data", percent(ffma), percent(half))
	f.Because("%s operations for each byte from L2", digits(reuse))
	f.Places = c.HotOpcodes("FFMA")
	// The time of the products at the FP32 pipe's peak, over what matrix instructions do more.
	atPeak := ffma * c.use(kernel.Issue) * fp32PerIssue(major) / tensorRatio(major)
	// With the products go the instructions that bring operands to them one by one.
	r := asNow().times(0, kernel.FMA, kernel.Heavy, kernel.LSUIn).times(math.Max(0, 1-ffma-half-c.mix("LDS", "HADD2")),
		kernel.Issue)
	if passes, _, _, ok := c.SharedWavefronts(); ok {
		r.leave(math.Max(0, 1-passes/c.wavefronts()), kernel.L1)
	}
	r.low, r.wait, r.high = atPeak/tensorBest, atPeak/tensorReaches, math.Min(1, atPeak/tensorPoor)
	c.expect(f, r)
}

// fp32PerIssue is issue slots over slots of the FP32 pipe: with 64 lanes an SM every second slot can be a multiply-add.
func fp32PerIssue(capability int) float64 {
	if capability == 70 || capability == 75 || capability == 80 {
		return 2
	}
	return 1
}

// tensorRatio is dense FP16 operations of matrix instructions over those of the FP32 pipe, a clock an SM.
func tensorRatio(capability int) float64 {
	switch {
	case capability >= 100:
		return 2048.0 / 256 // mma.sync
	case capability >= 90:
		return 2731.0 / 256 // mma.sync
	case capability >= 86:
		return 1024.0 / 256
	case capability == 80:
		return 2048.0 / 128
	}
	return 1024.0 / 128
}
