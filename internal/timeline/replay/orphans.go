package replay

// Work without a launching call was launched before the capture, its launch was not recorded, or nobody launched it:
// the driver migrates pages of managed memory. It runs as far from the work of its device that was begun last as it
// was recorded, on its stream behind what ran there before it.
//
// What ran on a stream before the first work of a recorded call had been issued when the capture began, and
// fills the queue from the start. The rest is placed when its turn on the stream comes.

// An orphanage is the work without calls of each lane, by start, and which comes next.
type orphanage struct {
	lanes [][]int32
	next  []int
}

// newOrphanage collects the work without calls.
func (p *Program) newOrphanage() *orphanage {
	o := &orphanage{make([][]int32, len(p.Lanes)), make([]int, len(p.Lanes))}
	for i := range p.Works {
		w := &p.Works[i]
		if w.Call != none {
			break
		}
		o.lanes[w.Lane] = append(o.lanes[w.Lane], int32(i))
	}
	return o
}

// orphans places the work that had been issued when the capture began, in the order in which it ran.
func (s *simulation) orphans() {
	p := s.p
	s.left = p.newOrphanage()
	first := make([]int64, len(p.Lanes)) // start of the first work of a recorded call
	for i := range first {
		first[i] = minNs
	}
	for i := range p.Works {
		if w := &p.Works[i]; w.Call != none && (first[w.Lane] == minNs || w.StartNs < first[w.Lane]) {
			first[w.Lane] = w.StartNs
		}
	}
	for i := range p.Works {
		w := &p.Works[i]
		if w.Call != none {
			break
		}
		if w.StartNs < first[w.Lane] {
			s.left.next[w.Lane]++
			s.orphan(int32(i))
		}
	}
}

// flush places the work of a lane that was recorded to start before ns and is still to come.
func (s *simulation) flush(lane int32, ns int64) {
	if int(lane) >= len(s.left.lanes) { // a stream that a change added
		return
	}
	list := s.left.lanes[lane]
	for s.left.next[lane] < len(list) {
		i := list[s.left.next[lane]]
		if s.p.Works[i].StartNs >= ns {
			return
		}
		s.left.next[lane]++
		s.orphan(i)
	}
}

// flushAll does so for all lanes.
func (s *simulation) flushAll(ns int64) {
	for lane := range s.left.lanes {
		s.flush(int32(lane), ns)
	}
}

// orphan places one piece of work without a call.
func (s *simulation) orphan(i int32) {
	w := &s.p.Works[i]
	start := w.StartNs
	if k, seen := s.moved[s.p.Lanes[w.Lane].Device]; seen && s.measure == nil {
		start += s.r.WorkStart[k] - s.p.Works[k].StartNs
	}
	if l := s.lanes[w.Lane].last; l != none {
		start = max(start, s.r.WorkEnd[l])
	}
	s.place(i, start, BoundNothing, none)
}
