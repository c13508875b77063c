package facts

import (
	"cmp"
	"slices"
	"strings"

	"lacuna/internal/base/interval"
	"lacuna/internal/kernel/kernelname"
	"lacuna/internal/timeline/model"
)

// A CommGroup is the communication of one process group on a device, over a window.
type CommGroup struct {
	Name  string // as the capture numbers it; "": not recorded
	Desc  string // what it is for, as the program says: "TP", "default_pg"; "": not recorded
	Ranks string // JSON text, as the capture has it
	Size  int32  // 0: not recorded

	CommNs    int64 // union of its kernels
	ExposedNs int64 // with no compute; those of all groups sum to the device's exposed communication
	HiddenNs  int64 // with compute; groups may coincide
	Rows      []int32
	Ops       []CommOp // most time first
}

// A CommOp is one operation of a group: all-reduce, send and receive, …
type CommOp struct {
	Name    string
	Count   int64
	Ns      int64 // sum of its kernels
	Bytes   int64 // that a rank puts in, of those kernels of which it is recorded
	BytesNs int64 // sum of those kernels
	Sized   int64 // how many they are
}

// commOpNames are what operations are called, by a part of a kernel's or collective's name in lower case without "_".
// The first that occurs counts.
var commOpNames = []struct{ part, name string }{
	{"allreduce", "all-reduce"}, {"crossdevicereduce", "all-reduce"}, {"reducescatter", "reduce-scatter"},
	{"allgather", "all-gather"}, {"alltoall", "all-to-all"}, {"a2a", "all-to-all"}, {"sendrecv", "send and receive"},
	{"notify", "dispatch: counts"}, {"dispatch", "dispatch"}, {"combine", "combine"}, {"broadcast", "broadcast"},
	{"barrier", "barrier"}, {"send", "send and receive"}, {"recv", "send and receive"}, {"gather", "gather"},
	{"scatter", "scatter"}, {"reduce", "reduce"}, {"userbuffers", "userbuffers"},
}

// OtherComm is the operation of a communication kernel of which no name is known.
const OtherComm = "other"

func commOpName(name string) string {
	name = strings.ReplaceAll(strings.ToLower(name), "_", "")
	for _, x := range commOpNames {
		if strings.Contains(name, x.part) {
			return x.name
		}
	}
	return OtherComm
}

// CollectiveOf is the record of the collective of a row of Work: its kernel's own, else that of the operator that
// launched it; NoCollective.
func (f *Facts) CollectiveOf(row int32) model.CollectiveRow {
	t, w := f.Trace, f.Work()
	if w.Kind[row] != WorkComm {
		return model.NoCollective
	}
	if c := at(t.Kernels.Collective, int(w.Row[row]), model.NoCollective); int(c) < t.Collectives.Len() {
		return c
	}
	if id := f.externalOf(int(row)); linked(id) {
		if c, ok := f.recordedOps()[id]; ok {
			return c
		}
	}
	return model.NoCollective
}

// recordedOps is the collective of each operator that records one, by external ID.
func (f *Facts) recordedOps() map[uint32]model.CollectiveRow {
	return f.kept.recordedOps.of(f, func(f *Facts) map[uint32]model.CollectiveRow {
		t, out := f.Trace, make(map[uint32]model.CollectiveRow)
		for i, c := range t.Ops.Collective {
			if int(c) < t.Collectives.Len() && linked(t.Ops.External[i]) {
				out[t.Ops.External[i]] = c
			}
		}
		return out
	})
}

// CommBytes is how much a rank puts into the collective of a row of Work; 0: not recorded.
func (f *Facts) CommBytes(row int32) int64 {
	c, id := &f.Trace.Collectives, f.CollectiveOf(row)
	if id == model.NoCollective {
		return 0
	}
	if bytes := at(c.InBytes, int(id), 0); bytes > 0 {
		return bytes
	}
	return max(0, at(c.InElems, int(id), 0)) * elementBytes(f.Trace.Strings.Text(at(c.Dtype, int(id), 0)))
}

// elementBytes is the size of an element by the name that PyTorch gives its type; 0: not known.
func elementBytes(name string) int64 {
	switch name {
	case "Double", "Long", "ComplexFloat":
		return 8
	case "Float", "Int":
		return 4
	case "Half", "BFloat16", "Short":
		return 2
	case "Byte", "Char", "Bool", "Float8_e4m3fn", "Float8_e5m2":
		return 1
	}
	return 0
}

// CommGroups divides the communication of a device over window by process group, most exposed first. Where several
// run at an instant that no computation hides, it counts for the one whose kernel began first.
func (f *Facts) CommGroups(device uint32, window interval.Span) []CommGroup {
	w := f.Work()
	var compute []interval.Span
	var rows []int32
	for i := range w.Len() {
		switch s := w.span(int32(i)).Clip(window); {
		case w.Device[i] != device || s.LenNs() <= 0:
		case w.Kind[i].IsCompute():
			compute = append(compute, s)
		case w.Kind[i] == WorkComm:
			rows = append(rows, int32(i))
		}
	}
	hides := interval.UnionSorted(compute)
	by := make(map[string]*groupTally)
	until := window.StartNs
	for _, row := range rows { // by start, as Work is
		key, g := f.groupOf(row)
		t := by[key]
		if t == nil {
			t = &groupTally{CommGroup: g, ops: make(map[string]*CommOp)}
			by[key] = t
		}
		s := w.span(row).Clip(window)
		t.add(row, s, f.CommOpOf(row), f.CommBytes(row))
		if first := (interval.Span{StartNs: max(s.StartNs, until), EndNs: s.EndNs}); first.LenNs() > 0 {
			t.ExposedNs += first.LenNs() - hides.Clip(first).TotalNs()
			until = s.EndNs
		}
	}
	var out []CommGroup
	for _, t := range by {
		out = append(out, t.done(hides))
	}
	slices.SortFunc(out, func(a, b CommGroup) int {
		return cmp.Or(cmp.Compare(b.ExposedNs, a.ExposedNs), cmp.Compare(b.CommNs, a.CommNs),
			cmp.Compare(a.Desc, b.Desc), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Ranks, b.Ranks))
	})
	return out
}

// groupOf is the process group of a row, and what tells it from others. Kernels that do not say theirs are one for each
// library that they are from: the experts' exchange of DeepEP is none of NCCL's groups.
func (f *Facts) groupOf(row int32) (string, CommGroup) {
	t := f.Trace
	c := f.CollectiveOf(row)
	if c == model.NoCollective {
		if isExpertExchange(f.WorkName(int(row))) {
			return "\x01", CommGroup{Desc: ExpertExchange}
		}
		return "", CommGroup{}
	}
	g := CommGroup{Name: textAt(t, t.Collectives.Group, c), Desc: textAt(t, t.Collectives.GroupDesc, c),
		Ranks: textAt(t, t.Collectives.Ranks, c), Size: at(t.Collectives.GroupSize, int(c), 0)}
	return "\x02" + g.Name + "\x00" + g.Desc, g
}

// CommGroupKey tells the process group of a row of Work from others of the capture.
func (f *Facts) CommGroupKey(row int32) string {
	key, _ := f.groupOf(row)
	return key
}

// ExpertExchange is the group of kernels that take tokens to experts and back, and say no other.
const ExpertExchange = "expert exchange"

func isExpertExchange(name string) bool {
	name = strings.ToLower(kernelname.Qualified(name))
	return strings.Contains(name, "dispatch") || strings.Contains(name, "combine") ||
		strings.Contains(name, "::ep::") || strings.HasPrefix(name, "deep_ep::")
}

// CommOpOf is the operation of a row of Work: as it is recorded, else by its kernel's name.
func (f *Facts) CommOpOf(row int32) string {
	if c := f.CollectiveOf(row); c != model.NoCollective {
		if name := commOpName(textAt(f.Trace, f.Trace.Collectives.Name, c)); name != OtherComm {
			return name
		}
	}
	return commOpName(kernelname.Qualified(f.WorkName(int(row))))
}

type groupTally struct {
	CommGroup
	ops   map[string]*CommOp
	spans []interval.Span
}

func (t *groupTally) add(row int32, s interval.Span, op string, bytes int64) {
	t.Rows, t.spans = append(t.Rows, row), append(t.spans, s)
	o := t.ops[op]
	if o == nil {
		o = &CommOp{Name: op}
		t.ops[op] = o
	}
	o.Count++
	o.Ns += s.LenNs()
	if bytes > 0 {
		o.Bytes += bytes
		o.BytesNs += s.LenNs()
		o.Sized++
	}
}

func (t *groupTally) done(hides interval.Set) CommGroup {
	own := interval.UnionSorted(t.spans)
	t.CommNs = own.TotalNs()
	t.HiddenNs = t.CommNs - interval.Subtract(own, hides).TotalNs()
	for _, o := range t.ops {
		t.Ops = append(t.Ops, *o)
	}
	slices.SortFunc(t.Ops, func(a, b CommOp) int {
		return cmp.Or(cmp.Compare(b.Ns, a.Ns), cmp.Compare(a.Name, b.Name))
	})
	return t.CommGroup
}

// BusFactor is what the bytes that a rank puts into an operation have to be multiplied with to be those that pass its
// link one way, in a group of n ranks, as nccl-tests counts them (doc/PERFORMANCE.md there); 0: not known.
func BusFactor(op string, n int32) float64 {
	if n < 2 {
		return 0
	}
	others := float64(n-1) / float64(n)
	switch op {
	case "all-reduce":
		return 2 * others
	case "reduce-scatter", "all-to-all":
		return others
	case "all-gather": // what one rank puts in goes to all others
		return float64(n - 1)
	case "send and receive", "broadcast", "reduce":
		return 1
	}
	return 0
}

// span is when a row ran.
func (w *Work) span(row int32) interval.Span {
	return interval.Span{StartNs: w.StartNs[row], EndNs: w.EndNs[row]}
}
