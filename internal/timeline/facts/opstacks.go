package facts

import (
	"strings"

	"lacuna/internal/timeline/model"
)

// OpStackFrames is how many frames of a call stack tell operators apart, innermost first.
const OpStackFrames = 5

// calledBy stands between a function and its caller.
const calledBy = " < "

// OpStacks is the Python code that each event of the OpTree was called from: texts of up to OpStackFrames
// functions, "inner < outer", and for each event the index of its text; text 0 is "". The stack is what the
// capture says of the operator, else the Python functions that run on its thread when it starts. What runs
// in a backward operator has the stack of the forward operator with the same sequence number, as in
// PyTorch: the code that asked for it.
func (f *Facts) OpStacks() (texts []string, stack []uint32) {
	o := f.OpTree()
	s := &opStacks{newInterner(), make([]uint32, o.Len())}
	s.fromPython(f.Trace, o)
	s.fromOps(f.Trace, o)
	s.backward(f.Trace, o)
	return s.texts, s.stack
}

type opStacks struct {
	*interner
	stack []uint32
}

// fromOps takes the stacks that operators carry.
func (s *opStacks) fromOps(t *model.Trace, o *OpTree) {
	if len(t.Ops.Stack) == 0 {
		return
	}
	byID := judge(&t.Strings, func(text string) uint32 {
		lines := strings.FieldsFunc(text, func(r rune) bool { return r == ';' || r == '\n' })
		return s.intern(strings.Join(lines[:min(len(lines), OpStackFrames)], calledBy))
	})
	for i, row := range o.Row {
		if o.Kind[i] == HostOp && t.Ops.Stack[row] != 0 {
			s.stack[i] = byID(t.Ops.Stack[row])
		}
	}
}

// fromPython finds the Python functions open on an event's thread at its start.
func (s *opStacks) fromPython(t *model.Trace, o *OpTree) {
	py := &t.PyCalls
	if py.Len() == 0 {
		return
	}
	caller, _ := Nest(py.StartNs, py.DurNs, py.Thread)
	open := make([]int32, len(t.Threads)) // innermost function of each thread
	for i := range open {
		open[i] = NotNested
	}
	names := newInterner()
	frameOf := judge(&t.Strings, func(name string) uint32 { return names.intern(withoutAddress(name)) })
	byFrames := make(map[[OpStackFrames]uint32]uint32)
	next := 0
	for i, th := range o.threads(t) {
		start := o.startNs(t, i)
		for ; next < py.Len() && py.StartNs[next] <= start; next++ {
			if th := py.Thread[next]; int(th) < len(open) {
				open[th] = int32(next)
			}
		}
		if int(th) >= len(open) {
			continue
		}
		for c := open[th]; c != NotNested && py.StartNs[c]+py.DurNs[c] <= start; {
			c = caller[c]
			open[th] = c
		}
		var frames [OpStackFrames]uint32
		n := 0
		for c := open[th]; c != NotNested && n < len(frames); c = caller[c] {
			frames[n] = frameOf(py.Name[c])
			n++
		}
		text, known := byFrames[frames]
		if !known {
			lines := make([]string, n)
			for k, frame := range frames[:n] {
				lines[k] = names.texts[frame]
			}
			text = s.intern(strings.Join(lines, calledBy))
			byFrames[frames] = text
		}
		s.stack[i] = text
	}
}

// backward gives events in backward operators the stacks of their forward operators.
func (s *opStacks) backward(t *model.Trace, o *OpTree) {
	if len(t.Ops.FwdThread) == 0 {
		return
	}
	isBackward := func(i int) bool { return o.Kind[i] == HostOp && t.Ops.FwdThread[o.Row[i]] != 0 }
	origin := make([]int32, o.Len()) // the backward operator around each event, or NotNested
	forward := make(map[int64]uint32)
	for i := range origin {
		origin[i] = NotNested
		switch p := o.Parent[i]; {
		case isBackward(i):
			origin[i] = int32(i)
		case p != NotNested:
			origin[i] = origin[p]
		}
		if origin[i] != NotNested || o.Kind[i] != HostOp {
			continue
		}
		if seq := at(t.Ops.Sequence, int(o.Row[i]), model.NoSequence); seq != model.NoSequence {
			if _, known := forward[seq]; !known {
				forward[seq] = s.stack[i]
			}
		}
	}
	for i, b := range origin {
		if b != NotNested {
			s.stack[i] = forward[at(t.Ops.Sequence, int(o.Row[b]), model.NoSequence)]
		}
	}
}

// withoutAddress is a function's name without the address of its object: the same code has many.
func withoutAddress(name string) string {
	before, after, found := strings.Cut(name, " at 0x")
	if !found {
		return name
	}
	return before + strings.TrimLeft(after, "0123456789abcdefABCDEF")
}
