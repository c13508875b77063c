package facts

// A loop of time steps that reads its state back after every so many: the host takes part in a read-back only, so that
// what lies between two of them seems to be the step. Layers of a model look the same, but for what a model has before
// and behind them: that reads or writes all activations, and takes time.
const (
	// maxOwn is the share of an outer turn's GPU work that is not in the inner turns, at most: less than what a model
	// with tens of layers has in front of them and behind.
	maxOwn = 0.001
	// minInnerTurns is how many inner turns there must be: more than the equal blocks or passes in a row of most
	// models.
	minInnerTurns = minRun
)

// innerTurns is the turns that each of p's pieces holds, if it holds nearly nothing else; nil: none.
func (f *Facts) innerTurns(p *period, distinct int, seen []int32) *period {
	w := f.Work()
	count, ns := make(map[uint32]int), make(map[uint32]int64)
	allNs := int64(0)
	mid := p.pieces() / 2
	for e := p.edges[mid]; e < p.edges[mid+1]; e++ {
		n, row := p.names[e], p.lane[e]
		took := w.EndNs[row] - w.StartNs[row]
		count[n], ns[n], allNs = count[n]+1, ns[n]+took, allNs+took
	}
	turns := 0
	own := func(k int) (names []bool, ownNs float64) {
		names = make([]bool, distinct)
		for n, c := range count {
			if c%k != 0 {
				names[n] = c < k
				ownNs += float64(ns[n]) * float64(c%k) / float64(c)
			}
		}
		return names, ownNs
	}
	for _, c := range count {
		if _, ownNs := own(c); c > turns && c >= minInnerTurns && ownNs < maxOwn*float64(allNs) {
			turns = c
		}
	}
	if turns == 0 {
		return nil
	}
	without, _ := own(turns)
	q := &period{names: make([]uint32, 0, len(p.names)), lane: make([]int32, 0, len(p.lane))}
	positions := make([][]int32, distinct)
	for i, n := range p.names {
		if !without[n] {
			positions[n] = append(positions[n], int32(len(q.lane)))
			q.names, q.lane = append(q.names, n), append(q.lane, p.lane[i])
		}
	}
	var best *period
	bestPauseNs := int64(-1)
	for n := range positions {
		r := &period{names: q.names, lane: q.lane, edges: positions[n]}
		if count[uint32(n)] != turns || !r.alike(seen) || r.median < minPeriodWork || !f.isLoop(r, seen) {
			continue
		}
		if pause := f.medianPauseNs(r.lane, r.edges); pause > bestPauseNs {
			best, bestPauseNs = r, pause
		}
	}
	return best
}

// reach is where start-up ends that is not at the beginning: behind a step in the first quarter that takes longer than
// all that follow it together, as the first turn that reads results back does where that is compiled when it is needed.
// What it does comes once, and a mean over it and the others is of neither.
func (s *Steps) reach() int {
	var laterNs int64
	n := len(s.All)
	for i := n - 1; i >= 0; i-- {
		if ns := s.All[i].LenNs(); i < n/4 && n-1-i >= minLater && ns > laterNs {
			return i + 1
		}
		laterNs += s.All[i].LenNs()
	}
	return 0
}
