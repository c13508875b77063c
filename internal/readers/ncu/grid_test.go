package ncu

import (
	"testing"

	"lacuna/internal/kernel/profile"
)

// A grid that counts threads becomes blocks where the launch's counters say so, and only there.
func TestGridInBlocks(t *testing.T) {
	for _, c := range []struct {
		name, launch string
		grid         [3]uint32
	}{
		{"threads", "grid=1048576,1,1 block=256,1,1\nlaunch__grid_size 4096\n", [3]uint32{4096, 1, 1}},
		{"threads in a plane", "grid=1024,64,1 block=32,8,1\nlaunch__grid_size 256\n", [3]uint32{32, 8, 1}},
		{"blocks", "grid=4096,1,1 block=256,1,1\nlaunch__grid_size 4096\n", [3]uint32{4096, 1, 1}},
		{"one thread per block", "grid=512,1,1 block=1,1,1\nlaunch__grid_size 512\n", [3]uint32{512, 1, 1}},
		{"not counted", "grid=1048576,1,1 block=256,1,1\n", [3]uint32{1048576, 1, 1}},
		{"something else", "grid=100,1,1 block=64,1,1\nlaunch__grid_size 7\n", [3]uint32{100, 1, 1}},
	} {
		r, err := profile.Parse("kernel k " + c.launch)
		if err != nil {
			t.Fatal(err)
		}
		l := r.Launches[0]
		if gridInBlocks(l); l.Grid != c.grid {
			t.Errorf("%s: grid %v, want %v", c.name, l.Grid, c.grid)
		}
	}
}
