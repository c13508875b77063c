package facts

import (
	"cmp"
	"regexp"
	"slices"
	"sort"

	"lacuna/internal/base/interval"
	"lacuna/internal/timeline/model"
)

// A Doing is what a program does outside its steps, by what it is called.
type Doing string

// The kinds of host work outside the steps.
const (
	DoingCompile Doing = "compiling"
	DoingLoad    Doing = "loading data"
	DoingCalls   Doing = "in GPU library calls"
	DoingFiles   Doing = "reading files or input"
	DoingNamed   Doing = ""        // what its name says
	DoingUnnamed Doing = "unnamed" // code in which nothing is open that has a name
)

var (
	// what starts compilers, and ranges of those that run within the process
	compileName = regexp.MustCompile(`(?i)^system$|^(posix_spawn|execve|fork|vfork|waitpid|wait4)|` +
		`compil(e|ation|ing)($|[^d])|libLLVM|nvrtc|autotun|cuLink(Create|Add|Complete)|ptxas`)
	loaderName = regexp.MustCompile(`(?i)dataloader|data_?load|load_?data|dataset|tokeni[sz]`)
	callName   = regexp.MustCompile(`^(cuda|cu|hip|cublas|cudnn|cufft|cusolver|cusparse|nccl|curand)[A-Z]|` +
		`^cu(da)?_?(Init|Ctx)`)
	fileName = regexp.MustCompile(`^f?(open|read|pread|stat|lstat|close|seek|access|getdents|opendir|readdir|mmap|gets|` +
		`getc|scanf|getline)[a-z0-9_]*$|^(__)?[lf]?x?stat(64)?$|^openat(64)?$|^readv$|^fopen(64)?$`)
)

// DoingOf is the kind of something that a thread did by its name.
func DoingOf(what string) Doing {
	switch {
	case what == "":
		return DoingUnnamed
	case compileName.MatchString(what):
		return DoingCompile
	case callName.MatchString(what):
		return DoingCalls
	case loaderName.MatchString(what):
		return DoingLoad
	case fileName.MatchString(what):
		return DoingFiles
	}
	return DoingNamed
}

// Doings is what a thread did of one kind; of what only its name tells, of one name.
type Doings struct {
	Kind  Doing
	What  string // the name that most of it has; "" of DoingUnnamed
	More  int    // other names
	Ns    int64
	Calls int // 0: no calls
}

// doings adds up what a thread did.
type doings struct{ by map[string]*HostNs }

func newDoings() *doings { return &doings{make(map[string]*HostNs)} }

func (d *doings) add(what string, ns int64, calls int) {
	if d.by[what] == nil {
		d.by[what] = &HostNs{What: what}
	}
	d.by[what].Ns += ns
	d.by[what].Count += calls
}

// list is the sums by kind, most time first.
func (d *doings) list() []Doings {
	var out []Doings
	at := make(map[Doing]int)
	for _, h := range mostFirst(d.by) {
		kind := DoingOf(h.What)
		if i, seen := at[kind]; seen && kind != DoingNamed {
			out[i].More++
			out[i].Ns += h.Ns
			out[i].Calls += h.Count
			continue
		}
		at[kind] = len(out)
		out = append(out, Doings{Kind: kind, What: h.What, Ns: h.Ns, Calls: h.Count})
	}
	slices.SortStableFunc(out, func(a, b Doings) int { return cmp.Compare(b.Ns, a.Ns) })
	return out
}

// purposes is when ranges and operators of a thread say that it compiles or loads data.
type purposes struct{ spans []titled }

// A titled is a span with its name as text.
type titled struct {
	interval.Span
	what string
}

// purposes looks for the outermost ranges and operators that compile or load within a span.
func (f *Facts) purposes(thread model.ThreadRow, span interval.Span) *purposes {
	t := f.Trace
	is := judge(&t.Strings, func(name string) bool {
		kind := DoingOf(name)
		return kind == DoingCompile || kind == DoingLoad
	})
	p := &purposes{}
	for _, table := range []struct {
		thread         []model.ThreadRow
		startNs, durNs []int64
		name           []model.StringID
	}{{t.Ranges.Thread, t.Ranges.StartNs, t.Ranges.DurNs, t.Ranges.Name},
		{t.Ops.Thread, t.Ops.StartNs, t.Ops.DurNs, t.Ops.Name}} {
		for i, id := range table.name {
			if table.thread[i] != thread || table.durNs[i] == model.OpenDurNs || !is(id) {
				continue
			}
			s := (interval.Span{StartNs: table.startNs[i], EndNs: table.startNs[i] + table.durNs[i]}).Clip(span)
			if s.LenNs() > 0 {
				p.spans = append(p.spans, titled{s, f.NameText(f.RangeNames()[id])})
			}
		}
	}
	slices.SortStableFunc(p.spans, func(a, b titled) int {
		return cmp.Or(cmp.Compare(a.StartNs, b.StartNs), cmp.Compare(b.EndNs, a.EndNs))
	})
	outer, endNs := p.spans[:0], int64(minTime)
	for _, s := range p.spans {
		s.StartNs = max(s.StartNs, endNs)
		if s.LenNs() > 0 {
			outer, endNs = append(outer, s), s.EndNs
		}
	}
	p.spans = outer
	return p
}

// take counts what of s has a purpose, and returns the rest.
func (p *purposes) take(s interval.Span, sums *doings) (rest []interval.Span) {
	at := s.StartNs
	first := sort.Search(len(p.spans), func(i int) bool { return p.spans[i].EndNs > s.StartNs })
	for _, x := range p.spans[first:] {
		in := x.Clip(s)
		if in.LenNs() <= 0 {
			break
		}
		sums.add(x.what, in.LenNs(), 0)
		if in.StartNs > at {
			rest = append(rest, interval.Span{StartNs: at, EndNs: in.StartNs})
		}
		at = in.EndNs
	}
	if at < s.EndNs {
		rest = append(rest, interval.Span{StartNs: at, EndNs: s.EndNs})
	}
	return rest
}

// Compiling is when ranges and operators of a thread say that it compiles, within a span.
func (f *Facts) Compiling(thread model.ThreadRow, span interval.Span) interval.Set {
	var out []interval.Span
	for _, s := range f.purposes(thread, span).spans {
		if DoingOf(s.what) == DoingCompile {
			out = append(out, s.Span)
		}
	}
	return interval.Union(out)
}

// OSName is the name of the outermost call of the operating system in which a thread is at an instant; "": it is in
// none.
func (f *Facts) OSName(thread model.ThreadRow, ns int64) string {
	h := threadAt(f.hostThreads(), thread)
	if h == nil {
		return ""
	}
	if i := firstEndingAfter(h.os, ns); i < len(h.os) && h.os[i].Contains(ns) {
		return f.Trace.Strings.Text(f.Trace.OSCalls.Name[h.osRow[i]])
	}
	return ""
}
