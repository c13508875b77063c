package engine

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lacuna/internal/runs/compare"
	"lacuna/internal/timeline/servesim"
)

// serve writes the capture of a load.
func serve(t *testing.T, name string, l servesim.Load) string {
	t.Helper()
	events, _ := l.Run()
	path := filepath.Join(t.TempDir(), name+".txt")
	if err := os.WriteFile(path, []byte("# lacuna trace, text form 1\n"+events), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestDiffKinds: steps of a serving engine are compared kind by kind, also where most time is in different kinds; what
// has not changed is not said to have.
func TestDiffKinds(t *testing.T) {
	load := servesim.Load{Engine: "sglang", Prompts: []int{700, 100, 2500, 300, 1200, 40, 900, 650, 5000}, Outputs: 40,
		Arrive: 3, Chunk: 1024, Layers: 8, KernelNs: 3000, CallNs: 12_000, ScheduleNs: 30_000, PrepareNs: 20_000}
	graphs := load
	graphs.Graphs = true
	d, err := Diff(context.Background(), serve(t, "eager", load), serve(t, "graphs", graphs),
		DiffOptions{Open: Options{Rank: AllRanks}})
	if err != nil {
		t.Fatal(err)
	}
	if !d.Comparable || d.Step == nil || d.Step.Verdict != compare.Faster {
		t.Errorf("comparable %v (%v), step %+v", d.Comparable, d.WhyNot, d.Step)
	}
	if !strings.HasPrefix(d.Before.Kind, "decode@") || d.Before.Kind != d.After.Kind {
		t.Errorf("sides are of %s and %s", d.Before.Kind, d.After.Kind)
	}
	verdicts := make(map[string]compare.Verdict)
	for _, k := range d.Kinds {
		if k.Verdict != "" {
			verdicts[k.Measure] = k.Verdict
		}
		if k.Count[0] < 5 && k.Verdict != "" {
			t.Errorf("%d steps get a verdict: %+v", k.Count[0], k)
		}
	}
	if verdicts["decode_ms@16"] != compare.Faster || verdicts["prefill_ms@1024"] == compare.Faster ||
		verdicts["prefill_ms@1024"] == compare.Slower {
		t.Errorf("verdicts %v", verdicts)
	}
	if d.Mix == nil || d.Mix.ChangePct > -10 || d.Mix.ShareTime < 0.99 {
		t.Errorf("mix %+v", d.Mix)
	}
}
