package cubin

// Producers are the instructions that instruction i may have to wait for: those that take a scoreboard counter which it
// waits on, since the last time that somebody waited for that counter. Where some of them write a register that it
// names, only those. A counter that nobody before it takes is taken by the end of a loop: the search goes on there.
func Producers(list []Instruction, i int) []int {
	var found []int
	for counter := int8(0); counter < 6; counter++ {
		if list[i].Waits>>counter&1 == 0 {
			continue
		}
		takers := takers(list[:i], counter)
		if takers == nil {
			takers = takersFrom(list, i, counter)
		}
		found = append(found, takers...)
	}
	var named []int
	for _, p := range found {
		if list[p].touches(list[i]) {
			named = append(named, p)
		}
	}
	if named != nil {
		return named
	}
	return found
}

// maxBack is how many instructions back a taker of a counter is looked for. It bounds the time that damaged code
// costs; in the corpus the farthest load is 803 before its use.
const maxBack = 2048

// takers are the instructions at the end of list that take a counter, back to where it was last waited for.
func takers(list []Instruction, counter int8) (found []int) {
	for p := len(list) - 1; p >= max(0, len(list)-maxBack); p-- {
		if list[p].Writes == counter || list[p].Reads == counter {
			found = append(found, p)
		}
		if list[p].Waits>>counter&1 == 1 && found != nil {
			break
		}
	}
	return found
}

// takersFrom is takers from the end of the loop that i is in: the nearest branch behind i that goes back to i or
// before it.
func takersFrom(list []Instruction, i int, counter int8) []int {
	for p := i; p < min(len(list), i+maxBack); p++ {
		if list[p].Branch && list[p].Target <= list[i].Offset {
			var behind []int
			for _, t := range takers(list[:p+1], counter) {
				if t >= i {
					behind = append(behind, t)
				}
			}
			return behind
		}
	}
	return nil
}

// touches says whether the registers that i writes, or reads while they must stay, are named by user.
func (i Instruction) touches(user Instruction) bool {
	for _, s := range append(user.Uses[:], user.Dest) {
		if s.Overlaps(i.Dest) {
			return true
		}
	}
	for _, s := range i.Uses { // the user overwrites what i may still be reading
		if i.Reads >= 0 && s.Overlaps(user.Dest) {
			return true
		}
	}
	return false
}

// A bitset of registers.
type registers [(Registers + 63) / 64]uint64

func (r *registers) set(s Span, on bool) {
	for n := s.First; n < s.First+s.Count && n < Registers; n++ {
		if on {
			r[n/64] |= 1 << (n % 64)
		} else {
			r[n/64] &^= 1 << (n % 64)
		}
	}
}

func (r *registers) any(s Span) bool {
	for n := s.First; n < s.First+s.Count && n < Registers; n++ {
		if r[n/64]>>(n%64)&1 == 1 {
			return true
		}
	}
	return false
}

// join adds o and says whether that changed anything.
func (r *registers) join(o registers) (changed bool) {
	for i := range r {
		if o[i]&^r[i] != 0 {
			r[i] |= o[i]
			changed = true
		}
	}
	return changed
}

// maxPasses bounds the search for a fixed point: loops nested deeper than this are followed no further.
const maxPasses = 16

// LoadedAddresses says of each instruction whether it is a load from global memory whose address descends from a value
// that another load brought from global memory: a gather or a walk along a list, whose pattern no reordering of threads
// fixes. Values are followed forwards through registers, joined where branches meet, forgotten when overwritten; not
// through memory and not through calls.
func LoadedAddresses(list []Instruction) []bool {
	before := make([]registers, len(list)) // registers that hold something loaded
	first := uint64(0)
	if len(list) > 0 {
		first = list[0].Offset
	}
	for changed, pass := true, 0; changed && pass < maxPasses; pass++ {
		changed = false
		for n, i := range list {
			after := before[n]
			i.passOn(&after)
			if i.Branch && i.Target >= first {
				if to := (i.Target - first) / InstructionBytes; to < uint64(len(list)) {
					changed = before[to].join(after) || changed
				}
			}
			if !i.Ends && n+1 < len(list) {
				before[n+1].join(after) // a later instruction of this same pass
			}
		}
	}
	loaded := make([]bool, len(list))
	for n, i := range list {
		loaded[n] = i.Kind == LoadGlobal && before[n].any(i.Uses[0])
	}
	return loaded
}

// passOn changes the registers that hold something loaded as the instruction does.
func (i Instruction) passOn(r *registers) {
	loaded := i.Kind == LoadGlobal
	for _, s := range i.Uses {
		loaded = loaded || i.Kind == Other && r.any(s)
	}
	if loaded || i.Guard == 7 { // one that may not execute may leave what was there
		r.set(i.Dest, loaded)
	}
}
