package facts

// rowLength is how many kernels in a row mark where a piece begins, if no single one does.
const rowLength = 4

// stepsByRows is stepsByPeriod of what has no kernel that comes once in each turn, as a model whose layers launch the
// same kernels as what is before and behind them: a turn begins where some kernels follow each other that do so
// nowhere else in it.
func (f *Facts) stepsByRows(s *Steps) {
	lane := f.laneWork(s.Busiest)
	names, _ := f.numberNames(lane)
	number := make(map[[rowLength]uint32]uint32)
	var at [][]int32
	for i := 0; i+rowLength <= len(names); i++ {
		row := [rowLength]uint32(names[i:])
		n, seen := number[row]
		if !seen {
			n = uint32(len(at))
			number[row] = n
			at = append(at, nil)
		}
		at[n] = append(at[n], int32(i))
	}
	if best := f.bestPeriod(s, lane, names, at, rowLength); best != nil && best.pieces() >= minRun {
		f.takePeriod(s, best)
	}
}
