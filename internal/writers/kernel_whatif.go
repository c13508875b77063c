package writers

import (
	"fmt"
	"io"

	"lacuna/internal/kernelname"
	"lacuna/internal/kernelreport"
	"lacuna/internal/unit"
)

// CalculationsJSON writes what other resources would make of occupancies.
func CalculationsJSON(w io.Writer, c *kernelreport.Calculations) error { return JSON(w, c) }

// CalculationsText prints what other resources would make of occupancies: now beside then.
func CalculationsText(w io.Writer, c *kernelreport.Calculations, page Page) error {
	p := &printer{Page: page, w: w}
	for i := range c.Kernels {
		if i > 0 {
			p.line("")
		}
		p.calculation(&c.Kernels[i])
	}
	p.line("")
	p.prose("", 0, "This is the occupancy that resources allow, and nothing about time: more warps help a kernel that waits for latency, and no other.")
	return p.err
}

func (p *printer) calculation(c *kernelreport.Calculation) {
	for _, l := range p.wrap(p.fit(p.clean(kernelname.Profiled(c.Name)), max(minFlex, p.width()-minFlex))+", occupancy with "+p.clean(c.Asked), p.width()) {
		p.line(p.paint(bold, l))
	}
	if c.Error != "" {
		p.prose("  ", 2, sentence(p.clean(c.Error)))
		return
	}
	var rows [][]string
	for _, x := range []struct {
		name string
		of   func(r kernelreport.Resources) string
	}{
		{"registers a thread", func(r kernelreport.Resources) string { return fmt.Sprint(r.Registers) }},
		{"shared memory a block, bytes", func(r kernelreport.Resources) string { return unit.FormatCount(int64(r.SharedBytes)) }},
		{"threads a block", func(r kernelreport.Resources) string { return unit.FormatCount(int64(r.Threads)) }},
		{"blocks on an SM", func(r kernelreport.Resources) string { return fmt.Sprint(r.BlocksPerSM) }},
		{"theoretical occupancy, %", func(r kernelreport.Resources) string { return unit.Percent(r.TheoreticalPct / 100) }},
		{"blocks of the grid", func(r kernelreport.Resources) string { return unit.FormatCount(int64(r.Blocks)) }},
		{"waves", func(r kernelreport.Resources) string { return unit.Three(r.Waves) }},
	} {
		rows = append(rows, []string{x.name, x.of(c.Now), x.of(c.Then)})
	}
	p.grid([]gridColumn{{head: "", flex: true}, {head: "now", right: true}, {head: "then", right: true}}, rows)
	if len(c.Limiting) > 0 {
		p.prose("  ", 2, sentence("then limited by "+unit.List(c.Limiting)))
	}
	for _, n := range c.Notes {
		p.prose("  - ", 4, p.clean(sentence(n)))
	}
}
