package cubin

import "slices"

// A graph has a node for what each instruction writes, and one for each register at the beginning of a block where
// ways meet. An edge leads to where a value comes from.
type graph struct {
	list       []Instruction
	from       [][]int32 // by node
	addresses  [][]int32 // by instruction: of them the sources of its address,
	conditions [][]int32 // of its guard, and of what a branch tests
	meets      map[meeting]int32
	added      []meeting // by node, from len(list) on
	atEnd      [][]int32 // by block: the node of each register at its end; -1: none in the block
}

// A meeting is a register at the beginning of a block.
type meeting struct {
	block    int32
	register uint16
}

// tracked is how many registers and predicates have values.
const tracked = Registers + 16

func graphOf(list []Instruction, blocks []block) *graph {
	g := &graph{
		list: list, from: make([][]int32, len(list)), addresses: make([][]int32, len(list)),
		conditions: make([][]int32, len(list)), meets: make(map[meeting]int32), atEnd: make([][]int32, len(blocks)),
	}
	for b := range blocks {
		g.follow(int32(b), blocks[b])
	}
	for n := 0; n < len(g.added); n++ { // grows meanwhile
		at := g.added[n]
		var from []int32
		for _, p := range blocks[at.block].from {
			source := g.atEnd[p][at.register]
			if source < 0 {
				source = g.meet(p, at.register)
			}
			from = append(from, source)
		}
		g.from[len(list)+n] = from
	}
	return g
}

// meet is the node of a register at the beginning of a block.
func (g *graph) meet(b int32, register uint16) int32 {
	at := meeting{b, register}
	node, ok := g.meets[at]
	if !ok {
		node = int32(len(g.from))
		g.meets[at] = node
		g.added, g.from = append(g.added, at), append(g.from, nil)
	}
	return node
}

// follow adds the edges of a block's instructions.
func (g *graph) follow(b int32, at block) {
	now := make([]int32, tracked)
	for r := range now {
		now[r] = -1
	}
	value := func(register uint16) int32 {
		if now[register] < 0 {
			return g.meet(b, register)
		}
		return now[register]
	}
	for n := at.first; n < at.end; n++ {
		i := g.list[n]
		for k, s := range i.Uses {
			for r := s.First; r < min(s.First+s.Count, Registers); r++ {
				g.from[n] = append(g.from[n], value(r))
				if k == 0 && i.accesses() {
					g.addresses[n] = append(g.addresses[n], value(r))
				}
			}
		}
		for p := range uint16(16) {
			if i.tests()>>p&1 == 1 {
				g.conditions[n] = append(g.conditions[n], value(Registers+p))
			}
		}
		g.from[n] = append(g.from[n], g.conditions[n]...)
		write := func(register uint16) {
			if register >= tracked {
				return
			}
			if i.Guard != 7 { // the value before may stay
				g.from[n] = append(g.from[n], value(register))
			}
			now[register] = n
		}
		for r := i.Dest.First; r < i.Dest.First+i.Dest.Count; r++ {
			write(r)
		}
		for p := range uint16(16) {
			if i.sets()>>p&1 == 1 {
				write(Registers + p)
			}
		}
	}
	g.atEnd[b] = now
}

// readers is the nodes that read each.
func (g *graph) readers() [][]int32 {
	all := make([][]int32, len(g.from))
	for n, from := range g.from {
		for _, f := range from {
			all[f] = append(all[f], int32(n))
		}
	}
	return all
}

// allPredicates are what P2R and R2P copy.
const allPredicates = 0x7f

// tests is the predicates that an instruction reads, its guard among them.
func (i Instruction) tests() Predicates {
	set := i.Tests
	switch {
	case i.Guard == 7:
	case i.Name != "" && i.Name[0] == 'U':
		set |= 1 << (uniformPredicates + i.Guard)
	default:
		set |= 1 << i.Guard
	}
	if i.Name == "P2R" {
		set |= allPredicates
	}
	return set
}

func (i Instruction) sets() Predicates {
	if i.Name == "R2P" {
		return allPredicates
	}
	return i.Sets
}

// origins is what each node descends from. Nodes that come from each other (a value carried around a loop) are one:
// Tarjan's algorithm meets them after all that they come from.
func (g *graph) origins() []Origin {
	s := search{graph: g, number: make([]int32, len(g.from)), low: make([]int32, len(g.from)),
		waits: make([]bool, len(g.from)), origins: make([]Origin, len(g.from)), circle: make([]int32, len(g.from))}
	for n := range g.from {
		if s.number[n] == 0 {
			s.run(int32(n))
		}
	}
	return s.origins
}

type search struct {
	*graph
	number, low []int32
	waits       []bool
	stack       []int32
	count       int32
	origins     []Origin
	circle      []int32 // which circle a node is in, from 1; 0: not known yet
	circles     int32
}

// run visits a node and all that it comes from, without recursion: loops of generated code are long.
func (s *search) run(root int32) {
	type step struct{ at, next int32 }
	enter := func(n int32) step {
		s.count++
		s.number[n], s.low[n], s.waits[n] = s.count, s.count, true
		s.stack = append(s.stack, n)
		return step{n, 0}
	}
	todo := []step{enter(root)}
	for len(todo) > 0 {
		top := &todo[len(todo)-1]
		if from := s.from[top.at]; int(top.next) < len(from) {
			to := from[top.next]
			top.next++
			if s.number[to] == 0 {
				todo = append(todo, enter(to))
			} else if s.waits[to] {
				s.low[top.at] = min(s.low[top.at], s.number[to])
			}
			continue
		}
		at := top.at
		todo = todo[:len(todo)-1]
		if len(todo) > 0 {
			up := todo[len(todo)-1].at
			s.low[up] = min(s.low[up], s.low[at])
		}
		if s.low[at] == s.number[at] {
			first := len(s.stack) - 1
			for s.stack[first] != at {
				first--
			}
			s.close(s.stack[first:])
			s.stack = s.stack[:first]
		}
	}
}

// close gives the nodes of a circle, or a single node, their origins.
func (s *search) close(nodes []int32) {
	s.circles++
	for _, n := range nodes {
		s.circle[n], s.waits[n] = s.circles, false
	}
	if len(nodes) == 1 && !slices.Contains(s.from[nodes[0]], nodes[0]) {
		s.origins[nodes[0]] = s.of(nodes[0])
		return
	}
	var all Origin
	steps := true
	for _, n := range nodes {
		for _, f := range s.from[n] {
			all |= s.origins[f]
		}
	}
	for _, n := range nodes {
		if int(n) >= len(s.list) {
			continue
		}
		all |= s.list[n].origin(all, all)
		steps = steps && s.steps(n)
	}
	if all != 0 && !steps {
		all |= Carried
	}
	for _, n := range nodes {
		s.origins[n] = all
	}
}

// steps says that an instruction of a circle only adds what comes from outside of it.
func (s *search) steps(n int32) bool {
	i := s.list[n]
	inside := make(map[uint16]bool)
	at := 0
	for _, u := range i.Uses {
		for r := u.First; r < min(u.First+u.Count, Registers); r++ {
			inside[r] = s.circle[s.from[n][at]] == s.circle[n]
			at++
		}
	}
	return i.adds(func(r uint16) bool { return inside[r] })
}

// of is the origin of what a single node writes.
func (s *search) of(n int32) (all Origin) {
	for _, f := range s.from[n] {
		all |= s.origins[f]
	}
	if int(n) >= len(s.list) {
		return all
	}
	var address Origin
	for _, f := range s.addresses[n] {
		address |= s.origins[f]
	}
	return s.list[n].origin(all, address)
}

// maxBehind is how many nodes are looked at for the loads behind a value.
const maxBehind = 4096

// loadsBehind is the loads that nodes come from, with no other load between. seen is for all calls: the number of the
// last that met a node.
func (g *graph) loadsBehind(nodes, seen []int32, call int32) (loads []int32) {
	todo := slices.Clone(nodes)
	for count := 0; len(todo) > 0 && count < maxBehind; count++ {
		at := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if seen[at] == call {
			continue
		}
		seen[at] = call
		if int(at) < len(g.list) && (g.list[at].Kind == LoadGlobal || g.list[at].Kind == Atomic) {
			loads = append(loads, at)
			continue
		}
		todo = append(todo, g.from[at]...)
	}
	slices.Sort(loads)
	return loads
}
