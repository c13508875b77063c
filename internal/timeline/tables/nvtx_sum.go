package tables

import (
	"cmp"

	"lacuna/internal/base/unit"
	"lacuna/internal/timeline/facts"
	"lacuna/internal/timeline/model"
)

const nvtxSumDoc = `
Ranges nest, and the time of an outer one contains that of the inner ones: Time is a share of the Total Time
of the rows listed, whose sum counts such time several times, not of wall time.

A range of an NVTX domain is named DOMAIN:NAME, one of the default domain NAME. A range that was still open when the
capture ended counts up to the last time that any range or mark has. Where two threads of one process created
a domain, nsys stats lists its ranges twice; here each is listed once.

Rows are ordered by Total Time, largest first, then by name.`

var nvtxSum = Table{
	Name:  "nvtx_sum",
	Title: "Ranges by style and name, most time first",
	Doc: `
One row for each style and name: NVTX push/pop and start/end ranges, annotations of PyTorch
(record_function), and the steps of its profiler.
` + nvtxSumDoc,
	Origin:  "nsys stats nvtx_sum",
	Columns: timeColumns("Instances", "ranges", styleColumn, rangeColumn),
	Needs:   model.PartRanges,
	Fill:    fillNVTXSum,
}

var nvtxPushPopSum = Table{
	Name:  "nvtx_pushpop_sum",
	Title: "Ranges that nest on a thread by name, most time first",
	Doc: `
One row for each name of the ranges that nest on their thread: NVTX push/pop, annotations of PyTorch
(record_function), and the steps of its profiler.
` + nvtxSumDoc,
	Origin:  "nsys stats nvtx_pushpop_sum",
	Columns: timeColumns("Instances", "ranges", rangeColumn),
	Needs:   model.PartRanges,
	Fill:    fillNVTXPushPopSum,
}

var nvtxStartEndSum = Table{
	Name:  "nvtx_startend_sum",
	Title: "Ranges with a start and an end of their own by name, most time first",
	Doc: `
One row for each name of the NVTX start/end ranges, which may cross others and end on another thread. The
annotations of PyTorch nest: none of them is a row.
` + nvtxSumDoc,
	Origin:  "nsys stats nvtx_startend_sum",
	Columns: timeColumns("Instances", "ranges", rangeColumn),
	Needs:   model.PartRanges,
	Fill:    fillNVTXStartEndSum,
}

var (
	styleColumn = Column{"Style", unit.Text, "PushPop or StartEnd, of NVTX; Annotation, of PyTorch; Profiler, made " +
		"by the profiler itself"}
	rangeColumn = Column{"Range", unit.Text, "name of the range, behind its domain"}
)

// styleNames is how the kinds of ranges are called.
var styleNames = [...]string{
	model.RangePushPop: "PushPop", model.RangeStartEnd: "StartEnd", model.RangeAnnotation: "Annotation",
	model.RangeProfiler: "Profiler",
}

// needRanges is nil if there are ranges.
func needRanges(table string, t *model.Trace) error {
	if t.Ranges.StartNs == nil {
		return &MissingError{table, "ranges", tryNVTX}
	}
	return nil
}

// namesOfRanges names the ranges, with their domains.
func namesOfRanges(t *model.Trace) *naming {
	type key struct {
		domain model.DomainRow
		name   model.StringID
	}
	r, n := &t.Ranges, &naming{of: make([]uint32, t.Ranges.Len())}
	var keys indexer[key]
	for i, name := range r.Name {
		k := key{at(r.Domain, i, model.NoDomain), name}
		n.of[i] = keys.id(k, uint32(name))
	}
	n.number(func(id uint32) string {
		k := keys.keys[id]
		if int(k.domain) < len(t.Domains) {
			return t.Domains[k.domain].Name + ":" + t.Strings.Text(k.name)
		}
		return t.Strings.Text(k.name)
	})
	return n
}

// rangeDurations is how long the ranges took; those still open, up to the last time known of any.
func rangeDurations(t *model.Trace) []int64 {
	r, last, open := &t.Ranges, int64(-1<<63), false
	for i, d := range r.DurNs {
		last = max(last, r.EndNs(i))
		open = open || d == model.OpenDurNs
	}
	if !open {
		return r.DurNs
	}
	if n := t.Marks.Len(); n > 0 {
		last = max(last, t.Marks.TimeNs[n-1])
	}
	out := append([]int64(nil), r.DurNs...)
	for i, d := range out {
		if d == model.OpenDurNs {
			out[i] = last - r.StartNs[i]
		}
	}
	return out
}

// A label is what ranges are grouped by.
type label struct {
	name  uint32 // of a naming
	style model.RangeKind
}

// labels is the ranges by name and style.
type labels struct {
	*naming          // the names, by label.name
	group   []uint32 // by range: its label's number
	all     []label
}

func labelRanges(t *model.Trace) *labels {
	l := &labels{naming: namesOfRanges(t)}
	l.group = make([]uint32, len(l.of))
	seen := make([][len(styleNames)]uint32, len(l.text)) // one more than the number
	for i, name := range l.of {
		style := t.Ranges.Kind[i]
		if seen[name][style] == 0 {
			l.all = append(l.all, label{name, style})
			seen[name][style] = uint32(len(l.all))
		}
		l.group[i] = seen[name][style] - 1
	}
	return l
}

// compareLabels orders labels by name, then style.
func (l *labels) compareLabels(a, b uint32) int {
	x, y := l.all[a], l.all[b]
	return cmp.Or(l.compare(x.name, y.name), cmp.Compare(x.style, y.style))
}

// cells is the style and the name of a label.
func (l *labels) cells(g uint32) (style, name Cell) {
	return Str(styleNames[l.all[g].style]), Str(l.text[l.all[g].name])
}

func fillNVTXSum(in []*facts.Facts, _ Args, out *Rows) error {
	t := in[0].Trace
	if err := needRanges("nvtx_sum", t); err != nil {
		return err
	}
	l := labelRanges(t)
	sums := summarize(l.group, rangeDurations(t), len(l.all))
	all := grandTotal(sums)
	for _, g := range byTotal(sums, l.compareLabels) {
		style, name := l.cells(g)
		out.Add(sums[g].timeCells(all, style, name)...)
	}
	return nil
}

func fillNVTXPushPopSum(in []*facts.Facts, _ Args, out *Rows) error {
	return fillRanges("nvtx_pushpop_sum", in[0].Trace, nestsOnThread, out)
}

func fillNVTXStartEndSum(in []*facts.Facts, _ Args, out *Rows) error {
	return fillRanges("nvtx_startend_sum", in[0].Trace,
		func(k model.RangeKind) bool { return k == model.RangeStartEnd }, out)
}

func nestsOnThread(k model.RangeKind) bool { return k != model.RangeStartEnd }

// fillRanges adds a row for each name of the ranges of the kinds wanted.
func fillRanges(table string, t *model.Trace, wanted func(model.RangeKind) bool, out *Rows) error {
	if err := needRanges(table, t); err != nil {
		return err
	}
	names := namesOfRanges(t)
	for i, kind := range t.Ranges.Kind {
		if !wanted(kind) {
			names.of[i] = noGroup
		}
	}
	names.addSums(rangeDurations(t), out)
	return nil
}
