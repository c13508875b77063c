package diagnose

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"lacuna/internal/answer/report"
	"lacuna/internal/reader"
	"lacuna/internal/readers"
	"lacuna/internal/timeline/facts"
)

// ranksOf is two ranks of a loop: each computes for so many µs a step, then both exchange for 100 µs. The second
// one's clock is 5 ms ahead of the first one's.
func ranksOf(t *testing.T, steps int, computeUs [2]int) []*facts.Facts {
	t.Helper()
	return ranksFrom(t, steps, computeUs, [2]int{0, 5000})
}

// ranksFrom is ranksOf with the µs at which each rank's clock begins.
func ranksFrom(t *testing.T, steps int, computeUs, beginUs [2]int) []*facts.Facts {
	t.Helper()
	var text [2]strings.Builder
	start := [2]int{1000, 1000}
	for i := range steps {
		met := max(start[0]+computeUs[0], start[1]+computeUs[1]) + 1
		for r := range 2 {
			b, ahead := &text[r], beginUs[r]
			fmt.Fprintf(b, "step %dus+20us\ncall c%d %dus+2us cudaLaunchKernel\ncall c%d %dus+2us cudaLaunchKernel\n",
				ahead+20*i, 2*i+1, ahead+20*i+2, 2*i+2, ahead+20*i+6)
			fmt.Fprintf(b, "kernel s7 c%d %dus+%dus gemm\n", 2*i+1, ahead+start[r], computeUs[r])
			at := start[r] + computeUs[r] + 1
			fmt.Fprintf(b, "kernel s7 c%d %dus+%dus ncclDevKernel_AllReduce_Sum_f32_RING_LL\n", 2*i+2, ahead+at, met+
				100-at)
			start[r] = met + 101
		}
	}
	return []*facts.Facts{of(t, text[0].String()), of(t, text[1].String())}
}

// TestRanksTogether: with the work shared evenly, both wait for nobody.
func TestRanksTogether(t *testing.T) {
	for name, test := range map[string]struct {
		computeUs     [2]int
		nowMs, wantMs float64
	}{
		"second is late": {[2]int{300, 700}, 0.802, 0.602},
		"first is late":  {[2]int{900, 100}, 1.002, 0.602},
		"both alike":     {[2]int{500, 500}, 0.602, 0.602},
	} {
		in := ranksOf(t, 8, test.computeUs)
		x, err := whatIf(t, in, slowest(t, in), "balance-ranks")
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(x.SelfErrorPct) > 0.5 || !x.Changes[0].Applied || math.Abs(x.MeasuredStepMs-test.nowMs) > 0.001 ||
			math.Abs(x.PredictedMs-test.wantMs) > 0.005 {
			t.Errorf("%s: %.3f ms -> %.3f ms, self-error %.2f %%, %v; want %.3f -> %.3f", name, x.MeasuredStepMs,
				x.PredictedMs, x.SelfErrorPct, x.Changes, test.nowMs, test.wantMs)
		}
	}
}

// TestBalanceOfLateClocks: what a clock showed when the capture began is no host work of the rank's first step.
func TestBalanceOfLateClocks(t *testing.T) {
	const day = 24 * 3600 * 1_000_000
	in := ranksFrom(t, 8, [2]int{300, 700}, [2]int{0, day})
	x, err := whatIf(t, in, slowest(t, in), "balance-ranks")
	if err != nil {
		t.Fatal(err)
	}
	if math.Abs(x.PredictedMs-0.602) > 0.005 {
		t.Errorf("balanced, a step takes %.3f ms, want 0.602", x.PredictedMs)
	}
}

// TestRanksApart: ranks that cannot be laid side by side are not replayed together, and that is said.
func TestRanksApart(t *testing.T) {
	in := []*facts.Facts{ranksOf(t, 8, [2]int{300, 700})[0], of(t, loader(6, 100_000))}
	x, err := whatIf(t, in, slowest(t, in), "balance-ranks")
	if err != nil {
		t.Fatal(err)
	}
	if x.Changes[0].Applied || len(x.Notes) == 0 ||
		!strings.Contains(strings.Join(x.Notes, " "), "only the slowest rank was replayed") {
		t.Errorf("%+v, %v", x.Changes, x.Notes)
	}
}

// A rankTruth is what a program of two ranks takes unprofiled, measured in separate runs.
type rankTruth struct {
	Programs map[string]struct {
		Rule     string
		Variants map[string]struct {
			StepMs float64 `json:"step_ms"`
		}
	}
}

// TestMeasuredRanks: two H200, each program's own fault is the first or second finding, fixed programs are accused
// of nothing that ranks do to each other (what is listed without a price is no accusation), and what was measured lies
// in what is told. Loops that the host holds up are left out of the times: theirs differ by 33 to 53 % from run to run.
func TestMeasuredRanks(t *testing.T) {
	root := filepath.Join("..", "..", "..", "bench", "gpu")
	var truth rankTruth
	data, err := os.ReadFile(filepath.Join(root, "results", "truth-ranks.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &truth); err != nil {
		t.Fatal(err)
	}
	told, inside := 0, 0
	tell := func(what string, ms, low, high, measured float64) {
		told++
		if low <= measured && measured <= high {
			inside++
			return
		}
		t.Logf("%s: %.2f ms (%.2f to %.2f), measured %.2f", what, ms, low, high, measured)
	}
	comm := []string{"comm_exposed", "comm_straggler", "comm_many_small"}
	for name, p := range truth.Programs {
		for variant, v := range p.Variants {
			for _, kind := range []string{"torch", "nsys"} {
				files, _ := filepath.Glob(filepath.Join(root, "captures", "ranks", name, variant, kind+".*"))
				if len(files) == 0 {
					continue // one set is too large for the repository
				}
				r := diagnosed(t, files)
				place := slices.IndexFunc(r.Findings, func(f report.Finding) bool { return f.Rule == p.Rule })
				of := fmt.Sprintf("%s %s %s", name, variant, kind)
				if variant == "slow" && (place < 0 || place > 1) {
					t.Errorf("%s: %s is at place %d", of, p.Rule, place)
				}
				for _, f := range r.Findings {
					if variant == "fixed" && slices.Contains(comm, f.Rule) && f.NoGain == nil {
						t.Errorf("%s: accused of %s: %s", of, f.Rule, f.Title)
					}
				}
				if p.Rule == "comm_many_small" {
					continue
				}
				now := r.Profiler
				tell(of+" unprofiled", now.UnprofiledStepMs, now.LowMs, now.HighMs, v.StepMs)
				if fixed, ok := p.Variants["fixed"]; variant == "slow" && ok && place >= 0 {
					f := r.Findings[place]
					tell(of+" repaired", f.PredictedMs, f.LowMs, f.HighMs, fixed.StepMs)
				}
			}
		}
	}
	if told == 0 || 10*inside < 9*told {
		t.Errorf("%d of %d measured times lie in the range that is told", inside, told)
	}
}

// diagnosed is the report of a job's ranks.
func diagnosed(t *testing.T, files []string) *report.Report {
	t.Helper()
	var in []*facts.Facts
	for _, path := range files {
		trace, err := reader.Open(context.Background(), path, readers.All, reader.Options{Need: Needs})
		if err != nil {
			t.Fatal(err)
		}
		in = append(in, facts.Of(trace))
	}
	return reportOn(t, in, slowest(t, in), nil)
}

// slowest is the place of the capture that is judged.
func slowest(t *testing.T, in []*facts.Facts) int {
	t.Helper()
	var steps []*facts.Steps
	for _, f := range in {
		s, err := f.Steps()
		if err != nil {
			t.Fatal(err)
		}
		steps = append(steps, s)
	}
	return facts.Slowest(steps)
}
