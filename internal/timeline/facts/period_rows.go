package facts

// rowLength is how many kernels in a row mark where a piece begins, if no single one does.
const rowLength = 4

// stepsByRows is stepsByPeriod of what has no kernel that comes once in each turn, as a model whose layers launch the
// same kernels as what is before and behind them: a turn begins where some kernels follow each other that do so
// nowhere else in it. There are many more rows than kernels, so that some come back by chance: more pieces are
// asked for.
func (f *Facts) stepsByRows(s *Steps) {
	lane := f.laneWork(s.Busiest)
	names, _ := f.numberNames(lane)
	number := make(map[[rowLength]uint32]uint32)
	var times []int32
	at := func(i int) [rowLength]uint32 { return [rowLength]uint32(names[i:]) }
	for i := 0; i+rowLength <= len(names); i++ {
		n, seen := number[at(i)]
		if !seen {
			n = uint32(len(times))
			number[at(i)] = n
			times = append(times, 0)
		}
		times[n]++
	}
	positions := make([][]int32, len(times))
	for i := 0; i+rowLength <= len(names); i++ {
		if n := number[at(i)]; times[n] > minRun {
			positions[n] = append(positions[n], int32(i))
		}
	}
	if best := f.bestPeriod(s, lane, names, positions, rowLength); best != nil {
		f.takePeriod(s, best)
	}
}
