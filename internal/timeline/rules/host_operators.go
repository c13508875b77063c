package rules

import (
	"fmt"
	"regexp"
	"slices"

	"lacuna/internal/timeline/facts"
)

var hostOperators = Rule{
	ID:    "host_operators",
	Title: "The model runs on the CPU",
	Since: "0.3",
	Doc: `
Of a capture in which nothing is launched on a GPU although calls to it were recorded, or whose operators are those of a
CPU (oneDNN): which kinds of operators take the time. Where the capture has dropout at work and no backward, the model is
in training mode while nothing is trained.`,
	Limits: `
That a GPU was meant is a guess: on a CPU by intent the kinds of operators are what there is to know. How much faster a
GPU would be the capture does not show.`,
	Fix: `
If a GPU was meant, move the model and its inputs there:

    device = "cuda" if torch.cuda.is_available() else "cpu"
    model, batch = model.to(device), batch.to(device)

On the CPU: model.eval() and torch.inference_mode() where nothing is trained, as many threads as cores
(torch.set_num_threads), channels_last for convolutions, torch.compile, bfloat16 where the CPU has it.`,
	FixC:      `Call the GPU's version of the library, or give the CPU's as many threads as there are cores.`,
	Confirm:   `A new capture has kernels.`,
	RefutedBy: `The GPU's part of the program ran outside the time that was recorded.`,
	Standing:  CostsElse,
	Check:     checkHostOperators,
}

// hostKinds is kinds of operators by name, what settles it first.
var hostKinds = []struct {
	what string
	is   *regexp.Regexp
}{
	{"convolution", regexp.MustCompile(`conv(olution|_|\d)`)},
	{"attention", regexp.MustCompile(`attention`)},
	{"matrix products", regexp.MustCompile(`^aten::(addmm|mm|bmm|baddbmm|linear|matmul|addmv|mv|addbmm|_mkl_linear|` +
		`mkldnn_linear|einsum)_?(backward)?$`)},
	{"dropout", regexp.MustCompile(`dropout|bernoulli`)},
	{"normalization", regexp.MustCompile(`(batch|layer|group|instance|rms)_?norm`)},
	{"the optimizer", regexp.MustCompile(`_foreach_|_fused_(adam|sgd)|addcdiv|addcmul`)},
	{"copies and casts", regexp.MustCompile(`^aten::(copy_|_to_copy|to|clone|contiguous|cat|stack|index|index_select|` +
		`index_put_|gather|repeat)$`)},
}

// kindOfOp is the kind of an operator; "" if it is another.
func kindOfOp(name string) string {
	for _, k := range hostKinds {
		if k.is.MatchString(name) {
			return k.what
		}
	}
	return ""
}

func checkHostOperators(c *Case, out *Findings) {
	if !c.hostOnly() || c.Facts.NoWork() != facts.WorkOnHost {
		return
	}
	parts := c.hostParts(func(i int) string {
		if !c.isHostOp(i) || c.unwraps(i) {
			return ""
		}
		name := facts.OpWords(c.hostName(i))
		if kind := kindOfOp(name); kind != "" {
			return kind
		}
		return name
	})
	byKind := make(map[string]int64)
	for _, p := range parts {
		byKind[p.name] += p.ns
	}
	if len(parts) == 0 {
		return
	}
	var rows []string
	for _, p := range parts[:min(6, len(parts))] {
		if c.Share(p.ns) < minIdleShare {
			break
		}
		rows = append(rows, fmt.Sprintf("%s per step (%s): %s", ms(c.hostPerStep(p.ns)), c.shareOfHost(p.ns), p.name))
	}
	main := parts[0]
	f := out.Add(0.9, 0, "The model runs on the CPU, nothing on a GPU: %s takes most, %s of %s per step (%s)",
		main.name, ms(c.hostPerStep(main.ns)), ms(c.StepNs), c.shareOfHost(main.ns))
	if n := c.Trace.Calls.Len(); n > 0 {
		f.Because(fmt.Sprintf("the capture has %s to the GPU's runtime, and none starts work",
			several(float64(n), "call", "calls")))
	}
	f.Because("what the operators do, with all that runs inside them", rows...)
	if random := byKind["dropout"]; !c.hasBackward() && c.Share(random) >= minHostShare && c.drawsRandom() {
		f.Because(fmt.Sprintf("dropout is at work and no backward is in the capture: if this is inference, "+
			"model.eval() saves up to %s", ms(c.hostPerStep(random))))
	}
}

// unwraps says whether an operator is of no kind and hands on to others: what is within it counts. A node of backward
// says nothing of what it does.
func (c *Case) unwraps(i int) bool {
	return kindOfOp(c.hostName(i)) == "" && c.Facts.OpTree().Children[i] > 0
}

// drawsRandom says whether dropout draws numbers: in evaluation mode it does not.
func (c *Case) drawsRandom() bool {
	return slices.ContainsFunc(c.Facts.OpTree().Labels, func(name string) bool {
		return name == "aten::bernoulli_" || name == "aten::native_dropout"
	})
}
