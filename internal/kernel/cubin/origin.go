package cubin

import "slices"

// An Origin is what a value descends from, as far as it differs between the threads of a warp. 0: it is the same in
// all of them (parameters, constants, the block's index), or not known, as in a function that is called.
type Origin uint8

// The origins.
const (
	FromThread Origin = 1 << iota // the thread's index
	FromLoad                      // global memory, or what an atomic returned
	FromMemory                    // shared or local memory
	Carried                       // around a loop, by more than adding a step: x = x*x + c, a state of random numbers
	mixed                         // by an exclusive or
	scaled                        // by a large odd factor
)

// Data says that a value follows from what was loaded, or was worked out step by step: another order of threads or
// another layout does not change it.
func (o Origin) Data() bool { return o&(FromLoad|FromMemory|Carried) != 0 }

// Scattered says that an address follows from loaded data or from a hash: neighbouring threads have no neighbouring
// ones whatever the layout.
func (o Origin) Scattered() bool { return o&FromLoad != 0 || o&(mixed|scaled) == mixed|scaled }

// A Trail is what is known of where the values of a function's instructions come from. Values are followed through
// registers and predicates, not through memory and not through calls.
type Trail struct {
	Address   []Origin  // of each instruction that accesses memory: its address
	Feeds     [][]int32 // the global loads whose values that address descends from, with no other load between
	Condition []Origin  // of the guard of each instruction, and of what a branch tests
	Tested    [][]int32 // the loads whose values that descends from, likewise
	blocks    []block
	blockOf   []int32
	deciders  [][]int32 // by block: the instructions that decide whether it runs
	readers   [][]int32 // by node
}

// maxTraced bounds the time that Trace takes: of longer functions nothing is known.
const maxTraced = 1 << 16

// Trace follows the values of a function.
func Trace(list []Instruction) *Trail {
	t := &Trail{
		Address: make([]Origin, len(list)), Feeds: make([][]int32, len(list)), Condition: make([]Origin, len(list)),
		Tested: make([][]int32, len(list)), blockOf: make([]int32, len(list)),
	}
	if len(list) == 0 || len(list) > maxTraced {
		return t
	}
	t.blocks = blocksOf(list, t.blockOf)
	t.deciders = deciders(t.blocks)
	g := graphOf(list, t.blocks)
	origins := g.origins()
	t.readers = g.readers()
	seen := make([]int32, len(g.from))
	behind := func(n int, nodes []int32) []int32 { return g.loadsBehind(nodes, seen, int32(n+1)) }
	for n, i := range list {
		for _, s := range g.conditions[n] {
			t.Condition[n] |= origins[s]
		}
		if t.Condition[n]&FromLoad != 0 {
			t.Tested[n] = behind(2*n, g.conditions[n])
		}
		if !i.accesses() {
			continue
		}
		for _, s := range g.addresses[n] {
			t.Address[n] |= origins[s]
		}
		if t.Address[n]&FromLoad != 0 {
			t.Feeds[n] = behind(2*n+1, g.addresses[n])
		}
	}
	return t
}

// accesses says that an instruction has an address in memory.
func (i Instruction) accesses() bool { return i.Kind >= LoadGlobal && i.Kind <= CopyToShared }

// Deciders are the branches and guarded exits that decide whether an instruction runs: those it depends on, those that
// they depend on, and so on. Ascending.
func (t *Trail) Deciders(i int) []int32 {
	if t.deciders == nil {
		return nil
	}
	return t.deciders[t.blockOf[i]]
}

// Repeats says that a branch decides whether it runs again itself: it ends a loop.
func (t *Trail) Repeats(i int32) bool {
	for _, d := range t.Deciders(int(i)) {
		if d == i {
			return true
		}
	}
	return false
}

// Readers are the instructions that read what an instruction writes, also around loops and behind branches. Ascending.
func (t *Trail) Readers(i int) (all []int32) {
	if t.readers == nil {
		return nil
	}
	seen := map[int32]bool{}
	todo := []int32{int32(i)}
	for len(todo) > 0 {
		at := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, r := range t.readers[at] {
			if seen[r] {
				continue
			}
			seen[r] = true
			if int(r) < len(t.blockOf) {
				all = append(all, r)
			} else {
				todo = append(todo, r)
			}
		}
	}
	slices.Sort(all)
	return all
}

// The special registers that differ between threads of a warp.
const (
	laneID              = 0x00
	threadX, threadZ    = 0x21, 0x23
	equalMask, lastMask = 0x38, 0x3c
)

// origin is what an instruction makes of its sources' origins, address its address's.
func (i Instruction) origin(sources, address Origin) Origin {
	switch {
	case i.Name == "S2R":
		if s := i.Selects; s == laneID || s >= threadX && s <= threadZ || s >= equalMask && s <= lastMask {
			return FromThread
		}
		return 0
	case i.Name == "VOTE" || i.Name == "B2R" || i.Dest.First >= UniformRegisters && i.Dest.Count > 0:
		return 0 // one for the warp
	case i.Kind == LoadGlobal && address != 0, i.Kind == Atomic:
		return FromLoad
	case (i.Kind == LoadLocal || i.Kind == LoadShared) && address != 0:
		return FromMemory
	case i.accesses():
		return 0 // all threads load the same
	case sources == 0:
		return 0
	case i.Name == "LOP3" && i.exclusive():
		return sources | mixed
	case i.Name == "IMAD" && i.Form == 4 && i.Constant > 1<<16 && i.Constant&1 == 1:
		return sources | scaled
	}
	return sources
}

// exclusive says that a LOP3's table is an exclusive or of two or three of its operands.
func (i Instruction) exclusive() bool {
	switch i.Selects {
	case 0x3c, 0x5a, 0x66, 0x96:
		return true
	}
	return false
}

// adds says that an instruction only adds to the operands for which is says yes, or copies them.
func (i Instruction) adds(is func(register uint16) bool) bool {
	switch i.Name {
	case "IADD3", "VIADD", "UIADD3", "MOV", "UMOV", "LEA", "ULEA":
		return true
	case "IMAD", "IMAD.WIDE":
		if i.Form == 4 && i.Constant == 1 {
			return true
		}
		for _, s := range i.Uses {
			for r := s.First; r < s.First+s.Count; r++ {
				if is(r) && !i.Third.Has(r) {
					return false
				}
			}
		}
		return true
	}
	return false
}
