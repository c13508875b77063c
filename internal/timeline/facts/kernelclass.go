package facts

import (
	"strconv"
	"strings"

	"lacuna/internal/kernel/kernelname"
)

// KernelClass is what a kernel does, as far as its name says.
type KernelClass uint8

// The classes of kernels.
const (
	ClassOther KernelClass = iota
	ClassGEMM              // a product of matrices
	// what belongs to a product besides: the sum of a product split along its inner dimension
	ClassGEMMTail
	ClassConvolution // a convolution, however it is computed
	// what belongs to a convolution besides, in Winograd's algorithm: its operands and its result are transformed, and
	// what computes between them is a product of matrices
	ClassConvolutionTail
	ClassAttention // fused attention
	ClassSoftmax
	ClassNorm
	ClassReduction
	ClassPointwise // each element of the result depends on the elements of the operands at its place
	ClassCast      // pointwise, and only changes the type
	ClassMove      // changes the place: concatenation, transposition, copies of strided tensors
	ClassMask      // a triangular mask
	ClassForeach   // works on lists of tensors: fused optimizers, operators on lists
)

// A KernelKind is what the name of a kernel says of it.
type KernelKind struct {
	Class    KernelClass
	Backward bool // of softmax and attention
	Log      bool // of softmax: its logarithm, as losses have it
	FP32     bool // of products and convolutions: in FP32 on vector units (on AMD, also on FP32 matrix units)
	To       byte // of casts: size in bytes of the type that results; 0: not known
	// Operands is how many tensors a pointwise kernel reads and writes; 0: not known.
	Operands uint8
	// PerThread is how many elements each thread of a pointwise kernel takes; 0: not known.
	PerThread uint8
	// Strided says of a pointwise kernel that its operands do not lie alike: one broadcasts, or is strided.
	Strided bool
	// RowLog2 is the length of the rows of a softmax, rounded up to a power of two, as its logarithm; 0: not known.
	RowLog2 uint8
}

// KernelKinds is the kind of each row of Kernels.
func (f *Facts) KernelKinds() []KernelKind {
	return f.kept.kernelKinds.of(f, func(f *Facts) []KernelKind {
		t := f.Trace
		byName := judge(&t.Strings, KindOfKernel)
		out := make([]KernelKind, t.Kernels.Len())
		for i, id := range t.Kernels.Name {
			out[i] = byName(id)
		}
		return out
	})
}

// sign is a part of a kernel's name, in lower case, and the class that it means.
type sign struct {
	part  string
	class KernelClass
}

// signs are asked in order; the first that occurs in the function's own name decides. The names are those of
// cuBLAS (nvjet, xmma, gemmSN, volta_sgemm), CUTLASS, cuDNN, PyTorch (at::native), Triton as torch.compile names its
// kernels, Tensile (Cijk), MIOpen, Composable Kernel, aiter and nvFuser.
var signs = []sign{
	{"offsetskernel", ClassOther}, {"_pointers", ClassOther}, {"index_elementwise", ClassOther},
	{"_scatter", ClassOther},
	{"multi_tensor_apply", ClassForeach},
	{"flash_fwd", ClassAttention}, {"flash_bwd", ClassAttention}, {"flash_attn", ClassAttention},
	{"flashattn", ClassAttention}, {"fmha", ClassAttention},
	{"sdpa", ClassAttention}, {"paged_attention", ClassAttention}, {"unified_attention", ClassAttention},
	{"attn_fwd", ClassAttention}, {"attn_bwd", ClassAttention},
	{"fused_attention", ClassAttention}, {"compute_dot_do_o", ClassAttention}, {"convert_dq_to_16bits", ClassAttention},
	{"triu_tril", ClassMask},
	{"softmax", ClassSoftmax},
	{"splitkreduce", ClassGEMMTail}, {"reducesplitk", ClassGEMMTail}, {"split_k_kernel", ClassGEMMTail},
	{"gemv", ClassReduction}, {"gemmk1_kernel", ClassReduction}, {"dot_kernel", ClassReduction},
	{"reduce_1block_kernel", ClassReduction},
	{"winogradforward", ClassConvolutionTail}, {"winogradwgrad", ClassConvolutionTail},
	{"generatewinogradtiles", ClassConvolutionTail},
	{"convolve", ClassConvolution}, {"_conv_", ClassConvolution}, {"conv2d", ClassConvolution},
	{"scudnn", ClassConvolution}, {"winograd", ClassConvolution},
	{"fft2d_", ClassConvolution}, {"_cf32cf32_", ClassConvolution}, {"gcgemm", ClassConvolution}, // by FFT
	{"convolution_sm", ClassConvolution},
	{"fprop", ClassConvolution}, {"dgrad", ClassConvolution}, {"wgrad", ClassConvolution},
	{"implicit_gemm", ClassConvolution}, {"implicitgemm", ClassConvolution},
	{"igemm_fwd", ClassConvolution}, {"igemm_bwd", ClassConvolution}, {"igemm_wrw", ClassConvolution},
	{"conv_depthwise", ClassConvolution},
	{"layer_norm", ClassNorm}, {"layernorm", ClassNorm}, {"rmsnorm", ClassNorm}, {"rms_norm", ClassNorm},
	{"batch_norm", ClassNorm}, {"batchnorm", ClassNorm},
	{"bn_fw", ClassNorm}, {"bn_bw", ClassNorm}, {"gammabeta", ClassNorm}, {"group_norm", ClassNorm},
	{"groupnorm", ClassNorm}, {"rowwisemoments", ClassNorm}, {"computeinternalgradients", ClassNorm},
	{"nvjet_", ClassGEMM}, {"cijk_", ClassGEMM}, {"gemm", ClassGEMM},
	{"catarray", ClassMove}, {"transpose", ClassMove}, {"nchwtonhwc", ClassMove}, {"nhwctonchw", ClassMove},
	{"nchw2cnhw", ClassMove}, {"im2col", ClassMove}, {"col2im", ClassMove},
	{"reduce_kernel", ClassReduction}, {"triton_red_", ClassReduction}, {"triton_per_", ClassReduction},
	{"devicereduce", ClassReduction}, {"nll_loss", ClassReduction}, {"nvfuser_reduction", ClassReduction},
	{"elementwise_kernel", ClassPointwise}, {"triton_poi_", ClassPointwise}, {"nvfuser_pointwise", ClassPointwise},
	{"fused_dropout", ClassPointwise}, {"act_and_mul", ClassPointwise},
}

// functionName is the function's own name in lower case, without what it returns, its namespaces, template and
// arguments. CUTLASS wraps its kernels: of Kernel2<cutlass_80_simt_sgemm_…> it is what is wrapped.
func functionName(low string) string {
	name := strings.TrimPrefix(low, "void ")
	if strings.HasPrefix(name, "_z") {
		return name // mangled: namespaces and all
	}
	name = strings.NewReplacer("(anonymous namespace)::", "", "<unnamed>::", "").Replace(name)
	if i := strings.IndexAny(name, "<("); i > 0 {
		if own := name[:i]; strings.HasPrefix(own, "cutlass") && strings.Contains(own, "::kernel") && name[i] == '<' {
			inner, _, _ := strings.Cut(name[i+1:], "(")
			return inner
		}
		name = name[:i]
	}
	return name[strings.LastIndex(name, "::")+1:]
}

// fp32Signs tell products in FP32 on vector units from those on matrix units.
var fp32Signs = []string{"sgemm", "ffma", "gemmsn_", "simt_s", "scudnn", "_sb_", "_s_b_", "_f32f32_f32f32_f32_",
	"_cf32cf32_", "gcgemm"}

// KindOfKernel reads the name of a kernel, demangled or not.
func KindOfKernel(name string) KernelKind {
	low := strings.ToLower(kernelname.Demangled(name))
	own := functionName(low)
	var k KernelKind
	for _, s := range signs {
		if strings.Contains(own, s.part) {
			k.Class = s.class
			break
		}
	}
	switch k.Class {
	case ClassGEMM, ClassConvolution:
		k.FP32 = isFP32(own) || k.Class == ClassConvolution && isFP32Engine(low, own)
	case ClassSoftmax:
		k.softmax(low)
	case ClassAttention:
		k.Backward = containsAny(low, "bprop", "bwd", "backward", "dot_do_o", "convert_dq")
	case ClassPointwise:
		k.pointwise(low)
	}
	return k
}

func isFP32(low string) bool {
	if containsAny(low, "tf32", "tensorop", "s1688", "bf16bf16", "f16f16") {
		return false
	}
	return containsAny(low, fp32Signs...)
}

// isFP32Engine says whether a convolution without matrix units, whose name says nothing of types, works on FP32: its
// first template argument does, as in cuDNN's wgrad_alg0_engine<float, …>.
func isFP32Engine(low, own string) bool {
	return strings.Contains(low, own+"<float") && !containsAny(low, "tf32", "tensorop", "half", "bfloat16")
}

// softmax reads softmax_warp_forward<in, out, acc, log2 of the row, is log, …> and its kin.
func (k *KernelKind) softmax(low string) {
	k.Backward = strings.Contains(low, "backward")
	k.Log = strings.Contains(low, "logsoftmax") || strings.Contains(low, "log_softmax")
	if !strings.Contains(low, "softmax_warp_") {
		return
	}
	if args := templateArgs(low, "softmax_warp_"); len(args) > 4 {
		if n, ok := plainInt(args[3]); ok && n < 32 {
			k.RowLog2 = uint8(n)
		}
		k.Log = args[4] == "true" || args[4] == "(bool)1"
	}
}

// pointwise tells casts and moves from arithmetic, and how much a thread does.
func (k *KernelKind) pointwise(low string) {
	k.Operands = pointerCount(low)
	k.PerThread = perThread(low)
	k.Strided = strings.Contains(low, "elementwise_kernel<") && !containsAny(low, "vectorized_", "unrolled_", "index_")
	switch {
	case containsAny(low, "bfloat16tofloat32_copy"):
		k.Class, k.To = ClassCast, 4
	case containsAny(low, "float16_copy_kernel"): // and bfloat16_copy_kernel
		k.Class, k.To = ClassCast, 2
	case containsAny(low, "float8_copy", "float8_e"):
		k.Class, k.To = ClassCast, 1
	case strings.Contains(low, "direct_copy_kernel"):
		k.Class = ClassMove
		if strings.Contains(low, "loadwithcast") {
			k.Class, k.To = ClassCast, lambdaSize(low)
		}
	}
}

// pointerCount is N of the array of N pointers that PyTorch's pointwise kernels take; else what the functor's kind
// says.
func pointerCount(low string) uint8 {
	for _, begin := range []string{"array<char*,", "array<char *,"} {
		if _, rest, found := strings.Cut(low, begin); found {
			end := strings.IndexByte(rest, '>')
			if end < 0 {
				return 0
			}
			if n, ok := plainInt(strings.TrimRight(strings.TrimSpace(rest[:end]), "ul")); ok && n < 16 {
				return uint8(n)
			}
		}
	}
	switch {
	case strings.Contains(low, "bunaryfunctor") || strings.Contains(low, "aunaryfunctor") ||
		strings.Contains(low, "direct_copy"):
		return 2
	case strings.Contains(low, "binaryfunctor") || strings.Contains(low, "cudafunctor_add"):
		return 3
	}
	return 0
}

// perThread is how many elements a thread of PyTorch's pointwise kernels takes. The vectorized ones take 8 since
// PyTorch 2.7, which passes a std::array, and took 4 before; of the others it is in the name.
func perThread(low string) uint8 {
	switch {
	case strings.Contains(low, "vectorized_elementwise_kernel<"):
		if strings.Contains(low, "std::array<") {
			return 8
		}
		return 4
	case strings.Contains(low, "unrolled_elementwise_kernel<"):
		for _, a := range templateArgs(low, "unrolled_elementwise_kernel") {
			if n, ok := plainInt(a); ok && n > 0 && n < 256 {
				return uint8(n)
			}
		}
		return 4
	case strings.Contains(low, "elementwise_kernel<"), strings.Contains(low, "elementwise_kernel_manual_unroll<"):
		if args := templateArgs(low, "elementwise_kernel"); len(args) > 1 {
			if n, ok := plainInt(args[1]); ok && n > 0 && n < 256 {
				return uint8(n)
			}
		}
	}
	return 0
}

// lambdaSize is the size of the type that the innermost lambda takes: lambda(float)#1.
func lambdaSize(low string) byte {
	i := strings.LastIndex(low, "lambda(")
	for ; i >= 0 && strings.HasPrefix(low[i:], "lambda()"); i = strings.LastIndex(low[:i], "lambda(") {
	}
	if i < 0 {
		return 0
	}
	switch kind, _, _ := strings.Cut(low[i+len("lambda("):], ")"); kind {
	case "double", "long", "int64_t":
		return 8
	case "float", "int":
		return 4
	case "c10::half", "c10::bfloat16", "short":
		return 2
	case "bool", "signed char", "unsigned char":
		return 1
	}
	return 0
}

// templateArgs is the template arguments behind the first word that begins with name, as far as the text goes.
func templateArgs(text, name string) []string {
	i := strings.Index(text, name)
	if i < 0 {
		return nil
	}
	open := strings.IndexByte(text[i:], '<')
	if open < 0 {
		return nil
	}
	var out []string
	depth, from := 0, i+open+1
	for k := from; k < len(text); k++ {
		switch text[k] {
		case '<', '(', '[':
			depth++
		case '>', ')', ']':
			if depth == 0 {
				return append(out, strings.TrimSpace(text[from:k]))
			}
			depth--
		case ',':
			if depth == 0 {
				out = append(out, strings.TrimSpace(text[from:k]))
				from = k + 1
			}
		}
	}
	return out
}

// plainInt reads 4, (int)4 or (unsigned long)4.
func plainInt(text string) (int, bool) {
	text = strings.TrimSpace(text)
	if i := strings.LastIndexByte(text, ')'); i >= 0 {
		text = text[i+1:]
	}
	n, err := strconv.Atoi(text)
	return n, err == nil
}

func containsAny(s string, parts ...string) bool {
	for _, p := range parts {
		if strings.Contains(s, p) {
			return true
		}
	}
	return false
}
