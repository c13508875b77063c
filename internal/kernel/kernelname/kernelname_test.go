package kernelname

import "testing"

func TestOf(t *testing.T) {
	for _, test := range []struct{ a, b string }{
		{"void at::native::vectorized_elementwise_kernel<(int)4, at::native::FillFunctor<float>>(int, float)",
			"void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float> >(int, float)"},
		{"_Z6sgemm2Pf", "sgemm2(float*)"},
	} {
		if a, b := Of(test.a), Of(test.b); a.Whole != b.Whole {
			t.Errorf("%q and %q differ", a.Whole, b.Whole)
		}
	}
}

func TestStem(t *testing.T) {
	for _, test := range []struct {
		a, b string
		same bool
	}{
		{"ampere_sgemm_128x64_tn", "ampere_sgemm_64x64_tn", true},
		{"sm80_xmma_gemm_f32f32_tf32f32_f32_tn_n_tilesize128x128x16_stage4_warpsize2x2x1_ffma",
			"sm90_xmma_gemm_f32f32_tf32f32_f32_tn_n_tilesize64x128x16_stage3_warpsize2x2x1_ffma", true},
		{"void cutlass::Kernel2<cutlass_80_simt_sgemm_128x64_8x5_nn_align1>(Params)",
			"void cutlass::Kernel2<cutlass_80_simt_sgemm_256x128_8x4_nn_align1>(Params)", true},
		{"triton_poi_fused_add_mul_0", "triton_poi_fused_add_mul_12", true},
		{"triton_poi_fused_add_mul_0", "triton_poi_fused_add_sub_0", false},
		{"nvjet_hsh_128x256_64x4_1x2_h_bz_TNT", "nvjet_hsh_64x64_64x8_1x1_h_bz_TNT", true},
		{"softmax_warp_forward", "softmax_warp_backward", false},
		{"my_kernel_v1", "my_kernel_v2", true},
		{"_123", "_124", false},
	} {
		if a, b := Of(test.a).Stem(), Of(test.b).Stem(); (a == b) != test.same {
			t.Errorf("stems %q and %q", a, b)
		}
	}
}
