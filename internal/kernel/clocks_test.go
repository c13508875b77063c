package kernel

import (
	"strings"
	"testing"

	"lacuna/internal/kernel/profile"
)

// A kernel whose time is DRAM's is as long at full clock: its time is not said twice.
func TestClockOfDRAM(t *testing.T) {
	for dram, want := range map[string]string{"97.7": "costs it nothing", "20.0": "about 4.49 ms instead of 5.74 ms"} {
		r, err := profile.Parse(`attribute clock_rate 1800000
kernel k grid=64,1,1 block=512,1,1
gpu__time_duration.sum 5738000
sm__cycles_elapsed.avg.per_second 1410000000.0
gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed ` + dram + "\n")
		if err != nil {
			t.Fatal(err)
		}
		if words := Of(r.Launches[0]).Clocks().Words(); !strings.Contains(words, want) {
			t.Errorf("DRAM at %s %%: %q, want %q", dram, words, want)
		}
	}
}
