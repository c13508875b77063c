package facts

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"lacuna/internal/base/interval"
	"lacuna/internal/timeline/model"
)

// Pass is which part of a training step a piece of GPU work belongs to.
type Pass uint8

// The passes.
const (
	PassUnknown Pass = iota
	PassForward
	PassBackward
	PassUpdate // of the weights, and what else follows backward in a step
)

// Passes is the pass of each row of Work, by who launched it when.
type Passes struct {
	Of     []Pass
	Trains bool // some of it is backward; without that, nothing is told of work outside of named ranges
}

// Words of ranges that name a pass. A range that names two of them, such as forward_backward, names none.
var passWords = [...]*regexp.Regexp{
	PassForward:  regexp.MustCompile(`(?i)(^|[^a-z])(forward|fwd)`),
	PassBackward: regexp.MustCompile(`(?i)(^|[^a-z])(backward|bwd|backprop)`),
	PassUpdate:   regexp.MustCompile(`(?i)(^|[^a-z])(optim|opt[_. ]?step|apply_grad|weight_?update)`),
}

// autogradThread begins the names of the threads on which PyTorch runs backward.
const autogradThread = "pt_autograd"

// autogradOp is the names of the operators with which PyTorch's engine runs a node of backward; until 1.8 they were
// those of the nodes.
var autogradOp = regexp.MustCompile(`^autograd::engine::evaluate_function|^(torch::autograd::)?(\w+Backward\d*|AccumulateGrad)$`)

// nodeOfBackward is what PyTorch calls the operator that runs one node of backward, and the node itself.
var nodeOfBackward = regexp.MustCompile(`^(?:autograd::engine::evaluate_function: )?(?:torch::autograd::)?(\w+?)Backward\d*$`)

// OpWords is an operator's name for a sentence: "backward of Addmm" for "autograd::engine::evaluate_function:
// AddmmBackward0", others as they are.
func OpWords(name string) string {
	if m := nodeOfBackward.FindStringSubmatch(name); m != nil {
		return "backward of " + m[1]
	}
	return strings.TrimPrefix(name, "autograd::engine::evaluate_function: torch::autograd::")
}

// zeroGrad is ranges of the optimizer that come before backward as often as behind it: they tell nothing.
var zeroGrad = regexp.MustCompile(`(?i)zero_?grad`)

// passOfName is the pass that a range's name tells.
func passOfName(name string) Pass {
	found := PassUnknown
	if zeroGrad.MatchString(name) {
		return found
	}
	for p := PassForward; p <= PassUpdate; p++ {
		if !passWords[p].MatchString(name) {
			continue
		}
		if found != PassUnknown {
			return PassUnknown
		}
		found = p
	}
	return found
}

// Passes tells forward, backward and the update of the weights apart.
//
//  1. What autograd's threads launch, or operators of its engine, is backward. Ranges that name a pass
//     decide for what is launched in them, by any thread of the process: an update within backward is an
//     update, a forward within backward is recomputation, so backward.
//  2. The rest lies between two stretches of backward. Up to a step marker, or the last work known to be an
//     update, or the last kernel that hardly anything but optimizers use, it is update; behind that, forward.
func (f *Facts) Passes() *Passes {
	return f.kept.passes.of(f, func(f *Facts) *Passes {
		t, w := f.Trace, f.Work()
		p := &Passes{Of: make([]Pass, w.Len())}
		ranges, engine := f.passRanges(), f.engineSpans()
		for i, call := range w.Call {
			if call == NoCall {
				continue
			}
			th, ns := t.Calls.Thread[call], t.Calls.StartNs[call]
			switch {
			case int(th) < len(t.Threads) && strings.Contains(t.Threads[th].Name, autogradThread),
				inSet(engine[th], ns):
				p.Of[i] = PassBackward
			default:
				sets := ranges[f.ProcessOf(th)]
				for q := PassUpdate; q > PassUnknown && p.Of[i] == PassUnknown; q-- {
					if inSet(sets[q], ns) {
						p.Of[i] = q
					}
				}
			}
			p.Trains = p.Trains || p.Of[i] == PassBackward
		}
		if p.Trains {
			f.fillPasses(p)
		}
		return p
	})
}

// passRanges is when a range that names a pass was open, by process.
func (f *Facts) passRanges() map[model.ProcessRow][PassUpdate + 1]interval.Set {
	t := f.Trace
	pass := judge(&t.Strings, passOfName)
	spans := make(map[model.ProcessRow][PassUpdate + 1][]interval.Span)
	for i, id := range t.Ranges.Name {
		if q := pass(id); q != PassUnknown && t.Ranges.DurNs[i] > 0 {
			process := f.ProcessOf(t.Ranges.Thread[i])
			of := spans[process]
			of[q] = append(of[q], interval.Span{StartNs: t.Ranges.StartNs[i], EndNs: t.Ranges.EndNs(i)})
			spans[process] = of
		}
	}
	out := make(map[model.ProcessRow][PassUpdate + 1]interval.Set)
	for process, of := range spans {
		var sets [PassUpdate + 1]interval.Set
		for q := range of {
			sets[q] = interval.UnionSorted(of[q])
		}
		out[process] = sets
	}
	return out
}

// engineSpans is when operators of autograd's engine ran on each thread.
func (f *Facts) engineSpans() map[model.ThreadRow]interval.Set {
	t := f.Trace
	is := judge(&t.Strings, autogradOp.MatchString)
	spans := make(map[model.ThreadRow][]interval.Span)
	add := func(th model.ThreadRow, startNs, endNs int64) {
		spans[th] = append(spans[th], interval.Span{StartNs: startNs, EndNs: endNs})
	}
	for i, id := range t.Ops.Name {
		if is(id) {
			add(t.Ops.Thread[i], t.Ops.StartNs[i], t.Ops.EndNs(i))
		}
	}
	for i, id := range t.Ranges.Name { // of emit_nvtx
		if is(id) && t.Ranges.DurNs[i] > 0 {
			add(t.Ranges.Thread[i], t.Ranges.StartNs[i], t.Ranges.EndNs(i))
		}
	}
	out := make(map[model.ThreadRow]interval.Set)
	for th, s := range spans {
		out[th] = interval.Union(s)
	}
	return out
}

func inSet(set interval.Set, ns int64) bool {
	i := firstEndingAfter(set, ns)
	return i < len(set) && set[i].StartNs <= ns
}

// fillPasses is step 2 of Passes, for each process.
func (f *Facts) fillPasses(p *Passes) {
	t, w := f.Trace, f.Work()
	byProcess := make(map[model.ProcessRow][]int32) // rows with a call, by time of the call
	for i, call := range w.Call {
		if call != NoCall {
			process := f.ProcessOf(t.Calls.Thread[call])
			byProcess[process] = append(byProcess[process], int32(i))
		}
	}
	var edges []int64
	if steps, err := f.Steps(); err == nil {
		for _, h := range steps.Host {
			edges = append(edges, h.StartNs, h.EndNs)
		}
	}
	slices.Sort(edges)
	kinds := f.KernelKinds()
	for _, rows := range byProcess {
		slices.SortStableFunc(rows, func(a, b int32) int {
			return cmp.Compare(t.Calls.StartNs[w.Call[a]], t.Calls.StartNs[w.Call[b]])
		})
		for from := 0; from < len(rows); {
			if p.Of[rows[from]] == PassBackward {
				from++
				continue
			}
			to := from
			for to < len(rows) && p.Of[rows[to]] != PassBackward {
				to++
			}
			f.fillBetween(p, rows[from:to], from > 0, edges, kinds)
			from = to
		}
	}
}

// fillBetween tells the passes of the rows between two stretches of backward.
func (f *Facts) fillBetween(p *Passes, rows []int32, afterBackward bool, edges []int64, kinds []KernelKind) {
	t, w := f.Trace, f.Work()
	update := 0 // rows[:update] belong to it
	if afterBackward {
		first := t.Calls.StartNs[w.Call[rows[0]]]
		edge, _ := slices.BinarySearch(edges, first)
		for i, r := range rows {
			if p.Of[r] == PassUpdate || w.Kind[r] == WorkKernel && f.updates(int(w.Row[r]), kinds) {
				update = i + 1
			}
		}
		if edge < len(edges) && edges[edge] <= t.Calls.StartNs[w.Call[rows[len(rows)-1]]] {
			update, _ = slices.BinarySearchFunc(rows, edges[edge], func(r int32, ns int64) int {
				return cmp.Compare(t.Calls.StartNs[w.Call[r]], ns)
			})
		} else if edge == len(edges) && len(edges) > 0 {
			update = len(rows) // behind the last marker nothing new begins
		}
	}
	for i, r := range rows {
		if p.Of[r] != PassUnknown {
			continue
		}
		if p.Of[r] = PassForward; i < update {
			p.Of[r] = PassUpdate
		}
	}
}

// updates says whether a kernel is one that hardly anything but optimizers use: on lists of tensors, or an operator
// of Adam's formula.
func (f *Facts) updates(row int, kinds []KernelKind) bool {
	switch kinds[row].Class {
	case ClassForeach:
		return true
	case ClassPointwise:
		return containsAny(strings.ToLower(f.Trace.Strings.Text(f.Trace.Kernels.Name[row])), "addcdiv", "addcmul",
			"lerp")
	}
	return false
}

// NamesUpdate says whether a range's name is that of the update of the weights: Optimizer.step#AdamW.step.
func NamesUpdate(name string) bool { return passOfName(name) == PassUpdate }

// IsAutograd says whether an operator's name is that of PyTorch's engine running a node of backward.
func IsAutograd(name string) bool { return autogradOp.MatchString(name) }
