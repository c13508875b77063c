package ncu

import (
	"fmt"
	"slices"
	"strings"
	"unsafe"

	"google.golang.org/protobuf/encoding/protowire"

	"lacuna/internal/kernel/profile"
	"lacuna/internal/timeline/model"
)

// What a report can lose.
const (
	lossUnknownField model.LossCode = "unknown-field"   // a field that no version seen has
	lossUnknownPart  model.LossCode = "unknown-part"    // bytes after all that a block announces
	lossBadMessage   model.LossCode = "bad-message"     // a message that ends in the middle of a field
	lossLeftOut      model.LossCode = "result-not-read" // range, command list and graph results
	lossTooMany      model.LossCode = "too-many-parts"  // more small parts than a file of that size can mean
	lossNoName       model.LossCode = "metric-no-name"  // a metric whose name is not in the string table
	lossStack        model.LossCode = "host-stack"      // the call stack of a launch on the host
	lossTooLong      model.LossCode = "file-too-long"   // what lies after maxBytes
)

// A filler fills one report.
type filler struct {
	report  *profile.Report
	losses  *model.Ledger
	version uint64
	broken  bool // the file is cut off or damaged

	process profile.Process // of the block
	met     map[profile.Process]bool
	strings []string         // the file's table of metric names so far
	ids     []profile.NameID // of strings, plus one; 0: not used yet
	at      []int32          // scratch: per name, where the launch that is being read has it, plus one
	sources map[uint64]*profile.Source
	refs    []uint64 // per launch, the reference of its source; 0: none

	held     int64 // bytes of memory for parts, see keep
	read     int64 // bytes of messages
	unknowns map[unknownField]int64
	leftOut  struct{ ranges, commandLists, graphs int64 }
	warnings []string // with %d for the number of launches
}

// An unknownField is a field that is not in the lists, of one kind of message.
type unknownField struct {
	message string
	number  protowire.Number
}

func newFiller(path string) *filler {
	r := &profile.Report{Path: path, Tool: "ncu"}
	return &filler{report: r, losses: &r.Losses, met: make(map[profile.Process]bool),
		sources: make(map[uint64]*profile.Source), unknowns: make(map[unknownField]int64)}
}

// keep appends a part to a list. Messages of a few bytes make parts of hundreds: a file of nothing else is refused
// the memory beyond a multiple of its size. Real files take at most 0.8 bytes for parts per byte read, and a metric,
// the part that there may be nearly nothing else of, 4.5.
func keep[T any](f *filler, list []T, part T) []T {
	const perByte, free = 8, 4 << 20
	if f.held += int64(unsafe.Sizeof(part)); f.held > perByte*f.read+free {
		f.losses.Add(lossTooMany, 1, fmt.Sprintf("a %T", part))
		return list
	}
	return append(list, part)
}

// each walks the fields of a message and tells of its damage.
func (f *filler) each(message string, msg []byte, field func(c *cursor)) {
	c := cursor{rest: msg}
	for c.next() {
		field(&c)
	}
	f.whole(message, &c, len(msg))
}

// whole notes if a message of n bytes was left before its end.
func (f *filler) whole(message string, c *cursor, n int) {
	if c.bad {
		f.losses.Add(lossBadMessage, 1, fmt.Sprintf("%s: byte %d of %d", message, n-len(c.rest), n))
		f.broken = true
	}
}

// maxUnknown bounds how many kinds of unknown fields are told apart: a damaged file has any.
const maxUnknown = 20

func (f *filler) unknown(message string, number protowire.Number) {
	field := unknownField{message, number}
	if _, known := f.unknowns[field]; !known && len(f.unknowns) >= maxUnknown {
		field = unknownField{"others", 0}
	}
	f.unknowns[field]++
}

func (f *filler) warn(format string, a ...any) {
	f.warnings = append(f.warnings, fmt.Sprintf(format, a...))
}

func (f *filler) damaged(format string, a ...any) {
	f.broken = true
	f.losses.Add(lossBadMessage, 1, fmt.Sprintf(format, a...))
}

// tooLong notes that a file is over maxBytes.
func (f *filler) tooLong() {
	f.losses.Add(lossTooLong, 1, fmt.Sprintf("what lies after %d MiB", maxBytes>>20))
	f.warn("the file is over %d MiB: only its first %%d kernel results are read; profile fewer with --launch-count",
		maxBytes>>20)
}

// firstLoss is what was lost, for an error.
func (f *filler) firstLoss() string {
	for _, l := range f.losses.All() {
		return l.Example
	}
	return "nothing is there"
}

// finish joins launches with their sources and tells what was lost.
func (f *filler) finish() {
	r := f.report
	for i, l := range r.Launches {
		l.ID, l.Report, l.Source = i, r, f.sources[f.refs[i]]
	}
	var total int64
	var fields []string
	for u, n := range f.unknowns {
		total += n
		fields = append(fields, fmt.Sprintf("%s: field %d (%d times)", u.message, u.number, n))
	}
	slices.Sort(fields)
	f.losses.Add(lossUnknownField, total, strings.Join(fields, "; "))
	for _, x := range []struct {
		n    int64
		what string
	}{{f.leftOut.ranges, "range"}, {f.leftOut.commandLists, "command list"}, {f.leftOut.graphs, "graph"}} {
		if x.n > 0 {
			f.losses.Add(lossLeftOut, x.n, fmt.Sprintf("%d %s results", x.n, x.what))
			f.warn("%d %s results are not read, since they are not of single kernels; profile with --replay-mode "+
				"kernel and --graph-profiling node", x.n, x.what)
		}
	}
	if f.broken && f.losses.Count(model.LossTruncated) == 0 {
		f.warn("the file is damaged: what could be understood of it is used, the losses say what could not")
	}
	for _, w := range f.warnings {
		if strings.Contains(w, "%d") {
			w = fmt.Sprintf(w, len(r.Launches))
		}
		r.Warnings = append(r.Warnings, w)
	}
	if len(r.Launches) == 0 {
		r.Warnings = append(r.Warnings, "the report holds no kernel results: was a kernel launched, and did the "+
			"filters match it?")
	}
}
