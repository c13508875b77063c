package kernelrules

import (
	"lacuna/internal/cubin"
)

// Code is what rules ask of the machine code: facts of data flow that no counter holds.

// instructions that were executed, with how often, and their positions in the function.
type code struct {
	list     []cubin.Instruction
	executed []float64 // by warps, of each of list
}

// code is the kernel's machine code with counts; nil where the report lacks either.
func (c *Case) code() *code {
	if c.asm == nil {
		if c.asm = c.readCode(); c.asm == nil {
			c.asm = &code{}
		}
	}
	if c.asm.list == nil {
		return nil
	}
	return c.asm
}

func (c *Case) readCode() *code {
	s := c.Launch.Source
	if s == nil || len(s.Cubin) == 0 || c.Launch.Metric("inst_executed") == nil {
		return nil
	}
	file, err := cubin.Parse(s.Cubin)
	if err != nil {
		return nil
	}
	var start uint64
	var index uint32
	placed := false
	for _, f := range s.Functions {
		if f.Symbol == c.Launch.Mangled {
			start, index, placed = f.Address, f.Index, true
		}
	}
	fn := file.Function(c.Launch.Mangled, index)
	if fn == nil || !placed {
		return nil
	}
	out := &code{list: fn.Instructions()}
	out.executed = make([]float64, len(out.list))
	for address, n := range c.Launch.ByAddress("inst_executed") {
		if i := (address - start) / cubin.InstructionBytes; address >= start && i < uint64(len(out.list)) {
			out.executed[i] += n
		}
	}
	return out
}

// gather is the share of executed loads of global memory whose address comes from loaded data; unknown without the
// code, or where nothing is loaded.
func (c *Case) gather() float64 {
	k := c.code()
	if k == nil {
		return unknown
	}
	from := cubin.LoadedAddresses(k.list)
	var all, some float64
	for i, in := range k.list {
		if in.Kind != cubin.LoadGlobal {
			continue
		}
		all += k.executed[i]
		if from[i] {
			some += k.executed[i]
		}
	}
	if all == 0 {
		return unknown
	}
	return some / all
}

// chained is the executed additions of FP32 that use a product computed before in the same stretch of code without a branch, as a
// share of all instructions: those that can be fused. Unknown without the code.
func (c *Case) chained(add, mul string) float64 {
	k := c.code()
	if k == nil {
		return unknown
	}
	product := make(map[uint16]bool) // registers that hold one
	var all, some float64
	for i, in := range k.list {
		all += k.executed[i]
		uses := false
		for _, u := range in.Uses {
			for r := u.First; r < u.First+u.Count; r++ {
				uses = uses || product[r]
			}
		}
		if in.Name == add && uses {
			some += k.executed[i]
		}
		for r := in.Dest.First; r < in.Dest.First+in.Dest.Count; r++ {
			delete(product, r)
			if in.Name == mul {
				product[r] = true
			}
		}
		if in.Branch || in.Ends {
			clear(product)
		}
	}
	if all == 0 {
		return unknown
	}
	return some / all
}
