package cubin

import "slices"

// A block is instructions that run one after the other: none but the last branches, none but the first is branched to.
type block struct {
	first, end int32 // positions of its instructions
	to, from   []int32
	leaves     bool // some threads end here, or go where it is not known
}

// blocksOf cuts a function up, and says of each instruction in which block it is.
func blocksOf(list []Instruction, blockOf []int32) (blocks []block) {
	begins := make([]bool, len(list)+1)
	begins[0] = true
	target := func(i Instruction) (int, bool) {
		if !i.Branch || i.Target < list[0].Offset {
			return 0, false
		}
		to := (i.Target - list[0].Offset) / InstructionBytes
		return int(to), to < uint64(len(list))
	}
	for n, i := range list {
		if to, ok := target(i); ok {
			begins[to] = true
		}
		begins[n+1] = begins[n+1] || i.Branch || i.Kind == Exit
	}
	for n := range list {
		if begins[n] {
			blocks = append(blocks, block{first: int32(n)})
		}
		blockOf[n] = int32(len(blocks) - 1)
		blocks[blockOf[n]].end = int32(n + 1)
	}
	join := func(a, b int32) {
		if !slices.Contains(blocks[a].to, b) {
			blocks[a].to, blocks[b].from = append(blocks[a].to, b), append(blocks[b].from, a)
		}
	}
	for b := range blocks {
		last := list[blocks[b].end-1]
		if to, ok := target(last); ok {
			join(int32(b), blockOf[to])
		} else if last.Branch {
			blocks[b].leaves = true
		}
		blocks[b].leaves = blocks[b].leaves || last.Kind == Exit
		if last.Ends {
			continue
		}
		if int(blocks[b].end) < len(list) {
			join(int32(b), blockOf[blocks[b].end])
		} else {
			blocks[b].leaves = true
		}
	}
	return blocks
}

// deciders is, of each block, the last instructions of the blocks that decide whether it runs, also through others: a
// block decides if one of its ways leads there whatever comes after, and another may not.
func deciders(blocks []block) [][]int32 {
	behind := postdominators(blocks)
	direct := make([][]int32, len(blocks))
	for a := range blocks {
		if len(blocks[a].to) < 2 && !(blocks[a].leaves && len(blocks[a].to) == 1) {
			continue
		}
		for _, at := range blocks[a].to {
			for at >= 0 && at != behind[a] {
				if !slices.Contains(direct[at], int32(a)) {
					direct[at] = append(direct[at], int32(a))
				}
				next := behind[at]
				if next == at {
					break
				}
				at = next
			}
		}
	}
	all := make([][]int32, len(blocks))
	seen := make([]int, len(blocks))
	for b := range blocks {
		todo := slices.Clone(direct[b])
		for len(todo) > 0 {
			a := todo[len(todo)-1]
			todo = todo[:len(todo)-1]
			if seen[a] == b+1 {
				continue
			}
			seen[a] = b + 1
			all[b] = append(all[b], blocks[a].end-1)
			todo = append(todo, direct[a]...)
		}
		slices.Sort(all[b])
	}
	return all
}

// postdominators is, of each block, the next one through which every way to the end goes; -1: none but the end itself.
func postdominators(blocks []block) []int32 {
	end := int32(len(blocks)) // a block of its own
	order, number := backwards(blocks, end)
	behind := make([]int32, len(blocks)+1)
	for i := range behind {
		behind[i] = -1
	}
	behind[end] = end
	meet := func(a, b int32) int32 {
		for a != b {
			for number[a] > number[b] {
				a = behind[a]
			}
			for number[b] > number[a] {
				b = behind[b]
			}
		}
		return a
	}
	for changed := true; changed; {
		changed = false
		for _, b := range order {
			next := int32(-1)
			ways := blocks[b].to
			if blocks[b].leaves {
				ways = append(slices.Clone(ways), end)
			}
			for _, s := range ways {
				switch {
				case behind[s] < 0: // not yet reached, or no way from it to the end
				case next < 0:
					next = s
				default:
					next = meet(next, s)
				}
			}
			if next != behind[b] {
				behind[b], changed = next, true
			}
		}
	}
	for b := range blocks {
		if behind[b] == end {
			behind[b] = -1
		}
	}
	return behind[:len(blocks)]
}

// backwards is the blocks from which the end is reached, each behind one of those that it leads to, and their numbers
// in that order; the end is number 0.
func backwards(blocks []block, end int32) (order, number []int32) {
	type step struct{ at, next int32 }
	seen := make([]bool, len(blocks))
	var done []int32
	for b := range blocks {
		if !blocks[b].leaves || seen[b] {
			continue
		}
		seen[b] = true
		todo := []step{{int32(b), 0}}
		for len(todo) > 0 {
			top := &todo[len(todo)-1]
			from := blocks[top.at].from
			if int(top.next) == len(from) {
				done = append(done, top.at)
				todo = todo[:len(todo)-1]
				continue
			}
			top.next++
			if f := from[top.next-1]; !seen[f] {
				seen[f] = true
				todo = append(todo, step{f, 0})
			}
		}
	}
	slices.Reverse(done)
	number = make([]int32, len(blocks)+1)
	for n, b := range done {
		number[b] = int32(n + 1)
	}
	return done, number
}
