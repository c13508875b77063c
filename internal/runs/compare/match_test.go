package compare

import (
	"fmt"
	"strings"
	"testing"

	"lacuna/internal/kernel/kernelname"
	"lacuna/internal/timeline/facts"
)

func kernel(name string, calls, ms, place float64, in ...string) Kernel {
	k := Kernel{Name: name, names: kernelname.Of(name), class: facts.KindOfKernel(name).Class, Calls: calls, Ms: ms,
		place: place}
	if len(in) > 0 {
		k.Op = in[0]
	}
	if len(in) > 1 {
		k.Range = in[1]
	}
	return k
}

func TestMatch(t *testing.T) {
	for _, test := range []struct {
		name          string
		before, after []Kernel
		want          string
	}{
		{"the same", []Kernel{kernel("a", 1, 1, 0)}, []Kernel{kernel("a", 1, 2, 0)}, "a=a (name)"},
		{"as two demanglers write it", []Kernel{kernel("void f<(int)4>(float*)", 1, 1, 0)},
			[]Kernel{kernel("void f<4>(float *)", 1, 1, 0)}, "void f<(int)4>(float*)=void f<4>(float *) (name)"},
		{"another tile", []Kernel{kernel("ampere_sgemm_128x64_tn", 4, 1, 0)},
			[]Kernel{kernel("ampere_sgemm_64x64_tn", 4, 1, 0)},
			"ampere_sgemm_128x64_tn=ampere_sgemm_64x64_tn (renamed)"},
		{"fused, in one operator", []Kernel{kernel("scale", 1, 1, 0, "aten::gelu", "mlp"),
			kernel("tanh", 1, 1, 0.1, "aten::gelu", "mlp"), kernel("mul", 1, 1, 0.2, "aten::gelu", "mlp")},
			[]Kernel{kernel("gelu_fused", 1, 1, 0, "aten::gelu", "mlp")}, "scale+tanh+mul=gelu_fused (same operator)"},
		{"at one place, without operators", []Kernel{kernel("cutlass_gemm_x", 8, 1, 0.5)},
			[]Kernel{kernel("nvjet_something", 8, 0.5, 0.505)}, "cutlass_gemm_x=nvjet_something (same place)"},
		{"too far apart", []Kernel{kernel("cutlass_gemm_x", 8, 1, 0.2)},
			[]Kernel{kernel("nvjet_something", 8, 0.5, 0.7)}, "cutlass_gemm_x= (gone); =nvjet_something (new)"},
		{"of another class", []Kernel{kernel("softmax_forward", 8, 1, 0.5)},
			[]Kernel{kernel("nvjet_something", 8, 0.5, 0.5)}, "softmax_forward= (gone); =nvjet_something (new)"},
		{"in one range", []Kernel{kernel("softmax_forward", 8, 1, 0.5, "", "attention")},
			[]Kernel{kernel("flash_fwd", 2, 0.5, 0.5, "", "attention"), kernel("other", 1, 1, 0.9, "", "mlp")},
			"softmax_forward=flash_fwd (same range); =other (new)"},
		{"nothing on a side", nil, []Kernel{kernel("a", 1, 1, 0)}, "=a (new)"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var got []string
			names := func(list []int, kernels []Kernel) string {
				var out []string
				for _, i := range list {
					out = append(out, kernels[i].Name)
				}
				return strings.Join(out, "+")
			}
			for _, p := range match(test.before, test.after) {
				got = append(got, fmt.Sprintf("%s=%s (%s)", names(p.before, test.before), names(p.after, test.after),
					p.how))
			}
			if text := strings.Join(got, "; "); text != test.want {
				t.Errorf("got  %s\nwant %s", text, test.want)
			}
		})
	}
}
