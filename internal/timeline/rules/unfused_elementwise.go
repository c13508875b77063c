package rules

import (
	"cmp"
	"fmt"
	"slices"

	"lacuna/internal/base/unit"
	"lacuna/internal/timeline/facts"
)

var unfusedElementwise = Rule{
	ID:    "unfused_elementwise",
	Title: "Unfused pointwise operators: the same data moves through DRAM again and again",
	Since: "0.1",
	Needs: []Need{needWork, needGrids},
	Doc: `
Pointwise kernels that follow one another on a stream, over the same number of elements, each read and write a whole
tensor: one fused kernel would read each operand once and write the result once. Kernels count as one chain if
nothing runs between them on their stream, they belong to one step and their grids give the same number of elements.

Fusion saves at most the time of a chain without its longest kernel. Kernels of under 5 µs are left out: they cost
their launch, not their traffic (launch_bound). So are the weight update (looped_optimizer), cast round trips
(dtype_cast_churn) and unfused attention (unfused_attention). Threshold: 3 % of the step.`,
	Limits: `
Grids round up to whole blocks, so tensors that differ by less than a block count as one size. No capture says which
tensor a kernel reads: two independent branches that alternate look like one chain. Only PyTorch's kernels are known
to be pointwise; Triton's and nvFuser's are fused already.`,
	Fix: `
Let the compiler fuse the chain, or write it as one kernel:

    chain = torch.compile(chain)          # or the whole model: model = torch.compile(model)
    y = F.gelu(x, approximate="tanh")     # a library operator in place of its formula`,
	FixC: `
Write one kernel that loads each operand once, computes the whole expression in registers and stores the result.`,
	Confirm:   `One kernel replaces the chain and takes about as long as its longest kernel did.`,
	RefutedBy: `The chain is interrupted: the host reads a value of it, or a reduction is in between.`,
	Check:     checkUnfusedElementwise,
}

// minMovingNs is the duration from which a pointwise kernel is limited by the memory rather than by its
// launch: 5 µs at 1 to 4 TB/s are 5 to 20 MB, more than a launch of 2 to 4 µs hides.
const minMovingNs = 5_000

func checkUnfusedElementwise(c *Case, out *Findings) {
	chains := c.chains()
	var saved int64
	var all []int32
	for _, ch := range chains {
		saved += c.chainSaving(ch)
		all = append(all, ch...)
	}
	if c.shareOfStep(saved) < minWorkShare {
		return
	}
	longest := 0
	for _, ch := range chains {
		longest = max(longest, len(ch))
	}
	f := out.Add(0.85, c.perStep(saved), "%s per step move the same data through DRAM again: %s of %s",
		several(float64(len(all))*c.PerStep, "pointwise kernel", "pointwise kernels"), ms(c.perStep(c.sumNs(all))),
		ms(c.StepNs))
	f.Because(fmt.Sprintf("%s per step, of up to %d kernels on as many elements; without the longest of each chain "+
		"they take %s per step (%.1f %%)",
		several(float64(len(chains))*c.PerStep, "chain", "chains"), longest, ms(c.perStep(saved)),
		100*c.shareOfStep(saved)), c.chainRows(chains)...)
	f.Because("the kernels of these chains", c.kernelRows(all)...)
	f.Repair("fuse:elementwise")
}

// chains is the runs of at least two pointwise kernels on as many elements, without what other rules look at.
func (c *Case) chains() [][]int32 {
	passes, taken := c.Facts.Passes(), make(map[int32]bool)
	for _, region := range c.attentions() {
		for _, r := range region {
			taken[r] = true
		}
	}
	for _, r := range c.roundTrips() {
		taken[r] = true
	}
	var out [][]int32
	for _, rows := range c.lanes() {
		var run []int32
		end := func() {
			if len(run) > 1 {
				out = append(out, run)
			}
			run = nil
		}
		for _, r := range rows {
			k := c.kind(r)
			if k.Class != facts.ClassPointwise && k.Class != facts.ClassCast || c.durNs(r) < minMovingNs ||
				passes.Of[r] == facts.PassUpdate || taken[r] {
				end()
				continue
			}
			if last := len(run) - 1; last >= 0 && !(c.sameSize(run[last], r) && c.sameStep(run[last], r)) {
				end()
			}
			run = append(run, r)
		}
		end()
	}
	return out
}

// chainSaving is a chain's time without its longest kernel.
func (c *Case) chainSaving(chain []int32) int64 {
	var longest int64
	for _, r := range chain {
		longest = max(longest, c.durNs(r))
	}
	return c.sumNs(chain) - longest
}

// chainRows names the chains with most to save.
func (c *Case) chainRows(chains [][]int32) []string {
	sorted := slices.Clone(chains)
	slices.SortStableFunc(sorted, func(a, b []int32) int { return cmp.Compare(c.chainSaving(b), c.chainSaving(a)) })
	var out []string
	for _, ch := range sorted[:min(len(sorted), maxRows)] {
		n, _ := c.elements(ch[0])
		text := fmt.Sprintf("%d kernels, %s, at %s, on about %s elements", len(ch), ms(float64(c.sumNs(ch))),
			c.startText(ch[0]), unit.FormatCount(int64(n)))
		if owner := c.ownerOf(ch[0]); owner != "" {
			text += ": from " + owner
			if last := c.ownerOf(ch[len(ch)-1]); last != owner {
				text += " to " + last
			}
		}
		out = append(out, text)
	}
	return out
}
