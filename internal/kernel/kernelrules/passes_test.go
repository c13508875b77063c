package kernelrules

import (
	"testing"

	"lacuna/internal/kernel/cubin"
)

// A store goes where the thread has loaded from if the same register holds both addresses, set once.
func TestLoadedFrom(t *testing.T) {
	in := func(kind cubin.Kind, dest, address uint16) cubin.Instruction {
		i := cubin.Instruction{Kind: kind, Dest: cubin.Span{First: dest, Count: 1}}
		i.Uses[0] = cubin.Span{First: address, Count: 2}
		return i
	}
	set := func(dest uint16) cubin.Instruction { return cubin.Instruction{Dest: cubin.Span{First: dest, Count: 2}} }
	load, store := cubin.LoadGlobal, cubin.StoreGlobal
	for _, c := range []struct {
		name string
		body []cubin.Instruction
		want bool
	}{
		{"y += a*x", []cubin.Instruction{set(2), set(4), in(load, 8, 2), in(load, 9, 4), in(store, 0, 4)}, true},
		{"y = a*x", []cubin.Instruction{set(2), set(4), in(load, 8, 2), in(store, 0, 4)}, false},
		{"the register was set again", []cubin.Instruction{set(2), in(load, 8, 2), set(2), in(store, 0, 2)}, false},
	} {
		body := c.body
		body[len(body)-1].Dest = cubin.Span{}
		if got := loadedFrom(body)[len(body)-1]; got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}
