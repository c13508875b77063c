package rules

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"lacuna/internal/base/interval"
	"lacuna/internal/kernel/kernelname"
	"lacuna/internal/timeline/facts"
	"lacuna/internal/timeline/model"
	"lacuna/internal/timeline/peaks"
)

// minWorkShare is the share of the step from which what the GPU does needlessly is worth a finding. GPU-bound steps
// vary by 1 to 2 % from run to run (corpus, unprofiled windows); less cannot be confirmed by running again.
const minWorkShare = 0.03

// work is all GPU work, at hand: asking the facts for it takes a lock.
func (c *Case) work() *facts.Work {
	if c.memo.work == nil {
		c.memo.work = c.Facts.Work()
	}
	return c.memo.work
}

// kinds is the kinds of all kernels, at hand likewise.
func (c *Case) kinds() []facts.KernelKind {
	if c.memo.kinds == nil {
		c.memo.kinds = c.Facts.KernelKinds()
	}
	return c.memo.kinds
}

// A lane is the work of one stream within the steps looked at, rows of Work in order of start.
type lane []int32

// lanes is the streams that did work within the steps looked at, the first to start first.
func (c *Case) lanes() []lane {
	if c.memo.lanes == nil {
		c.memo.lanes = c.findLanes()
	}
	return c.memo.lanes
}

// minUnmarked is how much work a capture without steps must hold to be judged: a single kernel is no program.
const minUnmarked = 10

func (c *Case) findLanes() []lane {
	if c.Steps.Source == facts.StepsNone && c.work().Len() < minUnmarked {
		return []lane{}
	}
	w, window := c.work(), c.Steps.Window()
	index := make(map[facts.Lane]int)
	out := []lane{}
	for i := range w.Len() {
		if !window.Contains(w.StartNs[i]) {
			continue
		}
		key := facts.Lane{Device: w.Device[i], Stream: w.Stream[i]}
		n, seen := index[key]
		if !seen {
			n = len(out)
			index[key], out = n, append(out, nil)
		}
		out[n] = append(out[n], int32(i))
	}
	return out
}

// perStep is what ns, summed over the window and all devices, is of a mean step of the mean device.
func (c *Case) perStep(ns int64) float64 { return float64(ns) * c.PerStep / c.deviceCount() }

// shareOfStep is the same as a share of the step.
func (c *Case) shareOfStep(ns int64) float64 { return c.perStep(ns) / max(1, c.StepNs) }

// kind is what a row of Work is by its kernel's name; nothing, if it is no kernel that computes.
func (c *Case) kind(row int32) facts.KernelKind {
	w := c.work()
	if w.Kind[row] != facts.WorkKernel {
		return facts.KernelKind{}
	}
	return c.kinds()[w.Row[row]]
}

func (c *Case) isKernel(row int32) bool { return c.work().Kind[row] == facts.WorkKernel }

func (c *Case) durNs(row int32) int64 {
	w := c.work()
	return w.EndNs[row] - w.StartNs[row]
}

func (c *Case) sumNs(rows []int32) int64 {
	var ns int64
	for _, r := range rows {
		ns += c.durNs(r)
	}
	return ns
}

// unionNs is how long any of rows ran; what runs at once on a device counts once.
func (c *Case) unionNs(rows []int32) (ns int64) {
	for _, set := range c.unions(rows) {
		ns += set.TotalNs()
	}
	return ns
}

// unions is when rows ran, by device.
func (c *Case) unions(rows []int32) map[uint32]interval.Set {
	w := c.work()
	spans := make(map[uint32][]interval.Span)
	for _, r := range rows {
		spans[w.Device[r]] = append(spans[w.Device[r]], interval.Span{StartNs: w.StartNs[r], EndNs: w.EndNs[r]})
	}
	out := make(map[uint32]interval.Set, len(spans))
	for device, list := range spans {
		out[device] = interval.Union(list)
	}
	return out
}

// peak is what the devices that did work can do; false: unknown, or not all alike.
func (c *Case) peak() (*peaks.Peak, bool) { return c.Facts.Peak() }

// kernelName is the name of a row of Work that is a kernel.
func (c *Case) kernelName(row int32) model.StringID {
	return c.Trace.Kernels.Name[c.work().Row[row]]
}

// blocks is the grid of a kernel in blocks and the threads of a block; 0, 0: not recorded, or not a kernel.
func (c *Case) blocks(row int32) (grid, block int64) {
	if !c.isKernel(row) && c.work().Kind[row] != facts.WorkComm {
		return 0, 0 // its row is one of another table
	}
	k, i := &c.Trace.Kernels, c.work().Row[row]
	if len(k.GridX) == 0 || len(k.BlockX) == 0 {
		return 0, 0
	}
	return volume(k.GridX[i], k.GridY, k.GridZ, i), volume(k.BlockX[i], k.BlockY, k.BlockZ, i)
}

func volume(x int32, y, z []int32, i uint32) int64 {
	v := int64(x)
	if int(i) < len(y) {
		v *= int64(max(1, y[i]))
	}
	if int(i) < len(z) {
		v *= int64(max(1, z[i]))
	}
	return v
}

// elements is how many elements a pointwise kernel works on, rounded up to unit; 0: not known.
func (c *Case) elements(row int32) (n, unit int64) {
	grid, block := c.blocks(row)
	unit = block * int64(c.kind(row).PerThread)
	return grid * unit, unit
}

// sameSize says whether two pointwise kernels work on as many elements, as far as their grids tell.
func (c *Case) sameSize(a, b int32) bool {
	n, unitN := c.elements(a)
	m, unitM := c.elements(b)
	if n == 0 || m == 0 {
		return false
	}
	return max(n, m)-min(n, m) < max(unitN, unitM)
}

// A crowd is when several kernels run on a device at once.
type crowd struct {
	c        *Case
	byDevice map[uint32]interval.Set
}

// crowded finds when several kernels run at once.
func (c *Case) crowded() crowd {
	w := c.work()
	out := crowd{c, make(map[uint32]interval.Set)}
	endNs, shared := make(map[uint32]int64), make(map[uint32][]interval.Span)
	for i := range w.Len() { // in order of start
		if !w.Kind[i].IsCompute() {
			continue
		}
		d := w.Device[i]
		if end := min(endNs[d], w.EndNs[i]); end > w.StartNs[i] {
			shared[d] = append(shared[d], interval.Span{StartNs: w.StartNs[i], EndNs: end})
		}
		endNs[d] = max(endNs[d], w.EndNs[i])
	}
	for d, spans := range shared {
		out.byDevice[d] = interval.Union(spans)
	}
	return out
}

// of is how long a piece of work shares its device with a kernel of another stream.
func (x crowd) of(row int32) int64 {
	w := x.c.work()
	return x.byDevice[w.Device[row]].Clip(interval.Span{StartNs: w.StartNs[row], EndNs: w.EndNs[row]}).TotalNs()
}

// sameStep says whether two pieces of work start in one step.
func (c *Case) sameStep(a, b int32) bool {
	w := c.work()
	return c.stepAt(w.StartNs[a]) == c.stepAt(w.StartNs[b])
}

// A kernelGroup is the kernels of one name among others.
type kernelGroup struct {
	name model.StringID
	rows []int32
	ns   int64
}

// byKernel groups rows by the name of the kernel, most time first.
func (c *Case) byKernel(rows []int32) []kernelGroup {
	index := make(map[model.StringID]int)
	var out []kernelGroup
	for _, r := range rows {
		id := c.kernelName(r)
		n, seen := index[id]
		if !seen {
			n = len(out)
			index[id], out = n, append(out, kernelGroup{name: id})
		}
		out[n].rows = append(out[n].rows, r)
		out[n].ns += c.durNs(r)
	}
	slices.SortStableFunc(out, func(a, b kernelGroup) int {
		return cmp.Or(cmp.Compare(b.ns, a.ns), cmp.Compare(c.Trace.Strings.Text(a.name), c.Trace.Strings.Text(b.name)))
	})
	return out
}

// maxRows is how many rows of evidence a finding names.
const maxRows = 5

// kernelRows names the kernels that take most of rows: "12 a step, 1.029 ms a step: gemm, from aten::mm".
func (c *Case) kernelRows(rows []int32) []string {
	var out []string
	for _, g := range c.byKernel(rows) {
		if len(out) == maxRows {
			break
		}
		text := fmt.Sprintf("%s per step, %s per step: %s", number(float64(len(g.rows))*c.PerStep),
			ms(c.perStep(g.ns)), shortKernel(c.Trace.Strings.Text(g.name)))
		if owner := c.ownerOf(g.rows[0]); owner != "" {
			text += ", from " + owner
		}
		out = append(out, text)
	}
	return out
}

// ownerOf is the operator, else the range, that a piece of work came from, or "".
func (c *Case) ownerOf(row int32) string {
	return c.Trace.Strings.Text(c.Facts.WorkOwners()[row])
}

// startText is when a piece of work starts, for people.
func (c *Case) startText(row int32) string {
	return ms(float64(c.work().StartNs[row] - c.Steps.Window().StartNs))
}

// maxShort is how long a kernel's name may be among evidence.
const maxShort = 80

// shortKernel is a kernel's name for people: without what it returns, namespaces of PyTorch and arguments, cut to
// maxShort.
func shortKernel(name string) string {
	name = strings.TrimPrefix(kernelname.Demangled(name), "void ")
	name = strings.NewReplacer("at::native::", "", "binary_internal::", "", "std::", "", "detail::", "",
		"(anonymous namespace)::", "", "<unnamed>::", "", "c10::", "", "(int)", "", "(bool)", "").Replace(name)
	depth := 0
	for i, r := range name { // arguments begin outside of the template's brackets
		switch r {
		case '<':
			depth++
		case '>':
			depth--
		case '(':
			if depth == 0 && i > 0 {
				return cut(name[:i])
			}
		}
	}
	return cut(name)
}

func cut(name string) string {
	if r := []rune(name); len(r) > maxShort {
		return string(r[:maxShort-1]) + "…"
	}
	return name
}
