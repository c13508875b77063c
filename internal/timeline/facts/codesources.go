package facts

import (
	"slices"
	"strings"

	"lacuna/internal/base/interval"
	"lacuna/internal/timeline/model"
)

// hostCode is what is known of the code that ran, by thread.
type hostCode struct {
	codes  []Code // by number
	number map[Code]int32
	names  []string // of what they call, by number; 0: ""
	called map[string]int32
	pairs  []running // by number
	paired map[running]model.StringID

	python  [][][]named // innermost functions, as numbers of pairs: of the program, then of the framework
	samples [][]sampled // by time
	period  []int64     // ns from sample to sample while a thread runs; 0: unknown
	onCPU   []interval.Set
	ofFrame []int32 // of each frame as the innermost one of a stack: its code, or -1
	below   []bool  // and whether that is code below every program, which a call's name says better
	ofCall  map[model.StringID]int32
}

// running is a function, and what it calls itself.
type running struct{ code, called int32 }

type sampled struct {
	ns   int64
	code int32
}

func (h *hostCode) intern(c Code) int32 {
	n, ok := h.number[c]
	if !ok {
		n = int32(len(h.codes))
		h.number[c], h.codes = n, append(h.codes, c)
	}
	return n
}

func (f *Facts) hostCode() *hostCode {
	return f.kept.hostCode.of(f, func(f *Facts) *hostCode {
		n := len(f.Trace.Threads)
		h := &hostCode{number: make(map[Code]int32), names: []string{""}, called: map[string]int32{"": 0},
			paired: make(map[running]model.StringID), python: make([][][]named, n), samples: make([][]sampled, n),
			period: make([]int64, n), onCPU: make([]interval.Set, n), ofCall: make(map[model.StringID]int32)}
		h.addPython(f.Trace)
		h.addOpStacks(f.Trace)
		h.addFrames(f.Trace)
		h.addSamples(f.Trace)
		h.addScheduling(f.Trace)
		return h
	})
}

// pair is the number of a function and what it calls; spans carry it as their name.
func (h *hostCode) pair(r running) model.StringID {
	n, ok := h.paired[r]
	if !ok {
		n = model.StringID(len(h.pairs))
		h.paired[r], h.pairs = n, append(h.pairs, r)
	}
	return n
}

// addPython finds the innermost function at each instant of each thread, of the program and of the framework, and what
// that calls.
func (h *hostCode) addPython(t *model.Trace) {
	py := &t.PyCalls
	if py.Len() == 0 {
		return
	}
	type known struct {
		code, called int32
		rank         codeRank
	}
	judged := judge(&t.Strings, func(name string) known {
		c, rank := pythonCode(name)
		text := calledText(name)
		n, ok := h.called[text]
		if !ok {
			n = int32(len(h.names))
			h.called[text], h.names = n, append(h.names, text)
		}
		return known{h.intern(c), n, rank}
	})
	caller, _ := Nest(py.StartNs, py.DurNs, py.Thread)
	flat := make([][2]flattener, len(t.Threads))
	for i, th := range py.Thread {
		if int(th) >= len(flat) || py.DurNs[i] <= 0 {
			continue
		}
		own, above := judged(py.Name[i]), known{}
		if caller[i] != NotNested {
			above = judged(py.Name[caller[i]])
		}
		for k, rank := range [...]codeRank{codeUser, codeFramework} {
			s := named{Span: interval.Span{StartNs: py.StartNs[i], EndNs: py.StartNs[i] + py.DurNs[i]}}
			switch {
			case own.rank == rank:
				s.name = h.pair(running{code: own.code})
			case above.rank == rank:
				s.name = h.pair(running{above.code, own.called})
			default:
				continue
			}
			flat[th][k].add(s)
		}
	}
	h.addFlat(flat)
}

// addOpStacks takes the call stacks that operators carry, innermost function first, on threads of which no Python
// functions are recorded: within operators the code is known then, between them it is not.
func (h *hostCode) addOpStacks(t *model.Trace) {
	if len(t.Ops.Stack) == 0 {
		return
	}
	type known struct {
		name model.StringID
		rank codeRank
	}
	judged := judge(&t.Strings, func(stack string) (best known) {
		for _, frame := range strings.FieldsFunc(stack, func(r rune) bool { return r == ';' || r == '\n' }) {
			if c, rank := pythonCode(frame); rank > best.rank && rank >= codeFramework {
				best = known{h.pair(running{code: h.intern(c)}), rank}
			}
		}
		return best
	})
	flat := make([][2]flattener, len(t.Threads))
	for i, th := range t.Ops.Thread {
		if int(th) >= len(flat) || len(h.python[th]) > 0 || t.Ops.DurNs[i] <= 0 {
			continue
		}
		s := named{Span: interval.Span{StartNs: t.Ops.StartNs[i], EndNs: t.Ops.EndNs(i)}}
		switch own := judged(t.Ops.Stack[i]); own.rank {
		case codeUser:
			s.name = own.name
			flat[th][0].add(s)
		case codeFramework:
			s.name = own.name
			flat[th][1].add(s)
		}
	}
	h.addFlat(flat)
}

// addFlat makes layers of the innermost functions of each thread.
func (h *hostCode) addFlat(flat [][2]flattener) {
	for th := range flat {
		for k := range flat[th] {
			if spans := flat[th][k].finish(); len(spans) > 0 {
				h.python[th] = append(h.python[th], spans)
			}
		}
	}
}

// addFrames judges every stack by its innermost frame: the code that tells most, Python's first.
func (h *hostCode) addFrames(t *model.Trace) {
	n := t.Frames.Len()
	h.ofFrame, h.below = make([]int32, n), make([]bool, n)
	type best struct {
		code   int32
		weight uint8 // 0: nothing
	}
	of := make([]best, n)
	done := make([]bool, n)
	module := func(i model.FrameRow) string { return t.Strings.Text(at(t.Frames.Module, int(i), 0)) }
	tool := best{h.intern(Code{Module: toolModule}), 2 * uint8(codeTool)}
	own := func(i model.FrameRow) best {
		symbol, module := t.Strings.Text(t.Frames.Symbol[i]), module(i)
		c, rank := pythonCode(symbol)
		python := rank != codeSilent
		if !python {
			c, rank = compiledCode(symbol, module)
		}
		if rank == codeSilent {
			return best{code: -1}
		}
		weight := 2 * uint8(rank)
		if python {
			weight++
		}
		return best{h.intern(c), weight}
	}
	var open []model.FrameRow
	for i := range n {
		open = open[:0]
		for at := model.FrameRow(i); int(at) < n && !done[at] && len(open) <= n; at = t.Frames.Parent[at] {
			done[at] = true
			open = append(open, at)
		}
		for _, at := range slices.Backward(open) { // callers first
			of[at] = own(at)
			up := t.Frames.Parent[at]
			if int(up) < n && isInjected(moduleFile(module(at))) && callsTools(moduleFile(module(up))) {
				of[at] = tool
			}
			if int(up) < n && of[up].weight > of[at].weight {
				of[at] = of[up]
			}
		}
	}
	for i, b := range of {
		if h.ofFrame[i] = b.code; b.weight == 0 {
			h.ofFrame[i] = -1
		}
		h.below[i] = b.weight < 2*uint8(codeFramework)
	}
}

// stack is the code of a stack, or -1.
func (h *hostCode) stack(f model.FrameRow) int32 {
	if int(f) < len(h.ofFrame) {
		return h.ofFrame[f]
	}
	return -1
}

func (h *hostCode) addSamples(t *model.Trace) {
	for i, th := range t.Samples.Thread {
		if int(th) < len(h.samples) {
			stack := h.stack(at(t.Samples.Stack, i, model.NoFrame))
			h.samples[th] = append(h.samples[th], sampled{t.Samples.TimeNs[i], stack})
		}
	}
	for th, list := range h.samples {
		gaps := make([]int64, 0, len(list))
		for i := 1; i < len(list); i++ {
			gaps = append(gaps, list[i].ns-list[i-1].ns)
		}
		if len(gaps) >= MinSamples {
			h.period[th] = medianOf(gaps)
		}
	}
}

// addScheduling finds when each thread was on a CPU.
func (h *hostCode) addScheduling(t *model.Trace) {
	in := make([]int64, len(h.onCPU))
	for i := range in {
		in[i] = minTime // as long as nothing says otherwise, it had been there from the beginning
	}
	spans := make([][]interval.Span, len(h.onCPU))
	for i, th := range t.Sched.Thread {
		if int(th) >= len(in) {
			continue
		}
		ns := t.Sched.TimeNs[i]
		switch {
		case t.Sched.In[i] && in[th] == maxTime:
			in[th] = ns
		case t.Sched.In[i] && in[th] == minTime:
			in[th] = ns
		case !t.Sched.In[i] && in[th] != maxTime:
			if in[th] < ns {
				spans[th] = append(spans[th], interval.Span{StartNs: in[th], EndNs: ns})
			}
			in[th] = maxTime
		}
	}
	for th := range spans {
		if len(spans[th]) > 0 && in[th] != maxTime {
			spans[th] = append(spans[th], interval.Span{StartNs: in[th], EndNs: maxTime})
		}
		h.onCPU[th] = interval.Union(spans[th])
	}
}
