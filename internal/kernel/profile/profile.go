// Package profile holds what a kernel profiler measured of single kernels: counters by name, with
// their instances, and the program that they were measured on. It is to kernel reports what package
// model is to timelines: readers fill it, package kernel and its rules look at it, and neither knows
// which file it came from.
package profile

import (
	"iter"
	"slices"

	"lacuna/internal/timeline/model"
)

// A Report is one file of a kernel profiler.
type Report struct {
	Path     string
	Format   string // reader.Format.Name: "ncu", "ncu-csv"
	Tool     string // what measured it, whatever the format: "ncu"
	Producer string // "Nsight Compute 2025.3.1"; "" if the file does not say
	Bytes    int64  // of the file, unpacked
	Session  Session
	Names    Names     // of metrics; Metric.Name indexes it
	Launches []*Launch // in the order of the file: a launch's ID is its position
	Sources  []*Source
	Losses   model.Ledger
	Warnings []string // what the reader wants the user to know, in sentences
}

// A Session is where and how the report was made.
type Session struct {
	Created     int64 // seconds since 1970, UTC; 0: not known
	Comments    string
	CommandLine string
	Executable  string
	Host        System // where the profiler ran
	Target      System // where the kernels ran
	Versions    []Pair // in the file's order: "CUDA Version" 13.0, "Display Driver Version" ...
	Devices     []Device
	Processes   []Process
}

// A System is a machine of a session.
type System struct {
	Name, OS, Build, Architecture, Processor, Platform string
	Addresses                                          []string
}

// A Pair is a thing said with its name.
type Pair struct{ Name, Value string }

// AttributePrefix is before an attribute's name where it is a metric of a launch.
const AttributePrefix = "device__attribute_"

// A Device is a GPU of the session with its attributes in the file's order.
type Device struct {
	ID         int
	Name       string
	Attributes []Attribute // without the prefix device__attribute_
}

// An Attribute is a fact about a device.
type Attribute struct {
	Name  string
	Value Value
}

// A Process is one that was profiled.
type Process struct {
	PID  uint64
	Host string
	Path string
}

// A Launch is one kernel's execution and what was measured of it. Nothing in it is assumed: what was
// not collected is not there, and absent is not zero.
type Launch struct {
	ID        int    // position in the report, from 0
	Name      string // demangled with its parameters, as the file has it
	Mangled   string
	Base      string // the name alone: "sgemm_naive"
	PID       uint64
	Process   string // executable's path; "" if not said
	Host      string // of the process
	Thread    uint64 // of the host, which launched it
	Call      uint64 // number of the API call that launched it
	Context   uint64
	Stream    uint64
	Device    int
	Grid      [3]uint32
	Block     [3]uint32
	StartUnix float64 // seconds since 1970; 0: not said
	Clocks    Clocks
	Metrics   []Metric // sorted by Name
	Sections  []Section
	Rules     []RuleResult
	Ranges    []Range // NVTX ranges open at the launch
	Source    *Source // nil: the module is not in the file
	Report    *Report // the report that it is in
}

// Clocks says what the profiler did to the GPU's clocks for the measurement.
type Clocks struct{ AskedToLock, Locked bool }

// A NameID is a metric's name in Report.Names.
type NameID uint32

// Names is every metric name of a report.
type Names struct {
	list []string
	ids  map[string]NameID
}

// ID is the number of a name, which is added if it is new.
func (n *Names) ID(name string) NameID {
	if id, ok := n.ids[name]; ok {
		return id
	}
	if n.ids == nil {
		n.ids = make(map[string]NameID)
	}
	id := NameID(len(n.list))
	n.list = append(n.list, name)
	n.ids[name] = id
	return id
}

// Find is the number of a name, if the report has it.
func (n *Names) Find(name string) (NameID, bool) {
	id, ok := n.ids[name]
	return id, ok
}

// Text is a name.
func (n *Names) Text(id NameID) string { return n.list[id] }

// All is every name in the order of their numbers.
func (n *Names) All() []string { return n.list }

// A Kind says what a Value holds.
type Kind uint8

// The kinds of value.
const (
	None   Kind = iota // the entry is there, the value is not: ncu prints "no data", or nothing if there are instances
	Double             // also float
	Unsigned
	Text
)

// A Value is what a metric, an instance or an attribute is.
type Value struct {
	Kind   Kind
	Float  float64 // of Double
	Uint   uint64  // of Unsigned
	String string  // of Text
}

// Number is the value as a number, if it is one.
func (v Value) Number() (float64, bool) {
	switch v.Kind {
	case Double:
		return v.Float, true
	case Unsigned:
		return float64(v.Uint), true
	}
	return 0, false
}

// A Metric is one measure of a launch, in the base unit of its name: ns, byte, inst, cycle, %.
type Metric struct {
	Name    NameID
	Value   Value
	Sampled bool // over time: the keys of instances are times in ns

	instances iter.Seq[Instance]
}

// An Instance is a metric's share of one thing: an instruction's address, an opcode, a hardware unit,
// a moment.
type Instance struct {
	Key   Value
	Value Value
}

// NewMetric is a metric with instances (nil: it has none). A reader that leaves them packed gives a sequence that
// unpacks them each time that they are asked for.
func NewMetric(name NameID, value Value, sampled bool, instances iter.Seq[Instance]) Metric {
	return Metric{Name: name, Value: value, Sampled: sampled, instances: instances}
}

// HasInstances says whether the metric has shares. Few have.
func (m *Metric) HasInstances() bool { return m.instances != nil }

// Instances is the metric's shares in the file's order. They are unpacked each time: keep what is needed more than
// once.
func (m *Metric) Instances() iter.Seq[Instance] {
	if m.instances == nil {
		return func(func(Instance) bool) {}
	}
	return m.instances
}

// SortMetrics brings the launch's metrics into the order that they are found by. A reader calls it last.
func (l *Launch) SortMetrics() {
	slices.SortFunc(l.Metrics, func(a, b Metric) int { return int(a.Name) - int(b.Name) })
}

// Metric is the launch's metric of that name; nil: not collected.
func (l *Launch) Metric(name string) *Metric {
	id, ok := l.Report.Names.Find(name)
	if !ok {
		return nil
	}
	i, ok := slices.BinarySearchFunc(l.Metrics, id, func(m Metric, id NameID) int { return int(m.Name) - int(id) })
	if !ok {
		return nil
	}
	return &l.Metrics[i]
}

// Number is the value of the first of the named metrics that was collected and is a number (NaN is
// not): one name per version of the profiler or per chip.
func (l *Launch) Number(names ...string) (float64, bool) {
	for _, name := range names {
		if m := l.Metric(name); m != nil {
			if v, ok := m.Value.Number(); ok && v == v {
				return v, true
			}
		}
	}
	return 0, false
}

// Text is a metric that is a text.
func (l *Launch) Text(name string) (string, bool) {
	if m := l.Metric(name); m != nil && m.Value.Kind == Text {
		return m.Value.String, true
	}
	return "", false
}

// ByOpcode is a metric's instances that are keyed by a text, such as an opcode.
func (l *Launch) ByOpcode(name string) iter.Seq2[string, float64] {
	return func(yield func(string, float64) bool) {
		m := l.Metric(name)
		if m == nil {
			return
		}
		for i := range m.Instances() {
			if v, ok := i.Value.Number(); ok && i.Key.Kind == Text && !yield(i.Key.String, v) {
				return
			}
		}
	}
}

// ByAddress is a metric's instances that are keyed by a number: an instruction's address in a source
// metric.
func (l *Launch) ByAddress(name string) iter.Seq2[uint64, float64] {
	return func(yield func(uint64, float64) bool) {
		m := l.Metric(name)
		if m == nil {
			return
		}
		for i := range m.Instances() {
			if v, ok := i.Value.Number(); ok && i.Key.Kind == Unsigned && !yield(i.Key.Uint, v) {
				return
			}
		}
	}
}

// A Range is an NVTX range that was open when the kernel was launched.
type Range struct {
	Domain string
	Thread uint64
	Stack  []string // outermost first
}

// A Section is a page part that the profiler prints: its definition travels in the file.
type Section struct {
	ID          string // "SpeedOfLight"
	Name        string // "GPU Speed Of Light Throughput"
	Description string
	Extends     string   // the identifier of the section that it is a part of; "" for none
	Sets        []string // that it is collected in: "basic", "full"
	Order       int64
	Filters     []Filter
	Header      []SectionMetric
	Body        []BodyPart
	Extra       []SectionMetric // collected with it, shown nowhere
	Source      []SectionMetric // columns of the source page
	Definitions []Pair          // metrics that are computed, with their formulas
}

// A BodyPart is a table or chart below a section's header.
type BodyPart struct {
	Title   string // of the group that it is in; "" for none
	Label   string
	Chart   bool            // else a table
	Metrics []SectionMetric // in the file's order
	Filters []Filter
}

// A SectionMetric is a metric in a section, with its label and what to show in its place.
type SectionMetric struct {
	Name, Label string
	Options     []SectionMetric // the first that was collected stands in
	Filters     []Filter
	Unit        string // stated in the definition; mostly ""
	Instances   bool   // the instances are shown, not the value
}

// A Filter is a span of compute capabilities, as 75 for 7.5; 0: open.
type Filter struct{ Min, Max uint32 }

// A RuleResult is what a rule of the profiler itself said of a launch.
type RuleResult struct {
	ID, Name string
	Section  string // identifier of its section
	Messages []Message
	Focus    []Focus
	Tables   []RuleTable
	Markers  []Marker
}

// A RuleTable is a table under a rule's message. Columns may differ in length.
type RuleTable struct {
	Title, Text string
	Columns     []RuleColumn
}

// A RuleColumn is a column of such a table, with markup in texts.
type RuleColumn struct {
	Name  string
	Cells []Value
}

// A Marker is what a rule says of a place in the code: an instruction (Address) or a line of a file.
type Marker struct {
	Address uint64 // 0: it is of a line
	File    string // "" if not said
	Line    uint32
	Text    string
}

// A Message of a rule, with markup.
type Message struct {
	Text, Title string
	Type        int // 0 none, 1 ok, 2 warning, 3 error, 4 optimisation
	Speedup     Speedup
}

// A Speedup is what a rule estimates: Kind "" says that it does not.
type Speedup struct {
	Kind    string  // "local", "global"
	Percent float64 // of the kernel's duration (global) or of the resource's part (local)
}

// A Focus is a metric that a rule looked at.
type Focus struct {
	Name, Info string
	Value      float64
	Severity   int
}

// A Source is a module: its code and the texts it was made from.
type Source struct {
	Ref       uint64
	Cubin     []byte // an ELF; nil: not in the file
	SMVersion uint32 // major<<16 | minor
	Files     []SourceFile
	Functions []Function   // where its functions were loaded; nil before 2022.2
	Lines     []SourceLine // of a report in text form, which has no cubin; else they are in the cubin
	Copies    int          // how often the file describes it; ncu's source page repeats itself as often
}

// A SourceLine says which line of source an instruction comes from.
type SourceLine struct {
	Address uint64
	File    string
	Line    uint32 // from 1
	Text    string // of the line; "": not known
}

// A SourceFile is a text that the module was compiled from; Text "" says that only its path is known.
type SourceFile struct{ Path, Text string }

// A Function is where a symbol of the cubin was loaded.
type Function struct {
	Symbol  string
	Address uint64
	Index   uint32 // of the symbol
}
