package facts

import "testing"

// The names are as real captures have them: PyTorch's profiler and Nsight Systems print one kernel in two
// ways; cuBLAS, CUTLASS, cuDNN, PyTorch from 2020 to 2025, torch.compile, nvFuser, ROCm.
func TestKindOfKernel(t *testing.T) {
	for name, want := range map[string]KernelKind{
		"nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_bias_TNT":                                                                                      {Class: ClassGEMM},
		"sm80_xmma_gemm_f32f32_f32f32_f32_nn_n_tilesize64x64x8_stage3_warpsize1x4x1_ffma_aligna4_alignc4_execute_kernel__5x_cublas":                {Class: ClassGEMM, FP32: true},
		"sm80_xmma_gemm_f32f32_f32f32_f32_nn_n_tilesize64x64x8_stage3_warpsize1x4x1_ffma_aligna4_alignc4_execute_split_k_kernel__5x_cublas":        {Class: ClassGEMMTail},
		"sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x64x64_warpgroupsize1x1x1_execute_segment_k_off_kernel__5x_cublas":                    {Class: ClassGEMM},
		"void cutlass::Kernel2<cutlass_80_simt_sgemm_128x256_8x4_nt_align1>(T1::Params)":                                                           {Class: ClassGEMM, FP32: true},
		"void cutlass::Kernel<cutlass_80_tensorop_s1688gemm_128x128_32x3_nn_align1>(cutlass_80_tensorop_s1688gemm_128x128_32x3_nn_align1::Params)": {Class: ClassGEMM},
		"volta_sgemm_32x32_sliced1x4_tn":                             {Class: ClassGEMM, FP32: true},
		"ampere_fp16_s16816gemm_fp16_128x64_ldg8_f2f_stages_64x4_nn": {Class: ClassGEMM},
		"void gemmSN_NN_kernel<float, 256, 4, 2, 8, 4, 4, false, cublasGemvTensorStridedBatched<float const>, " +
			"cublasGemvTensorStridedBatched<float const>, cublasGemvTensorStridedBatched<float> " +
			">(cublasGemmSmallNParams<float>)": {Class: ClassGEMM, FP32: true},
		"Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT256x48x64_MI16x16x1_SN_LDSB1_AFC1": {Class: ClassGEMM},
		"Cijk_Ailk_Bjlk_SB_Bias_AS_SAV_UserArgs_MT64x16x16_MI16x16x1_SN_LDSB0_AFC1": {Class: ClassGEMM,
			FP32: true},
		"void gemv2T_kernel_val<int, int, float, float, float, float, 128, 16, 2, 2, false, false, " +
			"cublasGemvParams<float> >(float)": {Class: ClassReduction},
		"void splitKreduce_kernel<32, 16, int, float, float, float, float, true, false, " +
			"false>(cublasSplitKParams<float>)": {Class: ClassGEMMTail},
		"cudnn::gemm::computeOffsetsKernel(cudnn::gemm::ComputeOffsetsParams)":                    {},
		"void fbgemm_gpu::permute_2D_lengths_kernel<int>(int, int, int const*, int const*, int*)": {},

		"void cudnn::winograd_nonfused::winogradForwardData4x4<float, float>(cudnn::winograd_nonfused::WinogradDataParams<float, " +
			"float>)": {Class: ClassConvolutionTail},
		"_ZN5cudnn8winograd27generateWinogradTilesKernelILi0EffEEvNS0_27GenerateWinogradTilesParamsIT0_T1_EE": {
			Class: ClassConvolutionTail},
		"_5x_cudnn_ampere_scudnn_winograd_128x128_ldg1_ldg4_relu_tile148n_nt_v1": {Class: ClassConvolution, FP32: true},
		"_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_15CUDAFunctor_addIfEESt5arrayIPcLm3EEEEviT0_T1_": {
			Class: ClassPointwise, Operands: 3, PerThread: 8},
		"volta_scudnn_128x64_relu_interior_nn_v1": {Class: ClassConvolution, FP32: true},
		"sm80_xmma_fprop_implicit_gemm_tf32f32_tf32f32_f32_nhwckrsc_nhwc_tilesize64x128x32_stage5_warpsize2x2x1_g1_tensor16x8x8_kernel_cudnn": {Class: ClassConvolution},
		"igemm_bwd_gtcx3_nhwc_bf16_bx0_ex1_bt128x64x32_wt32x32x8_ws1x1_wr1x2_ta1x8x2x1_1x4x1x64_tb1x4x1x2_1x8x1x32_mh_gkgs":                   {Class: ClassConvolution},
		"void cutlass_cudnn_infer::Kernel<cutlass_tensorop_s1688fprop_optimized_tf32_128x128_16x4_nhwc_align4>(cutlass_tensorop)":             {Class: ClassConvolution},

		"cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_7_64x128x64_4x1x1_cga1x1x1_kernel0_0": {Class: ClassAttention},
		"cudnn_generated_fort_native_sdpa_sm90_flash_bprop_wgmma_f16_knob_26_64x64x64_1x4x1_cga1x1x1_kernel0_0": {Class: ClassAttention, Backward: true},
		"void pytorch_flash::flash_fwd_kernel<pytorch_flash::Flash_fwd_kernel_traits<64, 128, 128, 4> " +
			">(pytorch_flash::Flash_fwd_params)": {Class: ClassAttention},
		"void vllm::reshape_and_cache_flash_kernel<__hip_bfloat16, __hip_bfloat16>(__hip_bfloat16 const*)": {},

		"void (anonymous namespace)::softmax_warp_forward<c10::BFloat16, c10::BFloat16, float, 11, false, " +
			"false>(c10::BFloat16*)": {Class: ClassSoftmax, RowLog2: 11},
		"void <unnamed>::softmax_warp_backward<float, float, float, (int)10, (bool)1, (bool)0>(T2 *, const T1 *)": {Class: ClassSoftmax, RowLog2: 10, Backward: true, Log: true},
		"void at::native::(anonymous namespace)::cunn_SoftMaxBackwardSmem<8, c10::BFloat16, float, c10::BFloat16, " +
			"at::native::(anonymous namespace)::SoftMaxBackwardEpilogue>(c10::BFloat16*)": {Class: ClassSoftmax,
			Backward: true},
		"void at::native::(anonymous namespace)::cunn_SoftMaxForwardReg<c10::BFloat16, float, c10::BFloat16, " +
			"at::native::(anonymous namespace)::LogSoftMaxForwardEpilogue, long, 8>(c10::BFloat16*)": {Class: ClassSoftmax, Log: true},

		"void at::native::vectorized_elementwise_kernel<4, at::native::BinaryFunctor<float, float, float, " +
			"at::native::binary_internal::MulFunctor<float> >, std::array<char*, 3ul> >(int)": {Class: ClassPointwise,
			Operands: 3, PerThread: 8},
		"void at::native::vectorized_elementwise_kernel<(int)4, at::native::AUnaryFunctor<float, float, float, " +
			"at::native::binary_internal::MulFunctor<float>>, std::array<char *, (unsigned long)2>>(int, T2, T3)": {Class: ClassPointwise, Operands: 2, PerThread: 8},
		"void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, " +
			"at::detail::Array<char*, 3> >(int)": {Class: ClassPointwise, Operands: 3, PerThread: 4},
		"void at::native::elementwise_kernel<128, 4, " +
			"at::native::gpu_kernel_impl_nocast<at::native::CUDAFunctor_add<c10::BFloat16> " +
			">(at::TensorIteratorBase&)::{lambda(int)#1}>(int)": {Class: ClassPointwise, Operands: 3, PerThread: 4, Strided: true},
		"void at::native::elementwise_kernel_manual_unroll<128, 8, " +
			"at::native::gpu_kernel_impl_nocast<at::native::(anonymous " +
			"namespace)::batch_norm_calc_invstd(float)::{lambda(float)#1}>(int)": {Class: ClassPointwise, PerThread: 8},
		"triton_poi_fused_add_clamp_mul_sigmoid_tanh_0":                                                    {Class: ClassPointwise},
		"<unnamed>::nvfuser_pointwise_f1_c1_r0_g1(<unnamed>::Tensor<float, (int)3, (int)3>)":               {Class: ClassPointwise},
		"void at::native::index_elementwise_kernel<128, 4, at::native::index_copy_kernel_impl<int> >(int)": {},

		"void at::native::vectorized_elementwise_kernel<8, " +
			"at::native::float16_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda(float)#1}, std::array<char*, " +
			"2ul> >(int)": {Class: ClassCast, To: 2, Operands: 2, PerThread: 8},
		"void at::native::vectorized_elementwise_kernel<(int)8, " +
			"at::native::bfloat16_copy_kernel_cuda(at::TensorIteratorBase &)::[lambda(float) (instance 1)], " +
			"std::array<char *, (unsigned long)2>>(int, T2, T3)": {Class: ClassCast, To: 2, Operands: 2, PerThread: 8},
		castToFloat: {Class: ClassCast, To: 4, Operands: 2, PerThread: 4},
		"void at::native::elementwise_kernel<128, 4, " +
			"at::native::gpu_kernel_impl_nocast<at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda()#3}::operator()() const::{lambda()#12}::operator()() const::{lambda(c10::BFloat16)#1}>(at::TensorIteratorBase&)>(int)": {Class: ClassMove, Operands: 2, PerThread: 4, Strided: true},
		"void at::native::(anonymous namespace)::CatArrayBatchedCopy<float, unsigned int, 3, 128, 1>(float*)": {Class: ClassMove},
		"batched_transpose_16x64_pack_1x4_ediv_1x2_half":                                                      {Class: ClassMove},

		"void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::MeanOps<float, float, " +
			"float, float>, unsigned int, float, 4> >(float)": {Class: ClassReduction},
		"triton_red_fused__unsafe_view_add_mean_mul_pow_rsqrt_1":                                           {Class: ClassReduction},
		"void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<float, float, false>(int)":   {Class: ClassNorm},
		"void cudnn::bn_fw_tr_1C11_singleread<float, 512, true, 1, 2, 0>(cudnnTensorStruct, float const*)": {Class: ClassNorm},
		"MIOpenBatchNormFwdTrainSpatial": {Class: ClassNorm},
		"void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous " +
			"namespace)::FusedOptimizerTensorListMetadata<4> >(int)": {Class: ClassForeach},
		"void at::native::triu_tril_kernel<bool, int, false, 8, false>(at::cuda::detail::TensorInfo<bool, int>)": {Class: ClassMask},
		"saxpy(double *, double *, double *, double, int)":                                                       {},
		"": {},
	} {
		if got := KindOfKernel(name); got != want {
			t.Errorf("%s:\n  got  %+v\n  want %+v", name, got, want)
		}
	}
}

const castToFloat = "void at::native::unrolled_elementwise_kernel<at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda()#3}::operator()() const::{lambda()#7}::operator()() const::{lambda(float)#1}, std::array<char*, 2ul>, 4, TrivialOffsetCalculator<1, unsigned int>, TrivialOffsetCalculator<1, unsigned int>, at::native::memory::LoadWithCast<1>, at::native::memory::StoreWithCast<1> >(int)"

func FuzzKindOfKernel(f *testing.F) {
	f.Add(castToFloat)
	f.Add("softmax_warp_<>")
	f.Add("elementwise_kernel<,(")
	f.Fuzz(func(t *testing.T, name string) { KindOfKernel(name) })
}
