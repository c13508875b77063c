package changes

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"lacuna/internal/base/golden"
	"lacuna/internal/reader"
	"lacuna/internal/readers"
	"lacuna/internal/timeline/facts"
	"lacuna/internal/timeline/replay"
)

// fixes is the change that is the fix of each program of the corpus.
var repairs = map[string]string{
	"data_loading": "prefetch:data_load@12", "tiny_kernels": "cuda-graph", "llm_decode": "cuda-graph",
	"pageable_copies":     "pin",
	"copy_not_overlapped": "overlap-copies", "alloc_churn": "drop-allocs", "host_sync": "drop-syncs",
	"forward_heavy":    "drop-syncs",
	"looped_optimizer": "fuse-optimizer", "stream_serialization": "drop-stream-waits",
	"periodic_stall":      "drop-range:checkpoint",
	"unfused_elementwise": "fuse:elementwise", "fp32_matmul": "tensor-cores", "dtype_churn": "drop-casts",
	"unfused_attention": "fuse-attention",
}

// truth is how long a program's steps took, in ms, by its own clock: alone, and under each tool.
type truth struct {
	Alone float64 `json:"step_ms"`
	Nsys  float64 `json:"step_ms_under_nsys"`
	Torch float64 `json:"step_ms_under_torch"`
}

func truthOf(t *testing.T, folder string) map[string]truth {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(folder, "truth.json"))
	if err != nil {
		t.Fatal(err)
	}
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(data, &raw); err != nil {
		t.Fatal(err)
	}
	out := make(map[string]truth)
	for _, variant := range []string{"slow", "fixed"} {
		var v truth
		if raw[variant] != nil {
			if err := json.Unmarshal(raw[variant], &v); err != nil {
				t.Fatal(err)
			}
		}
		out[variant] = v
	}
	return out
}

func load(t *testing.T, path string) *replay.Program {
	t.Helper()
	trace, err := reader.Open(context.Background(), path, readers.All, reader.Options{})
	if err != nil {
		t.Fatal(err)
	}
	f := facts.Of(trace)
	steps, err := f.Steps()
	if err != nil {
		t.Fatal(err)
	}
	return replay.Build(f, steps)
}

var captures = map[string]string{"nsys": "nsys.sqlite.zst", "torch": "torch.json.gz"}

// worstMean is the mean absolute error of a step with its fix, over all programs and both tools, from which on
// something is broken: what is reached is in docs/accuracy.md.
const worstMean = 0.12

// TestRepairs applies its fix to each slow program, in both formats, and compares the ratio of the step after to
// the one before with that of the fixed program, alone and without a profiler.
func TestRepairs(t *testing.T) {
	root := filepath.Join(golden.Corpus(t), "system")
	sum, n, inside := 0.0, 0, 0
	for _, name := range slices.Sorted(maps.Keys(repairs)) {
		text, all := repairs[name], truthOf(t, filepath.Join(root, name))
		for _, tool := range slices.Sorted(maps.Keys(captures)) {
			file := captures[tool]
			p := load(t, filepath.Join(root, name, "slow", file))
			e := p.Edit()
			c, arg, err := Find(text)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := c.Apply(e, arg); err != nil {
				t.Errorf("%s %s: %s %v", name, tool, text, err)
				continue
			}
			pricer := replay.NewPricer(p)
			now, then := pricer.Now(), pricer.Price(e).Unprofiled
			want := all["fixed"].Alone / all["slow"].Alone
			got := then.Ns / now.Ns
			ok := then.LowNs/now.Ns <= want && want <= then.HighNs/now.Ns
			t.Logf("%-20s %-5s %-22s x%.3f [%.3f, %.3f], measured x%.3f: %+.1f %% %v", name, tool, text, got,
				then.LowNs/now.Ns, then.HighNs/now.Ns, want, 100*(got/want-1), ok)
			sum += math.Abs(got/want - 1)
			n++
			if ok {
				inside++
			}
		}
	}
	t.Logf("mean %.1f %%, measured inside the range %d of %d", 100*sum/float64(n), inside, n)
	if n == 0 || sum/float64(n) > worstMean {
		t.Errorf("mean absolute error %.1f %% of %d, want at most %.0f %%", 100*sum/float64(n), n, 100*worstMean)
	}
}

// mostNothing is the share of a step that a change may promise where there is nothing to fix.
const mostNothing = 0.01

// stillToGain is what there is to gain in a fixed program all the same, as a share of its step.
var stillToGain = map[string]float64{
	"data_loading overlap-copies":        0.03, // its loader pins batches, but copies them on the stream that computes
	"data_loading prefetch:data_load@12": 0.03, // taking a batch from the loader's queue is host work in the range
}

// TestNothingToRepair applies changes to fixed programs: the fix of each, and those that must buy nothing
// anywhere but in the program that they fix. They match nothing, are not allowed, or buy less than 1 %.
func TestNothingToRepair(t *testing.T) {
	root := filepath.Join(golden.Corpus(t), "system")
	for _, name := range folders(t, root) {
		texts := []string{"drop-allocs", "pin", "overlap-copies", "drop-stream-waits", "fuse-attention",
			"fuse-optimizer", "overlap-comm"}
		if repair := repairs[name]; repair != "" && repair != "cuda-graph" { // a graph's own kernels are captured again
			texts = append(texts, repair)
		}
		for tool, file := range captures {
			path := filepath.Join(root, name, "fixed", file)
			if _, err := os.Stat(path); err != nil {
				continue
			}
			p := load(t, path)
			before := p.StepNs(p.Simulate(replay.Options{Deflate: 1}))
			for _, text := range texts {
				e := p.Edit()
				c, arg, err := Find(text)
				if err != nil {
					t.Fatal(err)
				}
				var no *NotAllowedError
				switch n, err := c.Apply(e, arg); {
				case errors.Is(err, ErrNoMatch), errors.As(err, &no):
				case err != nil:
					t.Errorf("%s %s: %s: %v", name, tool, text, err)
				default:
					after := max(e.StepNs(e.Simulate(replay.Options{Deflate: 1})), e.Floor.Ns)
					if gain := 1 - after/before; gain > mostNothing && gain > stillToGain[name+" "+text] {
						t.Errorf("%s %s: %s matches %d and promises %.1f %% of a repaired program", name, tool, text,
							n, 100*gain)
					}
				}
			}
		}
	}
}

func folders(t *testing.T, root string) (out []string) {
	t.Helper()
	entries, err := os.ReadDir(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}
