package kernelreport

import (
	"lacuna/internal/kernel"
	"lacuna/internal/kernel/profile"
)

// A Calculation is what other resources would make of a kernel's occupancy. It says nothing about time.
type Calculation struct {
	Name     string    `json:"name"`
	Asked    string    `json:"asked"` // as --what-if has it
	Now      Resources `json:"now"`
	Then     Resources `json:"then"`
	Limiting []string  `json:"limiting"` // then; nothing at full occupancy
	Notes    []string  `json:"notes"`
	Error    string    `json:"error,omitempty"` // why such a launch is impossible, or cannot be calculated
}

// Resources is what a launch uses and the occupancy that this gives.
type Resources struct {
	Registers      int     `json:"registers_per_thread"`
	SharedBytes    int     `json:"shared_bytes_per_block"`
	Threads        int     `json:"threads_per_block"`
	BlocksPerSM    int     `json:"blocks_per_sm"`
	TheoreticalPct float64 `json:"theoretical_pct"`
	Blocks         float64 `json:"grid_blocks"`
	Waves          float64 `json:"waves"`
}

// Calculations is the answer of `lacuna kernel --what-if`.
type Calculations struct {
	Schema  int           `json:"schema"`
	Kernels []Calculation `json:"kernels"`
}

// WhatIf calculates the occupancy of the kernels of reports with other resources, such as "regs=64,smem=32k,block=256".
func WhatIf(in []*profile.Report, opt Options, asked string) (*Calculations, error) {
	change, err := kernel.ParseWhatIf(asked)
	if err != nil {
		return nil, err
	}
	out := &Calculations{Schema: Schema}
	for i, p := range in {
		for _, g := range grouped(i, p, pick(p, opt)) {
			out.Kernels = append(out.Kernels, calculationOf(g.Middle, asked, change))
		}
	}
	if len(out.Kernels) == 0 {
		return nil, noMatch(in, opt)
	}
	return out, nil
}

func calculationOf(k *kernel.Kernel, asked string, change kernel.WhatIf) Calculation {
	out := Calculation{Name: k.Launch.Name, Asked: asked, Limiting: []string{}, Notes: []string{}}
	if o := k.Occupancy(); o != nil {
		blocks, _ := k.GridBlocks()
		out.Now = Resources{o.Resources.Registers, o.Resources.SharedBytes, o.Resources.Threads, o.Blocks,
			100 * o.Theoretical, blocks, max(0, o.Waves)}
	}
	c, err := k.WhatIf(change)
	if err != nil {
		out.Error = err.Error()
		return out
	}
	r := c.Resources
	out.Then = Resources{r.Registers, r.SharedBytes, r.Threads, c.Blocks, 100 * c.Share, c.Grid, c.Waves}
	if c.Share < 1 {
		out.Limiting = append(out.Limiting, c.Limiting...)
	}
	out.Notes = append(out.Notes, c.Notes...)
	return out
}
