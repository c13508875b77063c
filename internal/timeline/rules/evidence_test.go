package rules

import "testing"

func TestShortName(t *testing.T) {
	for name, want := range map[string]string{
		"void at::native::vectorized_elementwise_kernel<4, at::native::AddFunctor<float> >(int, float*)": "at::native::vectorized_elementwise_kernel",
		"void at::native::(anonymous namespace)::multi_tensor_apply_kernel<float>(int)":                  "at::native::multi_tensor_apply_kernel",
		"void at::native::<unnamed>::multi_tensor_apply_kernel<(int)4>(T1)":                              "at::native::multi_tensor_apply_kernel",
		"(anonymous namespace)::softmax_warp_forward(float*)":                                            "softmax_warp_forward",
		"void <unnamed>::softmax_warp_forward<float>(float *)":                                           "softmax_warp_forward",
		"nvjet_sm90_tst_96x128_64x6_2x1_v_bz_NNN":                                                        "nvjet_sm90_tst_96x128_64x6_2x1_v_bz_NNN",
	} {
		if got := shortName(name); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}
