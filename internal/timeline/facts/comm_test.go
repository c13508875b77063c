package facts

import "testing"

// More names of communication kernels, with the file that they are from.
func TestCommNamesBySource(t *testing.T) {
	for name, want := range map[string]bool{
		// DeepEP csrc/kernels/internode_ll.cu, intranode.cu, layout.cu; deepseek-ai/profile-data train.json
		"void deep_ep::internode_ll::dispatch<true, false, 7168>(void*, void*)":     true,
		"void deep_ep::intranode::cached_notify_combine<8>(void**, int*)":           true,
		"void deep_ep::internode_ll::clean_low_latency_buffer<128>(int*, int)":      true,
		"void dpsk::ep::internode::cached_notify<false>(int, int, int)":             true,
		"void deep_ep::layout::get_dispatch_layout<256, 32, 8>(long const*, int*)":  false,
		"void dpsk::ep::cuda::get_dispatch_layout<256, 32, 8>(long const*, int*)":   false,
		"void hybrid_ep::combine_kernel<hybrid_ep::warp_group>(hybrid_ep::param_t)": true, // DeepEP, branch hybrid-ep
		// MORI src/ops/dispatch_combine/intranode.hpp
		"void mori::moe::EpDispatchIntraNodeKernel<float, false>(mori::moe::Args)": true,
		"mori::moe::EpCombineIntraNodeKernel_bf16":                                 true,
		// TensorRT-LLM cpp/tensorrt_llm/kernels/communicationKernels/moeAlltoAllKernels.cu
		"void tensorrt_llm::kernels::moe_comm::moeA2ADispatchKernel<8, true>(int const*)": true,
		"tensorrt_llm::kernels::moe_comm::moeA2ACombineKernel":                            true,
		"tensorrt_llm::kernels::moe_comm::moeA2APrepareDispatchKernel":                    false, // resets counters
		"tensorrt_llm::kernels::moe_comm::moeA2ASanitizeExpertIdsKernel":                  false,
		// pplx-garden p2p-all-to-all/a2a-kernels/src/a2a
		"void a2a_dispatch_send_kernel<true, 16, 1, unsigned int>(unsigned long)": true,
		"a2a_combine_recv_kernel": true,
		// TransformerEngine common/comm_gemm_overlap/userbuffers/userbuffers.cu
		"void userbuffers_fp16_sum_inplace_gpu_rr_rs_oop<8>(int, int)": true,
		"kuserbuffers_pushsend(int*, int*, int4*, int4*, int)":         true,
		// NVSHMEM src/coll; PyTorch c10d/symm_mem/nvshmem_extension.cu; rocSHMEM
		"barrier_all_on_stream_kernel_warp()":                      true,
		"sync_on_stream_kernel(int, int, int, long*)":              true,
		"c10d::nvshmem_extension::allToAllV(void*, void*, long*)":  true,
		"void exchangeSplitAndOffset_2d<true>(long*, long*)":       true,
		"rocshmem::rocshmem_barrier_all_kernel()":                  true,
		"nvshmemi_transfer_syncapi_update_mem()":                   true,
		"void reduce_scatter_cross_device_store<float, 8>(float*)": true, // AITER csrc/include/custom_all_reduce.cuh
		"void local_device_load_rmsnorm_naive<float, 512>(float*)": false,
		"_mnnvl_twoshot_allreduce_kernel":                          true, // FlashInfer trtllm_mnnvl_allreduce.cuh

		// what only sounds so: MAGMA magmablas/zherk_small_reduce.cu, Modular's gpu/reduction.mojo, and within a GPU
		"zherk_small_reduce_kernel<256>(double2*)":                  false,
		"small_reduce_kernel(float const*, float*)":                 false,
		"void small_gather_kernel<float>(float*)":                   false,
		"void gridAllReduceSum<float>(float*)":                      false,
		"void softmax_warp_forward<float, float, float, 10>()":      false,
		"void dispatch_kernel<float>(float*)":                       false, // a dispatch of anything
		"void moe_combine_kernel<__nv_bfloat16>(__nv_bfloat16*)":    false, // within one device
		"void barrier_kernel(float*, int)":                          false, // also PyTorch's, which no name tells apart
		"triton_poi_fused_all_gather_into_tensor_cat_wait_tensor_3": false, // Inductor, torch/_inductor/codegen/triton.py
		"void at::native::reduce_kernel<512, 1, at::native::Op>(a)": false,
		"": false,
	} {
		if got := isCommName(name); got != want {
			t.Errorf("isCommName(%q) = %v, want %v", name, got, want)
		}
	}
}
