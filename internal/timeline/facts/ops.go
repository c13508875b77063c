package facts

import (
	"strings"

	"lacuna/internal/base/interval"
	"lacuna/internal/timeline/model"
)

// HostKind is which table a host event is a row of.
type HostKind uint8

// The kinds of host events that nest.
const (
	HostRange HostKind = iota
	HostOp
	HostCall
)

// An OpTree is operators, annotations and calls nested as PyTorch's profiler nests them for
// key_averages(): on each thread by time, whatever they are. Ordered by start, then longest first, so
// that a parent stands before its children.
type OpTree struct {
	Kind     []HostKind
	Row      []uint32 // in Ranges, Ops or Calls
	Label    []uint32 // index of Labels
	Parent   []int32  // or NotNested
	Children []int32  // number of direct ones

	// Inclusive values: what an event has without its children is its value less theirs.
	DurNs    []int64
	DeviceNs []int64 // durations of the GPU work launched in it, pieces that overlap in full
	// taken less released by the framework's allocator meanwhile, on any thread, as PyTorch counts; nil: not recorded
	HostBytes   []int64
	DeviceBytes []int64 // the same of device memory

	Outside OutsideMemory

	// Labels is names as key_averages() has them: the steps of the profiler are one, ProfilerStep*, and
	// operators that came as NVTX ranges are without sequence numbers and shapes.
	Labels []string
}

// OutsideMemory is allocations and releases that no host event contains.
type OutsideMemory struct{ Count, HostBytes, DeviceBytes int64 }

// Len is the number of events.
func (o *OpTree) Len() int { return len(o.Row) }

// Merged says whether event i is the only child of an event of its name. key_averages() takes such
// a pair for one event: an operator that does nothing but dispatch to another version of itself.
func (o *OpTree) Merged(i int) bool {
	p := o.Parent[i]
	return p != NotNested && o.Children[p] == 1 && o.Label[p] == o.Label[i]
}

// HasOps says whether the capture shows a framework at work: its operators, its annotations (all that is
// left of a loop that replays CUDA graphs), or the NVTX ranges of torch.autograd.profiler.emit_nvtx.
func (f *Facts) HasOps() bool {
	t := f.Trace
	if t.Ops.Len() > 0 {
		return true
	}
	isOp := judge(&t.Strings, func(name string) bool { return emittedName(name) != name })
	for i, id := range t.Ranges.Name {
		if k := t.Ranges.Kind[i]; k == model.RangeAnnotation || k == model.RangeProfiler || isOp(id) {
			return true
		}
	}
	return false
}

// emittedName is the operator's name of an NVTX range that emit_nvtx made: "aten::mm, seq = 12, op_id = 7, sizes =
// [[2, 3]]".
func emittedName(name string) string {
	for _, mark := range []string{", seq = ", ", op_id = ", ", sizes = "} {
		if i := strings.Index(name, mark); i > 0 {
			name = name[:i]
		}
	}
	return name
}

// emittedShapes is the shapes in the name of a range that emit_nvtx made, or "".
func emittedShapes(name string) string {
	_, sizes, found := strings.Cut(name, ", sizes = ")
	if !found {
		return ""
	}
	sizes, _, _ = strings.Cut(sizes, ", input_op_ids = ")
	return sizes
}

// OpTree nests the host's events and books GPU work and memory on them.
func (f *Facts) OpTree() *OpTree {
	return f.kept.opTree.of(f, func(f *Facts) *OpTree {
		t, o := f.Trace, &OpTree{}
		startNs := o.merge(t)
		o.label(t)
		o.Parent, _ = Nest(startNs, o.DurNs, o.threads(t))
		o.Children = make([]int32, o.Len())
		for _, p := range o.Parent {
			if p != NotNested {
				o.Children[p]++
			}
		}
		o.bookDevice(f)
		o.bookMemory(t, startNs)
		return o
	})
}

// merge lists the events in order and returns their starts.
func (o *OpTree) merge(t *model.Trace) (startNs []int64) {
	tables := [...]struct{ startNs, durNs []int64 }{
		HostRange: {t.Ranges.StartNs, t.Ranges.DurNs}, HostOp: {t.Ops.StartNs, t.Ops.DurNs},
		HostCall: {t.Calls.StartNs, t.Calls.DurNs},
	}
	n := t.Ranges.Len() + t.Ops.Len() + t.Calls.Len()
	o.Kind, o.Row = make([]HostKind, 0, n), make([]uint32, 0, n)
	o.DurNs, startNs = make([]int64, 0, n), make([]int64, 0, n)
	var next [len(tables)]int
	for range n {
		best := -1
		for k := range tables {
			i := next[k]
			if i == len(tables[k].startNs) {
				continue
			}
			if best < 0 || tables[k].startNs[i] < tables[best].startNs[next[best]] ||
				tables[k].startNs[i] == tables[best].startNs[next[best]] &&
					tables[k].durNs[i] > tables[best].durNs[next[best]] {
				best = k
			}
		}
		i := next[best]
		next[best]++
		if HostKind(best) == HostRange && (t.Ranges.Kind[i] == model.RangeStartEnd || t.Ranges.DurNs[i] < 0) {
			continue // does not nest, or never ended
		}
		o.Kind, o.Row = append(o.Kind, HostKind(best)), append(o.Row, uint32(i))
		o.DurNs, startNs = append(o.DurNs, tables[best].durNs[i]), append(startNs, tables[best].startNs[i])
	}
	return startNs
}

// label names the events.
func (o *OpTree) label(t *model.Trace) {
	names := newInterner()
	byID := judge(&t.Strings, func(name string) uint32 {
		if IsProfilerStep(name) {
			return names.intern("ProfilerStep*")
		}
		return names.intern(emittedName(name))
	})
	o.Label = make([]uint32, o.Len())
	for i, row := range o.Row {
		switch o.Kind[i] {
		case HostRange:
			o.Label[i] = byID(t.Ranges.Name[row])
		case HostOp:
			o.Label[i] = byID(t.Ops.Name[row])
		default:
			o.Label[i] = byID(t.Calls.Name[row])
		}
	}
	o.Labels = names.texts
}

// threads is the thread of each event.
func (o *OpTree) threads(t *model.Trace) []model.ThreadRow {
	out := make([]model.ThreadRow, o.Len())
	for i, row := range o.Row {
		switch o.Kind[i] {
		case HostRange:
			out[i] = t.Ranges.Thread[row]
		case HostOp:
			out[i] = t.Ops.Thread[row]
		default:
			out[i] = t.Calls.Thread[row]
		}
	}
	return out
}

// OpSpan is the time of event i of the OpTree.
func (f *Facts) OpSpan(i int) interval.Span {
	o := f.OpTree()
	start := o.startNs(f.Trace, i)
	return interval.Span{StartNs: start, EndNs: start + max(o.DurNs[i], 0)}
}

// startNs is the start of event i.
func (o *OpTree) startNs(t *model.Trace, i int) int64 {
	switch row := o.Row[i]; o.Kind[i] {
	case HostRange:
		return t.Ranges.StartNs[row]
	case HostOp:
		return t.Ops.StartNs[row]
	default:
		return t.Calls.StartNs[row]
	}
}

// OpShapes is the shapes of each event's inputs: texts as the capture has them, and for each event of the
// OpTree the index of its own; text 0 is "".
func (f *Facts) OpShapes() (texts []string, shapes []uint32) {
	t, o := f.Trace, f.OpTree()
	in := newInterner()
	ofShapes := judge(&t.Strings, in.intern)
	ofName := judge(&t.Strings, func(name string) uint32 { return in.intern(emittedShapes(name)) })
	shapes = make([]uint32, o.Len())
	for i, row := range o.Row {
		switch o.Kind[i] {
		case HostOp:
			shapes[i] = ofShapes(at(t.Ops.Shapes, int(row), 0))
		case HostRange:
			if shapes[i] = ofShapes(at(t.Ranges.Shapes, int(row), 0)); shapes[i] == 0 {
				shapes[i] = ofName(t.Ranges.Name[row])
			}
		}
	}
	return in.texts, shapes
}

// An interner numbers texts; 0 is "".
type interner struct {
	texts []string
	index map[string]uint32
}

func newInterner() *interner { return &interner{[]string{""}, map[string]uint32{"": 0}} }

func (n *interner) intern(text string) uint32 {
	i, known := n.index[text]
	if !known {
		i = uint32(len(n.texts))
		n.index[text], n.texts = i, append(n.texts, text)
	}
	return i
}
