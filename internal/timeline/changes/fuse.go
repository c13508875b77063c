package changes

import (
	"lacuna/internal/timeline/facts"
	"lacuna/internal/timeline/replay"
)

var fuse = Change{
	Name:   "fuse",
	Syntax: "fuse:REGEX|elementwise",
	Title:  "chains of consecutive kernels become one kernel each, as torch.compile or Triton make them",
	Doc: `Kernels that follow one another on a stream, launched by one thread in one step with no wait in between,
become one. elementwise: pointwise kernels over the same number of elements. REGEX: kernels whose name matches. A
fused chain moves each operand once: it takes as long as its longest kernel, whose operands it must move in any
case, and at most the time of one more operand longer. Where the program trains, at most the time of everything that
its kernels write, since backward may need it. The host launches once.`,
	Assumes: "intermediate results are used in the chain only",
	NotWhen: "a kernel works on another tensor: neither format says which tensors a kernel uses",
	Example: "fuse:elementwise",
	Apply:   applyFuse,
}

func applyFuse(e *replay.Edit, arg string) (int, error) {
	re, err := searching("fuse", arg)
	if err != nil {
		return 0, err
	}
	is := named(e, re)
	if arg == "elementwise" {
		is = func(i int32) bool { return isPointwise(kindOf(e, i)) && elementsOf(e, i) > 0 }
	}
	joins := func(a, b int32) bool {
		return calm(e, a, b) && (arg != "elementwise" || elementsOf(e, a) == elementsOf(e, b))
	}
	f := fuser{e: e, ordinary: ordinaryPause(e), trains: trains(e)}
	for _, works := range onLanes(e) {
		from := 0
		for k := 1; k <= len(works); k++ {
			if k < len(works) && is(works[k-1]) && is(works[k]) && joins(works[k-1], works[k]) {
				continue
			}
			if k-from > 1 {
				f.fuse(works[from:k])
			}
			from = k
		}
	}
	if f.chains > 0 {
		e.Assume("%s of %d kernels in the median, each becomes one kernel", one(f.chains, "chain"), f.members/f.chains)
	}
	return matched(f.members)
}

// isPointwise says whether a kernel reads and computes element by element; one that only fills is none.
func isPointwise(k facts.KernelKind) bool {
	return (k.Class == facts.ClassPointwise || k.Class == facts.ClassCast) && k.Operands != 1
}

type fuser struct {
	e               *replay.Edit
	ordinary        func(int32) int64
	trains          bool
	chains, members int
}

// usualOperands is how many tensors a pointwise kernel moves whose name does not say: two in, one out.
const usualOperands = 3

// fuse makes one kernel of a chain: its first, which lasts as long as the longest.
func (f *fuser) fuse(chain []int32) {
	e := f.e
	longest, most, written := int64(0), 0.0, 0.0
	for _, i := range chain {
		operands := float64(kindOf(e, i).Operands)
		if operands < 2 {
			operands = usualOperands
		}
		d := e.Works[i].DurNs
		longest, most = max(longest, d), max(most, operands)
		written += float64(d) / operands
	}
	high := float64(longest) * (most + 1) / most
	if f.trains {
		high = max(high, float64(longest)*(most-1)/most+written)
	}
	e.SetDur(chain[0], longest, longest*19/20, int64(high))
	for k, i := range chain[1:] {
		dropBetween(e, e.Works[chain[k]].Call, e.Works[i].Call, f.ordinary)
		dropLaunch(e, i, f.ordinary)
	}
	f.chains++
	f.members += len(chain)
}
