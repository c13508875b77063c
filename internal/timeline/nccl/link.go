package nccl

import (
	"slices"
	"strings"

	"lacuna/internal/timeline/model"
)

// Link fills the Collectives of a finished trace from its Ranges with their payloads, and points the kernels to them
// that NCCL launched meanwhile. It does nothing to a trace that has Collectives, or no payloads.
func Link(t *model.Trace) {
	if t.Collectives.Len() > 0 || t.Ranges.Payload == nil || t.Ranges.Domain == nil {
		return
	}
	l := &linker{t: t, read: make(map[model.StringID]*said), sizes: make(map[party]int64),
		rows: make(map[asked]model.CollectiveRow), groups: make(map[int]*group)}
	threads := l.calls()
	if len(threads) == 0 {
		return
	}
	l.launches(threads)
	for _, th := range threads {
		l.thread(th)
	}
	l.fill()
}

// A linker is one at work.
type linker struct {
	t      *model.Trace
	read   map[model.StringID]*said // payloads; nil: says nothing
	sizes  map[party]int64          // ranks of communicators
	rows   map[asked]model.CollectiveRow
	groups map[int]*group // of what the calls that end groups launched, by their ranges
	ends   []int          // those ranges, in the order met
	direct []launch
}

// A party is a communicator in a process.
type party struct {
	process model.ProcessRow
	comm    string
}

// A call is a range of NCCL's.
type call struct {
	row   int // of Ranges
	op    *operation
	group string // groupStart, groupEnd or ""
	makes bool   // a communicator
	said  *said  // nil: nothing
}

// A launch is a kernel of NCCL's and when it was launched; then by which call.
type launch struct {
	kernel int
	ns     int64
	by     call
}

// A group is the calls that one ncclGroupEnd launches, and its kernels.
type group struct {
	calls   []call
	kernels []int
}

// asked is what decides a row of Collectives: the range, or of what a group put together its end and what it has in
// common.
type asked struct {
	row   int
	op    *operation
	comm  string
	bytes int64 // of one message; -1: unknown
	peer  int64
}

// A thread is NCCL's calls on one host thread, and the kernels launched from it, by time.
type thread struct {
	process  model.ProcessRow
	calls    []call
	launches []launch
}

// calls is the threads with NCCL's ranges, in the order met. It notes the sizes of communicators.
func (l *linker) calls() []*thread {
	t := l.t
	ours := make([]bool, len(t.Domains))
	for i := range t.Domains {
		ours[i] = t.Domains[i].Name == domain
	}
	byName := make(map[model.StringID]call)
	byThread := make(map[model.ThreadRow]*thread)
	var out []*thread
	for i, d := range t.Ranges.Domain {
		if int(d) >= len(ours) || !ours[d] || t.Ranges.Kind[i] != model.RangePushPop ||
			t.Ranges.Thread[i] == model.NoThread {
			continue
		}
		th := byThread[t.Ranges.Thread[i]]
		if th == nil {
			th = &thread{process: t.Threads[t.Ranges.Thread[i]].Process}
			byThread[t.Ranges.Thread[i]] = th
			out = append(out, th)
		}
		c, ok := byName[t.Ranges.Name[i]]
		if !ok {
			c = callNamed(t.Strings.Text(t.Ranges.Name[i]))
			byName[t.Ranges.Name[i]] = c
		}
		c.row, c.said = i, l.payload(t.Ranges.Payload[i])
		if c.said != nil && c.makes {
			if n := number(c.said.Ranks, maxRanks); n > 0 && c.said.comm() != "" {
				l.sizes[party{th.process, c.said.comm()}] = n
			}
		}
		if c.op != nil || c.group != "" {
			th.calls = append(th.calls, c)
		}
	}
	return out
}

// callNamed is the call that a range's name means.
func callNamed(name string) (c call) {
	if name == groupStart || name == groupEnd {
		c.group = name
	}
	c.makes = strings.HasPrefix(name, "ncclComm")
	for i := range operations {
		if operations[i].call == name {
			c.op = &operations[i]
		}
	}
	return c
}

func (l *linker) payload(id model.StringID) *said {
	s, ok := l.read[id]
	if !ok {
		if x, says := read(l.t.Strings.Text(id)); says {
			s = &x
		}
		l.read[id] = s
	}
	return s
}

// launches gives each thread the kernels of NCCL's that were launched from it.
func (l *linker) launches(threads []*thread) {
	type key struct {
		process model.ProcessRow
		corr    uint32
	}
	t, k := l.t, &l.t.Kernels
	kernels := make(map[key]int)
	isOurs := make(map[model.StringID]bool)
	for i, name := range k.Name {
		ours, seen := isOurs[name]
		if !seen {
			ours = isKernel(t.Strings.Text(name))
			isOurs[name] = ours
		}
		if ours && k.Corr[i] != model.NoCorr && (i >= len(k.Graph) || k.Graph[i] == model.NoGraph) {
			kernels[key{k.Process[i], k.Corr[i]}] = i
		}
	}
	byThread := make(map[model.ThreadRow]*thread)
	for _, th := range threads {
		if len(th.calls) > 0 {
			byThread[t.Ranges.Thread[th.calls[0].row]] = th
		}
	}
	for i, corr := range t.Calls.Corr {
		th := byThread[t.Calls.Thread[i]]
		if th == nil {
			continue
		}
		x := key{th.process, corr}
		if kernel, ok := kernels[x]; ok {
			th.launches = append(th.launches, launch{kernel: kernel, ns: t.Calls.StartNs[i]})
			delete(kernels, x) // a driver's call inside has the same number
		}
	}
}

// thread finds, for each launch of a thread, the innermost call around it: one that moves data has launched it, one
// that ends a group has launched what was asked for since the group began.
func (l *linker) thread(th *thread) {
	r := &l.t.Ranges
	var open, pending []call
	depth, next := 0, 0
	for _, x := range th.launches {
		for ; next < len(th.calls) && r.StartNs[th.calls[next].row] <= x.ns; next++ {
			c := th.calls[next]
			switch {
			case c.group == groupStart:
				depth++
			case c.group == groupEnd:
				if depth = max(depth-1, 0); depth == 0 {
					l.groups[c.row], l.ends = &group{calls: pending}, append(l.ends, c.row)
					pending = nil
				}
			case depth > 0:
				pending = append(pending, c)
			}
			// of one without an end it is not known what is in it
			if open = closed(open, r, r.StartNs[c.row]); r.DurNs[c.row] >= 0 {
				open = append(open, c)
			}
		}
		open = closed(open, r, x.ns)
		i := len(open) - 1
		for i >= 0 && open[i].op == nil {
			i--
		}
		switch {
		case i >= 0:
			x.by = open[i]
			l.direct = append(l.direct, x)
			depth, pending = 0, nil // nothing is launched within a group: its beginning or end was lost
		case len(open) > 0 && l.groups[open[len(open)-1].row] != nil:
			g := l.groups[open[len(open)-1].row]
			g.kernels = append(g.kernels, x.kernel)
		}
	}
}

// closed takes the calls off a stack that ended by an instant.
func closed(open []call, r *model.Ranges, ns int64) []call {
	for len(open) > 0 && r.EndNs(open[len(open)-1].row) <= ns {
		open = open[:len(open)-1]
	}
	return open
}

// fill makes the rows of Collectives.
func (l *linker) fill() {
	for _, x := range l.direct {
		l.point(x.kernel, wish(x.by))
	}
	for _, end := range l.ends {
		l.fillGroup(end, l.groups[end])
	}
}

// wish is what one call asks for.
func wish(c call) asked {
	a := asked{row: c.row, op: c.op, bytes: -1, peer: -1}
	if c.said != nil {
		a.bytes, a.comm = c.said.bytes(), c.said.comm()
		if c.op.toPeer() {
			a.peer = number(c.said.Peer, maxRanks)
		}
	}
	return a
}

// fillGroup says of each kernel of a group what it is of, as far as that is certain: NCCL may run calls that are
// alike in one kernel, and in another order.
func (l *linker) fillGroup(end int, g *group) {
	byWord := make(map[string][]int)
	var words []string
	for _, k := range g.kernels {
		word := wordOf(l.t.Strings.Text(l.t.Kernels.Name[k]))
		if byWord[word] == nil {
			words = append(words, word)
		}
		byWord[word] = append(byWord[word], k)
	}
	for _, word := range words {
		var calls []call
		for _, c := range g.calls {
			if word == "" || c.op.kernel == word {
				calls = append(calls, c)
			}
		}
		kernels := byWord[word]
		if a, ok := together(end, calls, len(kernels)); ok {
			for i, k := range kernels {
				if a.row != end && len(kernels) == len(calls) {
					a.row = calls[i].row
				}
				l.point(k, a)
			}
		}
	}
}

// together is what each of some kernels does for calls of one group; ok false: that is not certain.
func together(end int, calls []call, kernels int) (a asked, ok bool) {
	if len(calls) == 0 {
		return a, false
	}
	a = wish(calls[0])
	if len(calls) == 1 {
		return a, true
	}
	alike, known, sum := true, true, int64(0)
	for _, c := range calls {
		x := wish(c)
		if x.op != a.op || x.comm != a.comm || x.op.toPeer() {
			return a, false // of sends and receives to several peers the model has no word
		}
		alike = alike && x.bytes == a.bytes
		if known = known && x.bytes >= 0 && sum <= maxBytes; known {
			sum += x.bytes
		}
	}
	switch {
	case kernels == len(calls) && alike:
	case kernels == 1 && known && sum <= maxBytes:
		a.row, a.bytes = end, sum
	default:
		a.row, a.bytes = end, -1
	}
	return a, true
}

// point points a kernel to the row of what it does. Calls of which nothing is known but the name get none: the kernel
// has one.
func (l *linker) point(kernel int, a asked) {
	if a.comm == "" && a.bytes < 0 {
		return
	}
	k := &l.t.Kernels
	if k.Collective == nil {
		k.Collective = slices.Repeat([]model.CollectiveRow{model.NoCollective}, k.Len())
	}
	row, ok := l.rows[a]
	if !ok {
		row = l.add(a, k.Process[kernel])
		l.rows[a] = row
	}
	k.Collective[kernel] = row
}

// add makes a row of Collectives.
func (l *linker) add(a asked, process model.ProcessRow) model.CollectiveRow {
	c, s := &l.t.Collectives, &l.t.Strings
	ranks := l.sizes[party{process, a.comm}]
	in, out := max(a.bytes, 0), max(a.bytes, 0)
	switch a.op.message {
	case ofInput:
		out *= ranks
	case ofOutput:
		in *= ranks
	case ofEachPeer:
		in, out = in*ranks, out*ranks
	}
	c.Name, c.Group, c.GroupDesc = append(c.Name, s.Intern(a.op.name)), append(c.Group, s.Intern(a.comm)),
		append(c.GroupDesc, 0)
	c.Ranks, c.Dtype = append(c.Ranks, 0), append(c.Dtype, 0)
	c.InSplit, c.OutSplit = append(c.InSplit, 0), append(c.OutSplit, 0)
	c.GroupSize, c.Peer, c.Seq = append(c.GroupSize, int32(ranks)), append(c.Peer, int32(a.peer)),
		append(c.Seq, model.NoSequence)
	c.InElems, c.OutElems = append(c.InElems, 0), append(c.OutElems, 0)
	c.InBytes, c.OutBytes = append(c.InBytes, in), append(c.OutBytes, out)
	return model.CollectiveRow(c.Len() - 1)
}
