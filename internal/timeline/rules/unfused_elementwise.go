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
they belong to one step, their grids give the same number of elements, and nothing runs between them on their stream
but reductions of these elements and small kernels on their results: a norm, softmax or loss that is written out.

Fusion saves at most the time of a chain less that of one kernel that moves as many tensors as the chain's kernel that
moves most, at the pace of its fastest. Kernels of under 5 µs are left out: they cost
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
	Confirm:   `One kernel replaces the chain and takes at most as long as its longest kernel did.`,
	RefutedBy: `The chain is interrupted: the host reads a value of it, or a reduction in it is of another tensor.`,
	Check:     checkUnfusedElementwise,
}

// minMovingNs is the duration from which a pointwise kernel is limited by the memory rather than by its
// launch: 5 µs at 1 to 4 TB/s are 5 to 20 MB, more than a launch of 2 to 4 µs hides.
const minMovingNs = 5_000

func checkUnfusedElementwise(c *Case, out *Findings) {
	chains := c.chains()
	var saved int64
	var all []int32
	longest, reductions := 0, 0
	for _, ch := range chains {
		saved += c.chainSaving(ch)
		all = append(all, ch.rows...)
		longest, reductions = max(longest, len(ch.rows)), reductions+ch.Reductions
	}
	if c.shareOfStep(saved) < minWorkShare {
		return
	}
	what := "pointwise "
	if reductions > 0 {
		what = ""
	}
	f := out.Add(0.85, c.perStep(saved), "%s per step move the same data through DRAM again: %s of %s",
		several(float64(len(all))*c.PerStep, what+"kernel", what+"kernels"), ms(c.perStep(c.sumNs(all))),
		ms(c.StepNs))
	f.Because(fmt.Sprintf("%s per step, of up to %d kernels on as many elements; fused they would take %s less per "+
		"step (%.1f %%)",
		several(float64(len(chains))*c.PerStep, "chain", "chains"), longest, ms(c.perStep(saved)),
		100*c.shareOfStep(saved)), c.chainRows(chains)...)
	if reductions > 0 {
		f.Because(several(float64(reductions)*c.PerStep, "reduction per step lies", "reductions per step lie") +
			" in these chains, as in a norm, softmax or loss that is written out")
	}
	f.Because("the kernels of these chains", c.kernelRows(all)...)
	f.Repair("fuse:elementwise")
}

// A rowChain is a chain with its rows of Work.
type rowChain struct {
	facts.Chain
	rows []int32
}

// chains is the chains of pointwise kernels, without what other rules look at.
func (c *Case) chains() []rowChain {
	passes, taken := c.Facts.Passes(), make(map[int32]bool)
	for _, region := range c.attentions() {
		for _, r := range region {
			taken[r] = true
		}
	}
	for _, r := range c.roundTrips() {
		taken[r] = true
	}
	var out []rowChain
	for _, rows := range c.lanes() {
		links := make([]facts.ChainLink, len(rows))
		for i, r := range rows {
			k := c.kind(r)
			n, perBlock := c.elements(r)
			links[i] = facts.ChainLink{Kind: k, Elements: n, Block: perBlock, DurNs: c.durNs(r),
				Bars: !c.isKernel(r) || passes.Of[r] == facts.PassUpdate || taken[r]}
		}
		for _, ch := range facts.Chains(links, func(i, j int) bool { return c.sameStep(rows[i], rows[j]) }) {
			rc := rowChain{Chain: ch}
			for _, i := range ch.Links {
				rc.rows = append(rc.rows, rows[i])
			}
			if c.sumNs(rc.rows) >= minMovingNs*int64(len(rc.rows)) {
				out = append(out, rc)
			}
		}
	}
	return out
}

// chainSaving is a chain's time without that of the one kernel that it could be.
func (c *Case) chainSaving(ch rowChain) int64 { return max(0, c.sumNs(ch.rows)-ch.FusedNs) }

// chainRows names the chains with most to save.
func (c *Case) chainRows(chains []rowChain) []string {
	sorted := slices.Clone(chains)
	slices.SortStableFunc(sorted, func(a, b rowChain) int { return cmp.Compare(c.chainSaving(b), c.chainSaving(a)) })
	var out []string
	for _, ch := range sorted[:min(len(sorted), maxRows)] {
		first, last := ch.rows[0], ch.rows[len(ch.rows)-1]
		n := int64(0)
		for _, r := range ch.rows {
			if c.kind(r).Class != facts.ClassReduction {
				have, _ := c.elements(r)
				n = max(n, have)
			}
		}
		text := fmt.Sprintf("%d kernels, %s, at %s, on about %s elements", len(ch.rows), ms(float64(c.sumNs(ch.rows))),
			c.startText(first), unit.FormatCount(n))
		if owner := c.ownerOf(first); owner != "" {
			text += ": from " + owner
			if last := c.ownerOf(last); last != owner {
				text += " to " + last
			}
		}
		out = append(out, text)
	}
	return out
}
