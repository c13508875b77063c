package facts

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"lacuna/internal/base/golden"
	"lacuna/internal/timeline/evtext"
)

// of parses the text form of a capture.
func of(t *testing.T, events string) *Facts {
	t.Helper()
	trace, err := evtext.Parse(events)
	if err != nil {
		t.Fatal(err)
	}
	return Of(trace)
}

// TestSteps tells how steps are found: source, steps as start+duration, what is left out as start-up.
func TestSteps(t *testing.T) {
	golden.Cases(t, "testdata/steps.txtar", func(t *testing.T, events string) string {
		s, err := of(t, events).Steps()
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		basis := "host"
		if s.Device {
			basis = "device"
		}
		fmt.Fprintf(&b, "%s, %s\n", s.Source, basis)
		for _, st := range s.Startup {
			fmt.Fprintf(&b, "start-up %d: %s\n", st.Index, st.Why)
		}
		for _, x := range s.Steady() {
			fmt.Fprintf(&b, "%d+%d\n", x.StartNs, x.LenNs())
		}
		if s.Note != "" {
			fmt.Fprintf(&b, "note: %s\n", s.Note)
		}
		return b.String()
	})
}

// TestBudget tells the budget of each device over the steps, and its idle time by what the host did.
func TestBudget(t *testing.T) {
	golden.Cases(t, "testdata/budget.txtar", func(t *testing.T, events string) string {
		f := of(t, events)
		s, err := f.Steps()
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		for _, x := range f.Budgets(s.Window()) {
			fmt.Fprintf(&b, "device %d: compute %d, comm exposed %d, copy %d, idle %d\n", x.Device, x.ComputeNs,
				x.CommExposedNs, x.CopyNs, x.IdleNs)
			if sum := x.ComputeNs + x.CommExposedNs + x.CopyNs + x.IdleNs; sum != s.Window().LenNs() {
				t.Errorf("parts sum to %d, the window is %d", sum, s.Window().LenNs())
			}
			causes := f.IdleByHost(f.IdleGaps(&x))
			var sum int64
			var lines []string
			for c, ns := range causes {
				sum += ns
				lines = append(lines, fmt.Sprintf("  %s %d\n", f.CauseText(c), ns))
			}
			if sum != x.IdleNs {
				t.Errorf("idle by host sums to %d, idle is %d", sum, x.IdleNs)
			}
			slices.SortFunc(lines, cmp.Compare)
			b.WriteString(strings.Join(lines, ""))
		}
		return b.String()
	})
}

func TestPinnedSteps(t *testing.T) {
	f := of(t, "step 0+10\nstep 10+10\nstep 20+10\nstep 30+10\n"+
		"call c1 1+1 cudaLaunchKernel\nkernel c1 100+50 a\ncall c2 11+1 cudaLaunchKernel\nkernel c2 200+50 a\n"+
		"call c3 21+1 cudaLaunchKernel\nkernel c3 300+50 a\ncall c4 31+1 cudaLaunchKernel\nkernel c4 400+50 a\n")
	for _, test := range []struct {
		first, last int
		whole       bool
		want        string // start of the first and end of the last step, or the error
	}{
		{0, 3, false, "100-400"},
		{1, 2, false, "200-300"},
		{0, 99, false, "100-400"},
		{1, 0, true, "200-400"},
		{-1, 0, true, "300-400"},
		{0, -1, false, "100-300"},
		{3, 4, false, "--steps 3:4: the capture has 3 steps; give positions from 0 to 3"},
		{2, 2, false, "--steps 2:2: the capture has 3 steps; give positions from 0 to 3"},
		{5, 0, true, "--steps 5:: the capture has 3 steps; give positions from 0 to 3"},
	} {
		s, err := With(f.Trace, StepOptions{Pin: true, First: test.first, Last: test.last, Whole: test.whole}).Steps()
		got := fmt.Sprint(err)
		if err == nil {
			got = fmt.Sprintf("%d-%d", s.Window().StartNs, s.Window().EndNs)
		}
		if got != test.want {
			t.Errorf("--steps %d:%d: got %s, want %s", test.first, test.last, got, test.want)
		}
	}
}

// Names of communication kernels as captures and sources have them, with who launches them, and what only sounds so.
func TestCommNames(t *testing.T) {
	for name, want := range map[string]bool{
		"ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)": true, // NCCL 2.19 on
		"ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t":                                true, // NCCL before
		"rcclGenericKernel<1, false>(ncclDevKernelArgsStorage<4096ul>)":             true, // RCCL
		// PyTorch's symmetric memory, torch/csrc/distributed/c10d/symm_mem/CUDASymmetricMemoryOps.cu
		"void (anonymous namespace)::multimem_all_reduce_kernel<c10::BFloat16, 16>(c10::BFloat16*)": true,
		"void <unnamed>::two_shot_all_reduce_kernel<float, 16, 8>(float *)":                         true,
		"void c10d::symmetric_memory::one_shot_all_reduce_kernel<float, 8>()":                       true,
		// vLLM csrc/custom_all_reduce.cuh, csrc/quickreduce; AITER's copies
		"void vllm::cross_device_reduce_1stage<float, 2>(vllm::RankData*)":                        true,
		"void aiter::cross_device_reduce_2stage_naive<__hip_bfloat16, 8>(aiter::RankData*)":       true,
		"void quickreduce::allreduce_prototype_twoshot<quickreduce::AllReduceTwoshot<half, 8>>()": true,
		// TensorRT-LLM kernels/customAllReduceKernels.cu, communicationKernels; FlashInfer's copies
		"void tensorrt_llm::kernels::oneShotAllReduceKernel<float, 8, true, false>(AllReduceParams)":          true,
		"void tensorrt_llm::kernels::reduce_fusion::lamport_style_one_shot_all_reduce_norm_kernel<half, 8>()": true,
		"void flashinfer::trtllm_allreduce_fusion::allreduce_fusion_kernel_oneshot_lamport<half, 8>()":        true,
		// DeepEP csrc/kernels, and in deepseek-ai/profile-data
		"void deep_ep::internode::dispatch<false, 8, 5, true>(int4*, float*)": true,
		"void dpsk::ep::internode::combine<5, __nv_bfloat16>(int4*)":          true,
		"void mori::moe::EpDispatchInterNodeKernel<float>(mori::moe::Args)":   true,
		"nvshmem_made_up_kernel":                                      true, // only the beginning counts
		"void mscclpp::collective::allreduceAllPairs<0, float>()":     true, // MSCCL++
		"_ZN12tensorrt_llm7kernels22twoShotAllReduceKernelIfLi8EEEvv": true, // mangled

		"void at::native::elementwise_kernel<128, 2>()":             false,
		"my_nccl_like_gemm":                                         false,
		"void cutlass::Kernel<Nccl>()":                              false,
		"void madeup::softmax::BlockAllReduce<SumOp, float>(float)": false, // within a block
		"void warp_allreduce_sum<float>(float*)":                    false,
		"void reduce_kernel<512, 1>(ReduceOp)":                      false,
		"allocate_gather_index":                                     false,
	} {
		if got := isCommName(name); got != want {
			t.Errorf("isCommName(%q) = %v, want %v", name, got, want)
		}
	}
}

func TestCallCauses(t *testing.T) {
	for name, want := range map[string]string{
		"cudaLaunchKernel_v7000": CauseLaunch, "cuLaunchKernelEx": CauseLaunch, "cudaMemcpyAsync_v3020": CauseLaunch,
		"cudaMemcpy_v3020": CauseCopyCall, "cuMemcpyHtoD_v2": CauseCopyCall, "hipMemcpyWithStream": CauseCopyCall,
		"cudaMalloc_v3020": CauseAlloc, "cudaFreeHost": CauseAlloc, "cuMemAlloc_v2": CauseAlloc, "hipFree": CauseAlloc,
		"cudaHostAlloc":               CauseAlloc,
		"cudaStreamSynchronize_v3020": CauseSync, "cuCtxSynchronize": CauseSync, "hipDeviceSynchronize": CauseSync,
		"cudaEventSynchronize": CauseSync,
		"cudaStreamWaitEvent":  CauseLaunch, "cudaEventQuery": CauseLaunch, "cudaMemsetAsync": CauseLaunch,
		"cudaMemGetInfo": CauseLaunch,
	} {
		if got := callCause(name); got != want {
			t.Errorf("callCause(%q) = %s, want %s", name, got, want)
		}
	}
}

func TestStepNames(t *testing.T) {
	for name, want := range map[string]bool{
		"step_3": true, "Step 12": true, "iteration#4": true, "iter: 7": true, "batch5": true, "STEP:1": true,
		"step": false, "step_3 forward": false, "my step_3": false, "stepper_3": false, "step_3a": false, "": false,
	} {
		if got := IsStepName(name); got != want {
			t.Errorf("IsStepName(%q) = %v, want %v", name, got, want)
		}
	}
}
