package report

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"lacuna/internal/timeline/evtext"
	"lacuna/internal/timeline/facts"
	"lacuna/internal/timeline/model"
)

// ranksOf is the captures of the ranks that one file holds; the file has a warning.
func ranksOf(t *testing.T, path string, ranks ...int) []*facts.Facts {
	t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "info rank=-1 path=%s merged=%d events=1000\n", path, len(ranks))
	for i, rank := range ranks {
		fmt.Fprintf(&b, "process %d pid=%d rank=%d python\nthread %d process=%d tid=%d\n", i+1, 40+rank, rank, i+1, i+
			1, 40+rank)
	}
	for i := range ranks {
		fmt.Fprintf(&b, "call t%d c1 1us+2us cudaLaunchKernel\nkernel d%d p%d c1 10us+%dus gemm\n", i+1, i, i+1, 100+
			10*i)
	}
	trace, err := evtext.Parse(b.String())
	if err != nil {
		t.Fatal(err)
	}
	trace.Warnings = []string{"of the file"}
	if len(ranks) == 1 {
		trace.Info.Rank, trace.Info.Merged = int32(ranks[0]), 0
	}
	var out []*facts.Facts
	for _, one := range model.ByRank(trace) {
		out = append(out, facts.Of(one))
	}
	return out
}

// TestRanksOfFiles says of whom a warning is, counts the events of a file once, and names the slowest.
func TestRanksOfFiles(t *testing.T) {
	for _, tt := range []struct {
		in             []*facts.Facts
		warning, named string
		events         int64
	}{
		{ranksOf(t, "a", 0), "of the file", "", 1000},
		{ranksOf(t, "a", 0, 1), "of the file", "a, rank 1", 1000},
		{slices.Concat(ranksOf(t, "a", 0, 1), ranksOf(t, "b", 2, 3)), "a: of the file", "a, rank 1", 2000},
		{slices.Concat(ranksOf(t, "a", 0), ranksOf(t, "b", 1)), "rank 0: of the file", "a", 2000},
	} {
		r, err := Build(tt.in, Options{}, unjudged)
		if err != nil {
			t.Fatal(err)
		}
		if c := &r.Capture; c.Events != tt.events || !slices.Contains(c.Warnings, tt.warning) {
			t.Errorf("%d inputs: %d events, warnings %q; want %d and %q", len(tt.in), c.Events, c.Warnings, tt.events,
				tt.warning)
		}
		if tt.named != "" && !strings.HasSuffix(r.Steps.Note, "the slowest input: "+tt.named) {
			t.Errorf("%d inputs: %s", len(tt.in), r.Steps.Note)
		}
	}
}
