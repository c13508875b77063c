package cpusample

import (
	"encoding/binary"
	"hash/maphash"
	"slices"
	"unsafe"

	"lacuna/internal/capture/spool"
)

// Bounds of memory. A stack is 300 bytes to 8 KiB, a frame about 100; programs have thousands of both, endless
// recursion over changing functions has more. Stacks are remembered up to maxStackBytes, then forgotten: met again
// they are resolved again. Those that wait to be resolved, a second's, are bounded by as much.
const (
	maxStackBytes = 32 << 20
	maxFrames     = 1 << 19
	maxNames      = 1 << 18
)

// A stack is a call stack that was met. Its frame is 0 until it has been resolved.
type stack struct {
	space     *space
	addresses []uint64 // innermost first
	kernel    bool

	// Of resolve: the sampler's other goroutine sees none of these.
	frame     uint32
	shortened bool // frames were left out for want of room
	alone     bool // no caller is known
}

// intern is the stack of a sample, the same for the same addresses. It returns nil when there is no room for another
// that waits to be resolved.
func (s *sampler) intern(sp *space, r *record) *stack {
	s.key = s.key[:0]
	if r.kernel {
		s.key = append(s.key, 1)
	}
	for _, a := range r.stack {
		s.key = binary.LittleEndian.AppendUint64(s.key, a)
	}
	hash := maphash.Bytes(s.seed, s.key)
	if known := sp.stacks[hash]; known != nil && known.kernel == r.kernel && slices.Equal(known.addresses, r.stack) {
		return known
	}
	need := int64(len(s.key)) + int64(unsafe.Sizeof(stack{})) + 64
	if s.freshBytes+need > maxStackBytes {
		return nil
	}
	if s.stackBytes+need > maxStackBytes {
		for _, other := range s.spaces {
			clear(other.stacks)
			other.stackBytes = 0
		}
		s.stackBytes = 0
	}
	s.freshBytes += need
	s.stackBytes += need
	st := &stack{space: sp, addresses: slices.Clone(r.stack), kernel: r.kernel}
	sp.stacks[hash] = st
	sp.stackBytes += need
	s.fresh = append(s.fresh, st)
	return st
}

// A place is an address in a mapping.
type place struct {
	mapping *mapping
	address uint64
}

// places is where the frames of a stack lie, outermost first. A caller that lies in no mapping is no caller: the
// chain of frame pointers is broken there, and what follows is nonsense. Return addresses are those after the call:
// one is taken off.
func (st *stack) places() []place {
	out := make([]place, 0, len(st.addresses))
	for i, a := range st.addresses {
		if i > 0 && a > 0 {
			a--
		}
		m := st.space.at(a)
		if m == nil && i > 0 {
			break
		}
		out = append(out, place{m, a})
	}
	for i, j := 0, len(out)-1; i < j; i, j = i+1, j-1 {
		out[i], out[j] = out[j], out[i]
	}
	return out
}

// A tree is every frame of every stack, once for each caller. It is used by one goroutine.
type tree struct {
	w       *spool.Writer
	symbols *symbols
	nodes   map[node]uint32
	names   map[place]frameName
	late    []lateFrame
	last    []placed // the stack that was resolved last, outermost first
	unnamed int64
}

// placed is a frame of a stack, and where it lies.
type placed struct {
	place place
	frame uint32
}

// A node is what makes two frames one.
type node struct {
	parent         uint32
	symbol, module spool.Text
	place          place // of frames without a name yet
}

type frameName struct {
	symbol, module spool.Text
	late           bool
}

// A lateFrame has a number, but a name may still come: its row is not yet written.
type lateFrame struct {
	frame, parent uint32
	space         *space
	place         place
}

func newTree(w *spool.Writer, s *symbols) *tree {
	return &tree{w: w, symbols: s, nodes: map[node]uint32{}, names: map[place]frameName{}}
}

// resolve is the innermost frame of a stack; 0: it has none. whole: none of its frames was left out.
func (t *tree) resolve(sp *space, places []place, kernel bool) (frame uint32, whole bool) {
	same := 0 // stacks that follow each other have most of their outer frames in common
	for same < min(len(places), len(t.last)) && places[same] == t.last[same].place {
		frame = t.last[same].frame
		same++
	}
	t.last = t.last[:same]
	for _, p := range places[same:] {
		n := t.name(sp, p)
		key := node{parent: frame, symbol: n.symbol, module: n.module}
		if n.late {
			key = node{parent: frame, place: p}
		}
		next, isNew := t.child(key)
		if next == 0 {
			return frame, false
		}
		if n.late && isNew {
			t.late = append(t.late, lateFrame{next, frame, sp, p})
		}
		frame = next
		t.last = append(t.last, placed{p, frame})
	}
	if kernel {
		key := node{parent: frame, symbol: t.w.Text(kernelModule), module: t.w.Text(kernelModule)}
		if next, _ := t.child(key); next != 0 {
			return next, true
		}
		return frame, false
	}
	return frame, true
}

// child is the frame of a node, new or known; 0: there is no room.
func (t *tree) child(key node) (id uint32, isNew bool) {
	if known, ok := t.nodes[key]; ok {
		return known, false
	}
	if len(t.nodes) >= maxFrames {
		return 0, false
	}
	id = uint32(len(t.nodes) + 1)
	t.nodes[key] = id
	if key.symbol != 0 {
		t.write(id, key.parent, key.symbol, key.module)
	}
	return id, true
}

func (t *tree) write(frame, parent uint32, symbol, module spool.Text) {
	// The writer keeps its first error, and Close returns it.
	_ = t.w.Append(spool.Frame{Frame: frame, Parent: parent, Symbol: symbol, Module: module})
}

// name is the name of a place; remembered, unless it may still come.
func (t *tree) name(sp *space, p place) frameName {
	if p.mapping == nil {
		return frameName{symbol: t.w.Text("[unknown]")}
	}
	if known, ok := t.names[p]; ok {
		return known
	}
	n, found, late := t.symbols.name(sp, p.mapping, p.address)
	if late {
		return frameName{late: true}
	}
	if !found {
		t.unnamed++
	}
	if len(t.names) >= maxNames {
		clear(t.names)
	}
	out := frameName{symbol: t.w.Text(n.symbol), module: t.w.Text(n.module)}
	t.names[p] = out
	return out
}

// nameLate writes the rows of frames whose names have come; at the end all of them, by their addresses if need be.
func (t *tree) nameLate(final bool) {
	if len(t.late) == 0 {
		return
	}
	t.symbols.update()
	kept := t.late[:0]
	for _, l := range t.late {
		n, found, _ := t.symbols.name(l.space, l.place.mapping, l.place.address)
		if !found && !final {
			kept = append(kept, l)
			continue
		}
		if !found {
			t.unnamed++
		}
		t.write(l.frame, l.parent, t.w.Text(n.symbol), t.w.Text(n.module))
	}
	t.late = kept
}
