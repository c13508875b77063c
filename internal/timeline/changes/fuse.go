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
become one. elementwise: pointwise kernels over the same number of elements, and the reductions between them, as in a
norm, softmax or loss that is written out. REGEX: kernels whose name matches. A fused chain moves each operand once:
as many as its kernel that moves most, at the pace of its fastest kernel, and at most one more, or two with
reductions. Where the program trains, at most the time of everything that its kernels write, since backward may need
it. The host launches once.`,
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
	f := fuser{e: e, ordinary: ordinaryPause(e), trains: trains(e)}
	is := named(e, re)
	for _, works := range onLanes(e) {
		for _, chain := range f.chains(works, arg == "elementwise", is) {
			f.fuse(works, chain)
		}
	}
	if f.fused > 0 {
		e.Assume("%s of %d kernels in the median, each becomes one kernel", one(f.fused, "chain"), f.members/f.fused)
	}
	return matched(f.members)
}

type fuser struct {
	e              *replay.Edit
	ordinary       func(int32) int64
	trains         bool
	fused, members int
}

// chains is the chains among the work of a stream: pointwise ones, or those whose kernels' names are asked for.
func (f *fuser) chains(works []int32, pointwise bool, is func(int32) bool) []facts.Chain {
	e := f.e
	links := make([]facts.ChainLink, len(works))
	for k, i := range works {
		l := &links[k]
		*l = facts.ChainLink{Kind: kindOf(e, i), DurNs: e.Works[i].DurNs, Bars: e.Works[i].Kind != facts.WorkKernel}
		if pointwise {
			l.Elements, l.Block = int64(elementsOf(e, i)), int64(elementsPerBlock(e, i))
		} else { // whatever matches is taken for pointwise work on the same elements
			l.Bars, l.Elements, l.Kind = !is(i), 1, facts.KernelKind{Class: facts.ClassPointwise}
		}
	}
	return facts.Chains(links, func(a, b int) bool { return calm(e, works[a], works[b]) })
}

// fuse makes one kernel of a chain: its first.
func (f *fuser) fuse(works []int32, c facts.Chain) {
	e := f.e
	high := c.HighNs
	if f.trains {
		high = max(high, c.FusedNs*2/3+c.WrittenNs)
	}
	first := works[c.Links[0]]
	e.SetDur(first, c.FusedNs, c.LowNs, high)
	for k, at := range c.Links[1:] {
		i := works[at]
		dropBetween(e, e.Works[works[c.Links[k]]].Call, e.Works[i].Call, f.ordinary)
		dropLaunch(e, i, f.ordinary)
	}
	f.fused++
	f.members += len(c.Links)
}

// isPointwise says whether a kernel reads and computes element by element; one that only fills is none.
func isPointwise(k facts.KernelKind) bool {
	return (k.Class == facts.ClassPointwise || k.Class == facts.ClassCast) && k.Operands != 1
}
