package kernelrules

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
)

// An arithmetic pipe that leaves less to gain than a prediction is sure of is near its limit, and what would be faster
// is said, also where it was not measured what the work is; a lower one, or one of integers, may be waste.
func TestPipeWithoutRoom(t *testing.T) {
	const text = `attribute multiprocessor_count 108
attribute compute_capability_major 8
attribute compute_capability_minor 0
kernel k grid=2560,1,1 block=128,1,1
gpu__time_duration.sum 16700000
gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed 6.0
sm__issue_active.avg.pct_of_peak_sustained_elapsed 56.0
l1tex__data_pipe_lsu_wavefronts.avg.pct_of_peak_sustained_elapsed 38.0
%s.avg.pct_of_peak_sustained_elapsed %s
`
	for _, c := range []struct {
		pipe, share, want string
	}{
		{"sm__pipe_fma_cycles_active", "97.0", "TF32 or BF16"},
		{"sm__pipe_fma_cycles_active", "88.0", ""},
		{"sm__pipe_alu_cycles_active", "97.0", ""},
	} {
		got := Run(caseOf(t, fmt.Sprintf(text, c.pipe, c.share)), All)
		switch {
		case c.want == "" && len(got.All) > 0:
			t.Errorf("%s at %s %%: %s", c.pipe, c.share, format(got))
		case c.want != "" && (len(got.All) != 1 || got.All[0].Rule != &computeBoundAtPeak ||
			got.All[0].Confidence != unsureHealthy ||
			!strings.Contains(strings.Join(got.All[0].Evidence, " "), c.want)):
			t.Errorf("%s at %s %%: want one that says %s: %s", c.pipe, c.share, c.want, format(got))
		}
	}
}

// The advice is for the fault at hand: no other layout for data that is loaded many times, and no fewer instructions
// where they are the work.
func TestAdviceFits(t *testing.T) {
	for _, c := range []struct{ file, name, want, not string }{
		{"uncoalesced_access", "asked-for-again", "tile to shared memory", "structure of arrays"},
		{"busy_unit", "arithmetic", "TF32", "wider loads"},
		{"busy_unit", "L1-full", "tile of shared memory", ""},
	} {
		a, err := txtar.ParseFile("testdata/" + c.file + ".txtar")
		if err != nil {
			t.Fatal(err)
		}
		at := slices.IndexFunc(a.Files, func(f txtar.File) bool { return f.Name == c.name+"/events" })
		rule := slices.IndexFunc(All, func(r *Rule) bool { return r.ID == c.file })
		if at < 0 || rule < 0 {
			t.Fatalf("no case %s or no rule %s", c.name, c.file)
		}
		got := Run(caseOf(t, string(a.Files[at].Data)), All[rule:rule+1])
		if len(got.All) != 1 {
			t.Errorf("%s: %s", c.name, format(got))
			continue
		}
		fix := strings.ReplaceAll(got.All[0].Fix, "\n", " ")
		if !strings.Contains(fix, c.want) || c.not != "" && strings.Contains(fix, c.not) {
			t.Errorf("%s: want %q and not %q: %s", c.name, c.want, c.not, fix)
		}
	}
}
