package synth

import (
	"bufio"
	"fmt"
	"io"
)

// Kineto writes a trace of the PyTorch profiler of at least size bytes: a training loop of one
// process on one GPU, as long as it takes, in the layout of libkineto. The same size gives the
// same bytes. It has what makes reading a real trace costly: operators with shapes, launches,
// flows, kernels with long names, two host threads whose events do not come in order of time.
func Kineto(w io.Writer, size int64) error {
	g := kinetoWriter{w: bufio.NewWriterSize(w, 1<<20), nowNs: 4_396_349_060_050_345_000}
	g.print(kinetoHead)
	for step := 0; g.size < size && g.err == nil; step++ {
		g.step(step)
	}
	g.print(kinetoTail, g.us(g.nowNs), g.us(g.nowNs))
	if err := g.w.Flush(); g.err == nil {
		g.err = err
	}
	return g.err
}

const kinetoHead = `
{
  "schemaVersion": 1,
  "deviceProperties": [
    {
      "id": 0, "name": "NVIDIA H200", "totalGlobalMem": 150109880320,
      "computeMajor": 9, "computeMinor": 0,
      "maxThreadsPerBlock": 1024, "maxThreadsPerMultiprocessor": 2048,
      "regsPerBlock": 65536, "warpSize": 32,
      "sharedMemPerBlock": 49152, "numSms": 132
    }
  ],
  "cuda_driver_version": 13000,
  "cuda_runtime_version": 13000,
  "cupti_version": 130001,
  "record_shapes": 1,
  "displayTimeUnit": "ms",
  "baseTimeNanoseconds": 1790857026000000000,
  "traceEvents": [
  {
    "name": "process_name", "ph": "M", "ts": 4396349060050.345, "pid": 873, "tid": 0,
    "args": {
      "name": "python"
    }
  },
  {
    "name": "thread_name", "ph": "M", "ts": 4396349060050.345, "pid": 873, "tid": 873,
    "args": {
      "name": "thread 873 (python)"
    }
  }`

const kinetoTail = `,
  {
    "name": "Iteration Start: PyTorch Profiler", "ph": "i", "s": "g",
    "pid": "Traces", "tid": "Trace PyTorch Profiler", "ts": %s
  },
  {
    "name": "Record Window End", "ph": "i", "s": "g",
    "pid": "", "tid": "", "ts": %s
  }
  ],
  "traceName": "synthetic.json"
}
`

// kinetoLayers is the operators of a layer, forward, with the kernel that each launches.
var kinetoLayers = []struct {
	op, shapes, kernel string
	grid, block        int
	ns                 int64
}{
	{"aten::layer_norm", "[[16, 1024, 768], [], [768], [768], []]",
		"void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<c10::BFloat16, float, false>(int, " +
			"float, c10::BFloat16 const*, c10::BFloat16 const*, c10::BFloat16 const*, float*, float*, c10::BFloat16*)",
		16384, 128, 21_000},
	{"aten::linear", "[[16, 1024, 768], [2304, 768], [2304]]",
		"nvjet_tst_192x192_64x4_2x1_v_bz_coopB_bias_TNT", 132, 384, 84_000},
	{"aten::scaled_dot_product_attention", "[[16, 12, 1024, 64], [16, 12, 1024, 64], [16, 12, 1024, 64], [], [], []]",
		"void cutlass::device_kernel<flash::enable_sm90<flash::FlashAttnFwdSm90<flash::CollectiveMainloopFwdSm90<2, cute::tuple<cute::C<1>, cute::C<1>, cute::C<1> >, cute::tuple<cute::C<192>, cute::C<128>, cute::C<64> >, 64, cutlass::bfloat16_t, float, cutlass::arch::Sm90> > > >(flash::FlashAttnFwdSm90::Params)", 1152, 384, 133_000},
	{"aten::add", "[[16, 1024, 768], [16, 1024, 768], []]",
		"void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<c10::BFloat16>, " +
			"std::array<char*, 3ul> >(int, at::native::CUDAFunctor_add<c10::BFloat16>, std::array<char*, 3ul>)", 12288,
		128, 17_000},
	{"aten::gelu", "[[16, 1024, 3072], []]",
		"void at::native::vectorized_elementwise_kernel<4, at::native::GeluCUDAKernelImpl(at::TensorIteratorBase&, " +
			"at::native::GeluType)::{lambda()#2}::operator()() const::{lambda()#4}::operator()() " +
			"const::{lambda(c10::BFloat16)#1}, std::array<char*, 2ul> >(int, std::array<char*, 2ul>)", 49152, 128,
		46_000},
}

type kinetoWriter struct {
	w     *bufio.Writer
	size  int64
	err   error
	nowNs int64 // the host's clock
	gpuNs int64 // when the GPU is free
	id    int   // External id
	corr  int
}

func (g *kinetoWriter) print(format string, args ...any) {
	n, err := fmt.Fprintf(g.w, format, args...)
	if g.size += int64(n); err != nil && g.err == nil {
		g.err = err
	}
}

// us prints ns as decimal microseconds.
func (g *kinetoWriter) us(ns int64) string { return fmt.Sprintf("%d.%03d", ns/1000, ns%1000) }

// step writes one training step: forward on the main thread, backward on autograd's, which comes first in the file.
func (g *kinetoWriter) step(n int) {
	const layers = 12
	startNs := g.nowNs
	forwardNs := int64(layers * len(kinetoLayers) * 30_000)
	g.nowNs = startNs + forwardNs
	for i := layers*len(kinetoLayers) - 1; i >= 0; i-- {
		g.op(i, n, 898, "autograd::engine::evaluate_function: ")
	}
	endNs := g.nowNs
	g.nowNs = startNs + 1000
	for i := range layers * len(kinetoLayers) {
		g.op(i, n, 873, "")
	}
	g.nowNs = max(endNs, g.nowNs, g.gpuNs) + 2000
	g.id++
	g.print(`,
  {
    "ph": "X", "cat": "user_annotation", "name": "ProfilerStep#%d", "pid": 873, "tid": 873,
    "ts": %s, "dur": %s,
    "args": {
      "External id": %d,"Record function id": 0, "Ev Idx": %d
    }
  }`, n, g.us(startNs), g.us(g.nowNs-startNs), g.id, g.id)
	g.nowNs += 1000
}

// op writes an operator, its launch, the kernel and the arrows between them.
func (g *kinetoWriter) op(i, step, tid int, prefix string) {
	l := &kinetoLayers[i%len(kinetoLayers)]
	sequence := 100_000*step + i
	g.id++
	g.corr += 3
	startNs := g.nowNs
	g.nowNs += 25_000 + int64(i*7919%4000)
	g.print(`,
  {
    "ph": "X", "cat": "cpu_op", "name": "%s%s", "pid": 873, "tid": %d,
    "ts": %s, "dur": %s,
    "args": {
      "External id": %d,"Sequence number": %d, "Fwd thread id": 0, "Record function id": 0, "Concrete Inputs": ["", "", ""], "Input type": ["c10::BFloat16", "c10::BFloat16", "Scalar"], "Input Strides": [[786432, 768, 1], [1], []], "Input Dims": %s, "Ev Idx": %d
    }
  }`, prefix, l.op, tid, g.us(startNs), g.us(g.nowNs-startNs-500), g.id, sequence, l.shapes, g.id)
	callNs := startNs + 9_000
	g.print(`,
  {
    "ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 873, "tid": %d,
    "ts": %s, "dur": %s,
    "args": {
      "External id": %d, "cbid": 211, "correlation": %d
    }
  },
  {
    "ph": "s", "id": %d, "pid": 873, "tid": %d, "ts": %s,
    "cat": "ac2g", "name": "ac2g"
  }`, tid, g.us(callNs), g.us(5_000), g.id, g.corr, g.corr, tid, g.us(callNs))
	kernelNs := max(g.gpuNs+900, callNs+4_500)
	g.gpuNs = kernelNs + l.ns
	g.print(`,
  {
    "ph": "X", "cat": "kernel", "name": "%s", "pid": 0, "tid": 7,
    "ts": %s, "dur": %s,
    "args": {
      "External id": %d, "queued": 0, "device": 0, "context": 1,
      "stream": 7, "correlation": %d,
      "registers per thread": 64, "shared memory": 1024,
      "blocks per SM": 93.09091, "warps per SM": 372.36365,
      "grid": [%d, 1, 1], "block": [%d, 1, 1],
      "est. achieved occupancy %%": 94
    }
  },
  {
    "ph": "f", "id": %d, "pid": 0, "tid": 7, "ts": %s,
    "cat": "ac2g", "name": "ac2g", "bp": "e"
  }`, l.kernel, g.us(kernelNs), g.us(l.ns), g.id, g.corr, l.grid, l.block, g.corr, g.us(kernelNs))
}
