package rules

import (
	"fmt"
	"slices"

	"lacuna/internal/timeline/facts"
)

var dtypeCastChurn = Rule{
	ID:    "dtype_cast_churn",
	Title: "Dtype cast churn: tensors are cast to another dtype and back",
	Since: "0.1",
	Needs: []Need{needWork, needGrids},
	Doc: `
Two signs separate useless casts from those that mixed precision needs. Round trips: a kernel that widens a tensor
and one that narrows as many elements follow each other with only casts in between, so nothing was computed in the
wider type. Repeats: the program does not train, so its weights are the same in every step, yet it narrows at least
3 tensors in every step; they could be kept in that type. Casts around work in the wider type do not count, nor do
casts within attention, which fusion removes (unfused_attention).

In training autocast must narrow weights that the optimizer keeps in FP32, and widen their gradients, once for each
update. Only round trips count there, and casts of weights that several forward passes of one update make again, as
loops do that accumulate gradients: autocast forgets what it cast when its context is left. Casts
are of weights, not of activations, by recorded shapes (that of a linear layer's or convolution's weight), or by the
sizes of the gradients that backward adds from the second pass on. Threshold: 3 % of the step.`,
	Limits: `
Captures do not say whether two kernels work on the same tensor: the rule assumes it for adjacent kernels with equal
numbers of elements. Casts fused into other kernels (compiled models) are not seen. Input that arrives in FP32 is
narrowed once per step in any program; that alone stays under the threshold.`,
	Fix: `
Cast once, outside the loop, and stay in that type:

    model = model.half()                       # inference: weights are kept in FP16
    with torch.autocast("cuda", torch.bfloat16):
        out = model(x)                         # training: no .float() and .half() between layers`,
	FixC: `
Keep weights and activations in the type that the kernels compute in; convert where data enters and leaves.`,
	Confirm: `
The kernels named float16_copy, bfloat16_copy and direct_copy with a cast are gone from the step, or run once in it.`,
	RefutedBy: `Results get worse without the casts: an operator between them needs the wider type.`,
	Check:     checkDtypeCastChurn,
}

// minRecasts is how many tensors a step narrows that does not train, before the casts count as churn.
const minRecasts = 3

func checkDtypeCastChurn(c *Case, out *Findings) {
	trips := c.roundTrips()
	again := c.recasts()
	rows, why := trips, "tensors are widened and narrowed again with nothing computed in between"
	if c.unionNs(again) > c.unionNs(trips) {
		rows, why = again, "every step repeats these casts, although the program does not train and its weights do "+
			"not change"
	}
	passes := c.Facts.PassCasts()
	weights := c.inSteps(passes.Again)
	if c.unionNs(weights) > c.unionNs(rows) {
		c.weightsAgain(out, passes, weights)
		return
	}
	ns := c.unionNs(rows)
	if c.shareOfStep(ns) < minWorkShare {
		if open := c.inSteps(passes.Open); len(weights) == 0 && c.shareOfStep(c.unionNs(open)) >= minWorkShare {
			out.Cannot(fmt.Sprintf("the forward passes of one update repeat %s per step, %s of %s: of weights, which need "+
				"one cast per update, or of activations, which need each",
				several(float64(len(open))*c.PerStep, "cast", "casts"), ms(c.perStep(c.unionNs(open))), ms(c.StepNs)),
				needShapes.Name, needShapes.Try)
		}
		return
	}
	f := out.Add(0.85, c.perStep(ns), "Casts between dtypes: %s per step take %s of %s",
		several(float64(len(rows))*c.PerStep, "cast", "casts"), ms(c.perStep(ns)), ms(c.StepNs))
	f.Because(fmt.Sprintf("%s: %.1f %% of the step", why, 100*c.shareOfStep(ns)), c.kernelRows(rows)...)
	f.Repair("drop-casts")
}

// weightsAgain tells of casts of weights that several forward passes of one update make again.
func (c *Case) weightsAgain(out *Findings, passes *facts.PassCasts, rows []int32) {
	ns := c.unionNs(rows)
	if c.shareOfStep(ns) < minWorkShare {
		return
	}
	f := out.Add(0.85, c.perStep(ns), "Weights are cast again in each of %d forward passes per update: %s per step take %s "+
		"of %s", passes.Passes, several(float64(len(rows))*c.PerStep, "cast", "casts"), ms(c.perStep(ns)), ms(c.StepNs))
	f.Because(fmt.Sprintf("weights change only with an update, so that one cast of each would serve all its passes; the "+
		"others take %.1f %% of the step", 100*c.shareOfStep(ns)), c.kernelRows(rows)...)
	f.Because("they are weights: " + passes.How)
	f.Repair("drop-casts")
	f.Fix = castOnce
}

// castOnce is the fix of casts that passes of one update repeat.
const castOnce = `
Cast the weights once per update, not once per batch. Keep them in 16 bits, and let the optimizer update an FP32 copy
of them; or run fewer and larger batches per update. Where autocast casts them, it keeps them for as long as its
outermost context is open, so that one around all batches of an update casts once (check that the loss stays the same):

    with torch.autocast("cuda", torch.bfloat16):
        for batch in batches_of_this_update:
            loss = model(batch) / accumulate
            with torch.autocast("cuda", enabled=False):
                loss.backward()
    optimizer.step()`

// inSteps is those of rows that lie within the steps looked at.
func (c *Case) inSteps(rows []int32) []int32 {
	window, w := c.Steps.Window(), c.work()
	var out []int32
	for _, r := range rows {
		if window.Contains(w.StartNs[r]) {
			out = append(out, r)
		}
	}
	return out
}

// roundTrips is the casts that widen a tensor and those that narrow as many elements behind them, with only casts in
// between.
func (c *Case) roundTrips() []int32 {
	var out []int32
	for _, rows := range c.lanes() {
		var open []int32 // casts since the last other work that had no counterpart yet
		for _, r := range rows {
			k := c.kind(r)
			if k.Class != facts.ClassCast || k.To == 0 {
				open = open[:0]
				continue
			}
			back := -1
			for i, o := range open {
				if c.kind(o).To > k.To && c.sameSize(o, r) {
					back = i
				}
			}
			if back < 0 {
				open = append(open, r)
				continue
			}
			out = append(out, open[back], r)
			open = append(open[:back], open[back+1:]...)
		}
	}
	return out
}

// recasts is the casts of a program that does not train and yet narrows several tensors in every step. What was
// widened for some work and is narrowed behind it was needed in the wider type.
func (c *Case) recasts() []int32 {
	if c.Facts.Passes().Trains || c.updates() || len(c.Steps.Steady()) < 2 { // one step has nothing to be compared with
		return nil
	}
	skip := make(map[int32]bool)
	for _, region := range c.attentions() { // fused attention needs none of its casts
		for _, r := range region {
			skip[r] = true
		}
	}
	out := c.roundTrips()
	for _, r := range out {
		skip[r] = true
	}
	narrowed := make(map[int]int) // by step
	for _, rows := range c.lanes() {
		var wide []int32 // since the last product
		for _, r := range rows {
			k := c.kind(r)
			switch {
			case matrixWork(k):
				wide = wide[:0]
			case k.Class != facts.ClassCast || k.To == 0 || skip[r]:
			case k.To >= 4:
				wide = append(wide, r)
			case !slices.ContainsFunc(wide, func(o int32) bool { return c.sameSize(o, r) }):
				out = append(out, r)
				narrowed[c.stepAt(c.work().StartNs[r])]++
			}
		}
	}
	for i := range c.Steps.Steady() {
		if narrowed[i] < minRecasts {
			return nil
		}
	}
	return out
}

// updates says whether kernels update weights: those of fused optimizers and of lists of tensors.
func (c *Case) updates() bool {
	for _, rows := range c.lanes() {
		for _, r := range rows {
			if c.kind(r).Class == facts.ClassForeach {
				return true
			}
		}
	}
	return false
}
