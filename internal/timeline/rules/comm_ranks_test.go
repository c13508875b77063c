package rules

import (
	"fmt"
	"strings"
	"testing"

	"lacuna/internal/timeline/evtext"
	"lacuna/internal/timeline/facts"
)

// rankOf is the capture of a rank: seven steps of 1 ms, in each a product and a collective of so many µs, over and
// over.
func rankOf(t *testing.T, number int32, gemmUs, collectiveUs [4]int, kernel string) *Case {
	t.Helper()
	var b strings.Builder
	for i := range 7 {
		at := 1000 * i
		fmt.Fprintf(&b, "step %dus+1000us\ncall c%d %dus+5us cudaLaunchKernel\nkernel c%d %dus+%dus gemm\n", at, 2*i+1,
			at+1, 2*i+1, at+10, gemmUs[i%4])
		fmt.Fprintf(&b, "call c%d %dus+5us cudaLaunchKernel\nkernel c%d %dus+%dus %s\n", 2*i+2, at+8, 2*i+2, at+
			900-collectiveUs[i%4], collectiveUs[i%4], kernel)
	}
	trace, err := evtext.Parse(b.String())
	if err != nil {
		t.Fatal(err)
	}
	trace.Info.Rank = number
	f := facts.Of(trace)
	steps, err := f.Steps()
	if err != nil {
		t.Fatal(err)
	}
	return NewCase(f, steps)
}

// laidTogether is the first of the captures of a job, judged in the light of all.
func laidTogether(cases []*Case) *Case {
	r := &Ranks{}
	var in []*facts.Facts
	for _, c := range cases {
		in, r.Steps = append(in, c.Facts), append(r.Steps, c.Steps)
	}
	r.Meetings = facts.Meet(in)
	if len(r.Meetings.All) == 0 && len(r.Meetings.Parties) > 0 {
		r.Apart = "they have nothing in common"
	}
	if len(in) > 1 {
		cases[0].Ranks = r
	}
	return cases[0]
}

// TestAcrossRanks: the rank with the shortest kernels came last; without a pattern, or too little of it, nobody is
// blamed.
func TestAcrossRanks(t *testing.T) {
	const allReduce = "ncclDevKernel_AllReduce_Sum_f32_RING_LL"
	usual := [4]int{300, 300, 300, 300}
	for name, test := range map[string]struct {
		ranks []*Case
		want  []string // in the title and evidence; nil: silent
	}{
		"a rank that computes longer": {[]*Case{
			rankOf(t, 0, usual, [4]int{400, 410, 400, 405}, allReduce),
			rankOf(t, 1, usual, [4]int{400, 400, 395, 400}, allReduce),
			rankOf(t, 2, [4]int{650, 650, 650, 650}, [4]int{50, 50, 50, 50}, allReduce),
		}, []string{"Rank 2 is late to 6 of 6 collectives: the other 2 wait for it on average 0.35 ms of 1.0 ms",
			"it has more work or a lower clock"}},
		"a rank whose host is late": {[]*Case{
			rankOf(t, 3, usual, [4]int{50, 50, 50, 50}, allReduce),
			rankOf(t, 4, usual, [4]int{400, 400, 400, 400}, allReduce),
		}, []string{"Rank 3 is late", "its host"}},
		"each in turn": {[]*Case{
			rankOf(t, 0, usual, [4]int{400, 50, 400, 50}, allReduce),
			rankOf(t, 1, usual, [4]int{50, 400, 50, 400}, allReduce),
			rankOf(t, 2, usual, [4]int{400, 400, 50, 400}, allReduce),
		}, nil},
		"all alike": {[]*Case{rankOf(t, 0, usual, usual, allReduce),
			rankOf(t, 1, usual, [4]int{305, 305, 305, 305}, allReduce)}, nil},
		"one rank": {[]*Case{rankOf(t, 0, usual, usual, allReduce)},
			[]string{"cannot tell", "lacuna report RANK0 RANK1"}},
		"no collectives": {[]*Case{rankOf(t, 0, usual, usual, "gemv"),
			rankOf(t, 1, usual, [4]int{5, 5, 5, 5}, "gemv")}, nil},
		"not the same collectives": {[]*Case{rankOf(t, 0, usual, usual, allReduce),
			rankOf(t, 1, usual, [4]int{5, 5, 5, 5}, "ncclDevKernel_AllGather")}, []string{"cannot tell"}},
	} {
		got := format(Run(laidTogether(test.ranks), []*Rule{&commStraggler}))
		if test.want == nil && got != "" {
			t.Errorf("%s: found %s", name, got)
		}
		for _, text := range test.want {
			if !strings.Contains(got, text) {
				t.Errorf("%s: no %q in %q", name, text, got)
			}
		}
	}
}
