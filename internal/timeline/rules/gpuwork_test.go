package rules

import (
	"testing"

	"lacuna/internal/timeline/evtext"
	"lacuna/internal/timeline/facts"
)

// TestBlocks: copies have no grid, neither their own nor that of the kernel in the same row of another table, and there
// may be more of them than kernels.
func TestBlocks(t *testing.T) {
	trace, err := evtext.Parse(`
call c1 0us+2us cudaLaunchKernel
call c2 3us+2us cudaMemcpyAsync
call c3 6us+2us cudaMemcpyAsync
kernel c1 gridx=7 blockx=128 10us+5us gemm
copy HtoD c2 bytes=64 20us+5us
copy HtoD c3 bytes=64 30us+5us
`)
	if err != nil {
		t.Fatal(err)
	}
	f := facts.Of(trace)
	steps, err := f.Steps()
	if err != nil {
		t.Fatal(err)
	}
	c := NewCase(f, steps)
	for row, want := range [][2]int64{{7, 128}, {0, 0}, {0, 0}} {
		if grid, block := c.blocks(int32(row)); grid != want[0] || block != want[1] {
			t.Errorf("row %d: %d blocks of %d threads, want %v", row, grid, block, want)
		}
	}
}
