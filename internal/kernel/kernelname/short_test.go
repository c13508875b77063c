package kernelname

import "testing"

func TestShort(t *testing.T) {
	for in, want := range map[string]string{
		"void f<int>(int, float)":       "f<int>",
		"gemm":                          "gemm",
		"f(int)(char)":                  "f(int)",
		"void (*g)()":                   "(*g)",
		")":                             ")",
		"void ns::k<(E)3>(ns::A<(E)1>)": "k<(E)3>",
		"void at::native::(anonymous namespace)::k(int)": "k",
		"at::native::{lambda(a::b)#1}::operator()<x::y>": "operator()<x::y>",
		"aten::linear": "linear",
		"x::":          "x::",
		"_ZN2at6native13reduce_kernelILi512ELi1EEEvNS0_1AE": "reduce_kernel<512, 1>",
		"<unnamed>::k<<unnamed>::f>(int)":                   "k<f>",
		"_Znonsense":                                        "_Znonsense",
	} {
		if got := Short(in); got != want {
			t.Errorf("Short(%q) = %q, want %q", in, got, want)
		}
	}
}
