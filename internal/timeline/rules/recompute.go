package rules

import (
	"fmt"

	"lacuna/internal/timeline/facts"
	"lacuna/internal/timeline/model"
)

var recompute = Rule{
	ID:       "recompute",
	Title:    "Activation recomputation: backward runs parts of forward again",
	Since:    "0.1",
	Standing: CostsElse,
	Needs:    []Need{needKernels, needCalls, needBackward},
	Doc: `
Activation checkpointing stores less and computes forward again during backward. Kernels launched in backward then
repeat a part of the same step's forward: at least 8 in a row with the same names and grids, with GEMMs or
convolutions among them. Threshold: a fifth of the forward kernels, since shorter repetitions occur by chance.

It is a choice, not a fault: it trades time for memory. The finding states its cost, so that you can decide again.`,
	Limits: `
Compiled models recompute inside fused kernels, where the rule does not see it. Without recorded grids the rule
compares names only, and models of many equal layers then match more easily. The host's time for it is not counted.`,
	Fix: `
If memory allows, checkpoint fewer blocks, or keep the GEMM results and recompute only cheap operators:

    for block in model.blocks[::2]: ...                        # every second block only
    checkpoint(f, x, use_reentrant=False, context_fn=partial(create_selective_checkpoint_contexts, [torch.ops.aten.mm.default]))`,
	FixC:      `Store the activations of layers that are expensive to compute and small; recompute the others.`,
	Confirm:   `Backward launches fewer kernels, by the number listed. Peak memory is higher.`,
	RefutedBy: `The program does not use checkpointing: forward and backward share a sequence of operators by design.`,
	Check:     checkRecompute,
}

const (
	minRepeatRun    = 8   // kernels in a row; backward's own kernels repeat at most a few of forward's
	minRepeatedPart = 0.2 // of forward's kernels
)

func checkRecompute(c *Case, out *Findings) {
	rows, forward := c.recomputed()
	if forward == 0 || float64(len(rows)) < minRepeatedPart*float64(forward) {
		return
	}
	ns := c.unionNs(rows)
	if c.shareOfStep(ns) < minWorkShare {
		return
	}
	f := out.Add(0.9, c.perStep(ns), "Backward runs %.0f %% of forward again: %s of %s, to save memory",
		100*float64(len(rows))/float64(forward), ms(c.perStep(ns)), ms(c.StepNs))
	f.Because(fmt.Sprintf("%s of %s forward kernels per step are launched again in backward, in the same order and "+
		"on the same grids: %.1f %% of the step",
		number(float64(len(rows))*c.PerStep), number(float64(forward)*c.PerStep), 100*c.shareOfStep(ns)),
		c.kernelRows(rows)...)
}

// recomputed is the kernels launched in backward that repeat a stretch of their step's forward, and how many forward
// has.
func (c *Case) recomputed() (rows []int32, forward int) {
	passes := c.Facts.Passes()
	if !passes.Trains {
		return nil, 0
	}
	for _, l := range c.lanes() {
		byStep := make(map[int][2][]int32) // forward and backward
		for _, r := range c.byLaunch(l) {
			if !c.isKernel(r) || passes.Of[r] != facts.PassForward && passes.Of[r] != facts.PassBackward {
				continue
			}
			step := c.stepAt(c.work().StartNs[r])
			both := byStep[step]
			both[passes.Of[r]-facts.PassForward] = append(both[passes.Of[r]-facts.PassForward], r)
			byStep[step] = both
		}
		for step := range c.Steps.Steady() {
			both := byStep[step]
			forward += len(both[0])
			rows = append(rows, c.repeats(both[0], both[1])...)
		}
	}
	return rows, forward
}

// gram is how many kernels in a row are looked up at once.
const gram = 4

// repeats is the rows of b in stretches of at least minRepeatRun, with matrix work in them, that a also has.
func (c *Case) repeats(a, b []int32) []int32 {
	seen := make(map[[gram]signature]bool)
	for i := 0; i+gram <= len(a); i++ {
		seen[c.gramAt(a, i)] = true
	}
	var out []int32
	for i := 0; i < len(b); {
		end, k := i, i
		for ; k+gram <= len(b) && seen[c.gramAt(b, k)]; k++ {
			end = k + gram
		}
		run := b[i:end]
		if len(run) >= minRepeatRun && c.hasMatrixWork(run) {
			out = append(out, run...)
		}
		i = max(end, i+1)
	}
	return out
}

// A signature is what tells kernels apart: name and size.
type signature struct {
	name        model.StringID
	grid, block int64
}

func (c *Case) gramAt(rows []int32, i int) (g [gram]signature) {
	for k := range g {
		grid, block := c.blocks(rows[i+k])
		g[k] = signature{c.kernelName(rows[i+k]), grid, block}
	}
	return g
}

func (c *Case) hasMatrixWork(rows []int32) bool {
	for _, r := range rows {
		if matrixWork(c.kind(r)) {
			return true
		}
	}
	return false
}
