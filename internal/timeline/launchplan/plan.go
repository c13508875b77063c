// Package launchplan chooses the launches of a timeline that are worth a kernel report, and the runs of ncu that make
// it.
package launchplan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"lacuna/internal/kernel/kernelname"
	"lacuna/internal/timeline/facts"
	"lacuna/internal/timeline/model"
)

// maxReplayed is how many launches one run of ncu may profile: with --set full each is replayed about 40 times.
const maxReplayed = 20

// A Wish is which kernels of a timeline are to be profiled.
type Wish struct {
	Top   int      // so many of them
	First []string // functions to take before those that only cost more, in this order: what findings name
	// Keep says of a kernel's name whether it is wanted at all; nil: all are.
	Keep func(name string) bool
}

// A Pick is a kernel of the timeline that is to be profiled, and the launch chosen for it.
type Pick struct {
	Name        string // as the timeline has it
	Match       string // as ncu's filter has it: its mangled name, or its function's
	MsPerStep   float64
	ShareOfStep float64
	Grid, Block [3]int32 // of the launch; zero: the timeline does not say
	Named       bool     // a finding names it
	row         int      // of Kernels
	at          int      // position of the launch among those of the process
}

// A Plan is the runs of ncu that profile the picks, and what was assumed for them.
type Plan struct {
	Picks   []Pick
	Runs    []PlannedRun
	Base    string   // --kernel-name-base: mangled where the timeline has mangled names, else function
	Assumes []string // sentences
	Left    []string // kernels that cost as much but cannot be profiled, with the reason
}

// A PlannedRun is one run of ncu: all launches of some functions from one position on.
type PlannedRun struct {
	Name  string // regular expression
	Picks []int
	Skip  int
	Count int
	Range string // the NVTX range of a step that they lie in; "": counted from the first launch of the timeline
	// Threads says that such kernels are launched by other threads too than the one that opens Range.
	Threads bool
}

// A NothingError says that a timeline has no kernel that can be profiled.
type NothingError struct{ Why string }

func (e *NothingError) Error() string { return e.Why }

// Choose plans how to profile the kernels of a timeline that cost most in its steady steps.
//
//  1. Kernels are summed by name over the steady steps. Communication is left out: ncu replays one kernel alone, and
//     such a kernel waits for its peers for ever.
//  2. Of each, the launch is the first of the size (grid and block) that takes most, in a steady step.
//  3. Where the steps are NVTX ranges with names of their own, ncu looks only inside the range of that step: it then
//     does not matter when the timeline began. Else launches are counted from the timeline's first.
//  4. One run of ncu has one filter, one skip and one count, so it profiles every match from the first launch wanted to
//     the last. Picks share a run while that is at most maxReplayed launches; the others get runs of their own.
func Choose(f *facts.Facts, w Wish) (*Plan, error) {
	steps, err := f.Steps()
	if err != nil {
		return nil, err
	}
	c := &chooser{f: f, t: f.Trace, steps: steps, process: busiestProcess(f, steps)}
	p := &Plan{Base: "function"}
	if c.t.Kernels.Mangled != nil {
		p.Base = "mangled"
	}
	if !c.amd() {
		c.count(w, p)
	}
	if len(p.Picks) == 0 {
		return nil, &NothingError{c.nothing(w)}
	}
	if p.Base == "mangled" && slices.ContainsFunc(p.Picks, func(k Pick) bool { return k.Match == "" }) {
		p.Base = "function"
	}
	if p.Base == "function" {
		for i := range p.Picks {
			p.Picks[i].Match = kernelname.Of(p.Picks[i].Name).Base
		}
	}
	c.order(p.Base)
	marker, where := c.marker()
	for i := range p.Picks {
		c.launch(&p.Picks[i], where)
	}
	c.runs(p, marker, where)
	c.assume(p, marker)
	return p, nil
}

// A chooser has what Choose works on.
type chooser struct {
	f       *facts.Facts
	t       *model.Trace
	steps   *facts.Steps
	process model.ProcessRow
	others  bool            // other processes launch kernels too
	thread  model.ThreadRow // which opens the marker; NoThread: not known

	launched []int    // rows of Kernels of the process in the order of their launches
	filter   []string // of each: what ncu's filter compares
}

// busiestProcess is the process whose kernels take most of the steady steps.
func busiestProcess(f *facts.Facts, steps *facts.Steps) model.ProcessRow {
	k, window := &f.Trace.Kernels, steps.Window()
	sum := make(map[model.ProcessRow]int64)
	for i := range k.Len() {
		sum[processOf(k, i)] += k.Span(i).Clip(window).LenNs()
	}
	best := model.NoProcess
	for p, ns := range sum {
		if best == model.NoProcess || ns > sum[best] || ns == sum[best] && p < best {
			best = p
		}
	}
	return best
}

func processOf(k *model.Kernels, i int) model.ProcessRow {
	if i < len(k.Process) {
		return k.Process[i]
	}
	return model.NoProcess
}

// A cost is a kernel name with its time.
type cost struct {
	name  string
	ns    int64
	comm  bool
	sizes map[[2][3]int32]int64
}

// count sums the kernels of the steady steps and makes the picks, without their launches.
func (c *chooser) count(w Wish, p *Plan) {
	k, window, comm := &c.t.Kernels, c.steps.Window(), c.f.CommKernels()
	at := make(map[model.StringID]*cost)
	var all []*cost
	for i := range k.Len() {
		if processOf(k, i) != c.process {
			c.others = true
			continue
		}
		ns := k.Span(i).Clip(window).LenNs()
		if ns <= 0 {
			continue
		}
		x := at[k.Name[i]]
		if x == nil {
			x = &cost{name: c.t.Strings.Text(k.Name[i]), comm: comm[i], sizes: make(map[[2][3]int32]int64)}
			at[k.Name[i]], all = x, append(all, x)
		}
		x.ns += ns
		x.sizes[sizeOf(k, i)] += ns
	}
	slices.SortStableFunc(all, func(a, b *cost) int {
		return cmp.Or(cmp.Compare(rank(w.First, a), rank(w.First, b)), cmp.Compare(b.ns, a.ns),
			cmp.Compare(a.name, b.name))
	})
	perStep := 1 / 1e6 / float64(max(1, len(c.steps.Steady())))
	for _, x := range all {
		switch {
		case w.Keep != nil && !w.Keep(x.name) || len(p.Picks) == w.Top:
		case x.comm:
			p.Left = append(p.Left, fmt.Sprintf("%s: it communicates; ncu replays a kernel alone, and it would "+
				"wait for its peers forever", x.name))
		default:
			grid := mostCostly(x.sizes)
			p.Picks = append(p.Picks, Pick{Name: x.name, MsPerStep: float64(x.ns) * perStep,
				ShareOfStep: float64(x.ns) / float64(max(1, window.LenNs())),
				Grid:        grid[0], Block: grid[1], Named: rank(w.First, x) < len(w.First), row: -1})
		}
	}
	for i := range p.Picks {
		p.Picks[i].Match = c.mangledOf(p.Picks[i].Name)
	}
}

// rank is where a kernel stands among functions that are to come first; their number if it is not among them.
func rank(first []string, x *cost) int {
	if i := slices.IndexFunc(first, func(name string) bool {
		return name == x.name ||
			name == kernelname.Of(x.name).Base
	}); i >= 0 {
		return i
	}
	return len(first)
}

// mostCostly is the size that takes most; of equals the smaller, so that the order of a map is not seen.
func mostCostly(sizes map[[2][3]int32]int64) (best [2][3]int32) {
	most := int64(-1)
	for s, ns := range sizes {
		if ns > most || ns == most && slices.Compare(flat(s), flat(best)) < 0 {
			best, most = s, ns
		}
	}
	return best
}

func flat(s [2][3]int32) []int32 { return append(s[0][:], s[1][:]...) }

// sizeOf is the grid and block of a launch; zero where the capture has none.
func sizeOf(k *model.Kernels, i int) [2][3]int32 {
	if i >= min(len(k.GridX), len(k.GridY), len(k.GridZ), len(k.BlockX), len(k.BlockY), len(k.BlockZ)) {
		return [2][3]int32{}
	}
	return [2][3]int32{{k.GridX[i], k.GridY[i], k.GridZ[i]}, {k.BlockX[i], k.BlockY[i], k.BlockZ[i]}}
}

// mangledOf is the mangled name of a kernel; "": not known.
func (c *chooser) mangledOf(name string) string {
	k := &c.t.Kernels
	for i := range min(k.Len(), len(k.Mangled)) {
		if processOf(k, i) == c.process && k.Mangled[i] != 0 && c.t.Strings.Text(k.Name[i]) == name {
			return c.t.Strings.Text(k.Mangled[i])
		}
	}
	return ""
}

// amd says whether the calls that launch are those of HIP.
func (c *chooser) amd() bool {
	for _, call := range c.f.Launches().Kernels {
		if call != facts.NoCall {
			return strings.HasPrefix(c.t.Strings.Text(c.t.Calls.Name[call]), "hip")
		}
	}
	return slices.ContainsFunc(c.t.Devices, func(d model.Device) bool { return strings.HasPrefix(d.Name, "AMD ") })
}

// nothing says why there is no pick.
func (c *chooser) nothing(w Wish) string {
	switch {
	case c.amd():
		return "it is of an AMD GPU, and ncu profiles NVIDIA's only; use rocprof-compute"
	case c.t.Kernels.Len() == 0 && c.t.GraphRuns.Len() > 0:
		return "its CUDA graphs were recorded at graph level, so that no kernel is known; record again with " +
			"--cuda-graph node"
	case c.t.Kernels.Len() == 0:
		return "it has no kernels"
	case w.Keep != nil:
		return "no kernel in its steps has such a name"
	}
	return "the kernels of its steps only communicate, which ncu cannot profile"
}

// short is how a kernel is told of in a sentence: without return type and parameters.
func short(name string) string { return kernelname.Of(name).Whole }
