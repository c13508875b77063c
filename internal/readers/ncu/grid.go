package ncu

import "lacuna/internal/kernel/profile"

// gridInBlocks turns a grid that is given in threads into one in blocks: old versions wrote it so (2020.2.1, and a
// report of CUDA 11.2 that does not name its version). The launch's own counters say how many blocks there were.
func gridInBlocks(l *profile.Launch) {
	blocks, ok := l.Number("launch__grid_size")
	if !ok || !(blocks > 0) || volume(l.Grid) == blocks {
		return
	}
	var grid [3]uint32
	for i := range grid {
		if l.Block[i] == 0 || l.Grid[i]%l.Block[i] != 0 {
			return
		}
		grid[i] = l.Grid[i] / l.Block[i]
	}
	if volume(grid) == blocks {
		l.Grid = grid
	}
}

func volume(axes [3]uint32) float64 { return float64(axes[0]) * float64(axes[1]) * float64(axes[2]) }
