package pages

import (
	"fmt"

	"lacuna/internal/base/unit"
	"lacuna/internal/faces/page"
	"lacuna/internal/kernel/kernelname"
	"lacuna/internal/kernel/kernelreport"
)

// Calculations is what other resources would make of occupancies: now beside then.
func Calculations(c *kernelreport.Calculations) *page.Page {
	p := &page.Page{Title: page.T("Occupancy with other resources")}
	for i := range c.Kernels {
		if i > 0 {
			p.Add(page.Gap{})
		}
		p.Add(calculation(&c.Kernels[i])...)
	}
	p.Add(page.Gap{}, page.Prose{Text: page.T("This is theoretical occupancy; it does not predict time: " +
		"more warps help only a latency-bound kernel.")})
	return p
}

// calculation is one kernel's occupancy.
func calculation(c *kernelreport.Calculation) []page.Block {
	head := page.Prose{
		Style: page.Bold,
		Text: page.Sayf(
			"%s, occupancy with %s",
			page.Of(page.Long, kernelname.Profiled(c.Name)),
			page.Of(page.Word, c.Asked),
		),
	}
	if c.Error != "" {
		return []page.Block{head, page.Prose{Indent: 2, Quote: true, Text: page.Sentence(page.T(c.Error))}}
	}
	var rows [][]page.Text
	for _, x := range []struct {
		name string
		of   func(r kernelreport.Resources) string
	}{
		{"registers per thread", func(r kernelreport.Resources) string { return fmt.Sprint(r.Registers) }},
		{"shared memory per block, bytes", func(r kernelreport.Resources) string {
			return unit.FormatCount(
				int64(r.SharedBytes))
		}},
		{"threads per block", func(r kernelreport.Resources) string { return unit.FormatCount(int64(r.Threads)) }},
		{"blocks per SM", func(r kernelreport.Resources) string { return fmt.Sprint(r.BlocksPerSM) }},
		{"theoretical occupancy, %", func(r kernelreport.Resources) string {
			return unit.Percent(
				r.TheoreticalPct / 100)
		}},
		{"blocks in the grid", func(r kernelreport.Resources) string { return unit.FormatCount(int64(r.Blocks)) }},
		{"waves", func(r kernelreport.Resources) string { return unit.Three(r.Waves) }},
	} {
		rows = append(rows, []page.Text{page.T(x.name), page.Num(x.of(c.Now)), page.Num(x.of(c.Then))})
	}
	out := []page.Block{
		head,
		page.Table{Columns: []page.Column{{Flex: true}, {Head: "now", Right: true}, {Head: "then", Right: true}},
			Rows: rows},
	}
	if len(c.Limiting) > 0 {
		out = append(out, page.Prose{Indent: 2, Text: page.Sayf("Then limited by %s.", unit.List(c.Limiting))})
	}
	var all []page.Text
	for _, n := range c.Notes {
		all = append(all, page.Sentence(page.T(n)))
	}
	return append(out, listed(all)...)
}
