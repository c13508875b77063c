package facts

import (
	"fmt"
	"slices"
	"testing"
)

func TestChains(t *testing.T) {
	point := func(operands uint8, us int64) ChainLink {
		return ChainLink{Kind: KernelKind{Class: ClassPointwise, Operands: operands}, Elements: 1 << 20, Block: 1024,
			DurNs: us * 1000}
	}
	reduce := func(us int64) ChainLink { return ChainLink{Kind: KernelKind{Class: ClassReduction}, DurNs: us * 1000} }
	small := ChainLink{Kind: KernelKind{Class: ClassPointwise, Operands: 2}, Elements: 1024, DurNs: 2000}
	gemm := ChainLink{Kind: KernelKind{Class: ClassGEMM}, DurNs: 50_000}
	broad := point(3, 30) // broadcasts what was reduced
	broad.Kind.Strided = true
	cast := point(2, 40)
	cast.Kind.Class = ClassCast
	rounded := point(2, 20)
	rounded.Elements += 512 // the grid of a kernel with larger blocks
	for _, c := range []struct {
		what  string
		links []ChainLink
		want  [][]int
		fused int64 // of the first chain
	}{
		{"two", []ChainLink{point(2, 20), point(3, 30)}, [][]int{{0, 1}}, 30_000},
		{"one alone is no chain", []ChainLink{point(2, 20), gemm, point(2, 20)}, nil, 0},
		{"grids round up", []ChainLink{point(2, 20), rounded}, [][]int{{0, 1}}, 20_000},
		{"other sizes are another chain", []ChainLink{point(2, 20), small, small}, [][]int{{1, 2}}, 2000},
		{"a kernel that broadcasts is slow; its tensors are not", []ChainLink{point(2, 20), point(3, 70)},
			[][]int{{0, 1}}, 30_000},
		{"a norm: the mean before it, what lies between", []ChainLink{gemm, reduce(15), broad, point(2, 20),
			reduce(15), small, small, broad, gemm}, [][]int{{1, 2, 3, 4, 5, 6, 7}}, 30_000},
		{"what follows the last one on all elements is not of it", []ChainLink{point(2, 20), point(2, 20), reduce(10),
			small, gemm}, [][]int{{0, 1}}, 20_000},
		{"a reduction that takes far too long is of other data", []ChainLink{point(2, 20), point(2, 20), reduce(500),
			broad, point(2, 20)}, [][]int{{0, 1}, {3, 4}}, 20_000},
		{"what is summed does not come back", []ChainLink{point(2, 20), point(2, 20), reduce(10), point(3, 30),
			point(3, 30)}, [][]int{{0, 1}, {3, 4}}, 20_000},
		{"a cast moves what it must", []ChainLink{point(2, 20), cast}, [][]int{{0, 1}}, 40_000},
		{"reductions alone are no chain", []ChainLink{point(2, 20), reduce(10), reduce(10)}, nil, 0},
		{"only filled in between", []ChainLink{point(2, 20), point(1, 10), point(2, 20)}, [][]int{{0, 1, 2}}, 20_000},
		{"a small tensor in between", []ChainLink{point(2, 20), small, point(2, 20)}, nil, 0},
		{"too much in between", append(append([]ChainLink{point(2, 20), reduce(10)},
			slices.Repeat([]ChainLink{small}, 7)...), broad), [][]int{{7, 8}}, 2000},
	} {
		got := Chains(c.links, func(i, j int) bool { return true })
		var members [][]int
		for _, ch := range got {
			members = append(members, ch.Links)
			if ch.LowNs > ch.FusedNs || ch.HighNs < ch.FusedNs {
				t.Errorf("%s: %d is not within %d to %d", c.what, ch.FusedNs, ch.LowNs, ch.HighNs)
			}
		}
		if fmt.Sprint(members) != fmt.Sprint(c.want) {
			t.Errorf("%s: chains %v, want %v", c.what, members, c.want)
		} else if len(got) > 0 && got[0].FusedNs != c.fused {
			t.Errorf("%s: fused %d ns, want %d", c.what, got[0].FusedNs, c.fused)
		}
	}
	apart := Chains([]ChainLink{point(2, 20), point(2, 20)}, func(i, j int) bool { return false })
	if len(apart) > 0 {
		t.Errorf("two kernels that could not be one are a chain: %v", apart)
	}
}
