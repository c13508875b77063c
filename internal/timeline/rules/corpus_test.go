package rules

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lacuna/internal/base/golden"
	"lacuna/internal/reader"
	"lacuna/internal/readers"
	"lacuna/internal/timeline/facts"
	"lacuna/internal/timeline/model"
)

// captures is the programs under a folder, each with its planted fault, its variants and the formats of their captures.
func captures(t *testing.T, root string) map[string][2]string {
	files, err := filepath.Glob(filepath.Join(root, "*", "*", "*"))
	if err != nil {
		t.Fatal(err)
	}
	out := make(map[string][2]string) // capture: file and planted rule
	for _, file := range files {
		if base := filepath.Base(file); !strings.HasPrefix(base, "nsys.sqlite") &&
			!strings.HasPrefix(base, "torch.json") {
			continue
		}
		var truth struct{ Rule string }
		text, err := os.ReadFile(filepath.Join(filepath.Dir(filepath.Dir(file)), "truth.json"))
		if err != nil {
			continue
		}
		if err := json.Unmarshal(text, &truth); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		rel, _ := filepath.Rel(root, file)
		format, _, _ := strings.Cut(filepath.Base(rel), ".")
		out[filepath.Dir(rel)+" "+format] = [2]string{file, truth.Rule}
	}
	return out
}

// load is a capture as rules see it, changed before anything is made of it.
func load(t testing.TB, path string, change func(*model.Trace)) *Case {
	t.Helper()
	trace, err := reader.Open(context.Background(), path, readers.All, reader.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(trace)
	}
	f := facts.Of(trace)
	steps, err := f.Steps()
	if err != nil {
		t.Fatal(err)
	}
	return NewCase(f, steps)
}

// told is what the rules find in a capture: for each rule, the largest share of the step that it could save.
func told(t testing.TB, path string, change func(*model.Trace)) (map[string]float64, string) {
	c := load(t, path, change)
	found := Run(c, All)
	shares := make(map[string]float64)
	var lines []string
	for _, f := range found.All {
		shares[f.Rule.ID] = max(shares[f.Rule.ID], f.AtMostNs/max(1, c.StepNs))
		lines = append(lines, fmt.Sprintf("%s %.2f at most %.1f %%: %s", f.Rule.ID, f.Confidence,
			100*f.AtMostNs/max(1, c.StepNs), f.Title))
		for _, e := range f.Evidence {
			lines = append(lines, "    "+e.Text)
			for _, r := range e.Rows {
				lines = append(lines, "        "+r)
			}
		}
	}
	return shares, strings.Join(lines, "\n")
}

// sameAs is other names of a planted fault that are as right: what it is seen from another side.
var sameAs = map[string][]string{
	"forward_heavy":  {"host_sync", "pageable_copy"},
	"input_pipeline": {"host_data"}, // without any name nothing says that the data is loaded
}

// TestCorpus: the planted fault is found in every slow capture of both formats, and in no fixed one at more than
// 5 % of the step. Run with -v for what each rule says.
func TestCorpus(t *testing.T) {
	root := filepath.Join(golden.Corpus(t), "system")
	byRule := make(map[string]*Rule)
	for _, r := range All {
		byRule[r.ID] = r
	}
	for name, capture := range captures(t, root) {
		t.Run(name, func(t *testing.T) {
			shares, text := told(t, capture[0], nil)
			t.Log("\n" + text)
			want := append([]string{capture[1]}, sameAs[capture[1]]...)
			var have, share = false, 0.0
			for _, w := range want {
				if byRule[w] == nil {
					continue
				}
				s, found := shares[w]
				have, share = have || found, max(share, s)
			}
			switch slow := strings.Contains(name, "/slow "); {
			case byRule[capture[1]] == nil: // no rule yet
			case slow && !have && !notThere[name]:
				t.Errorf("%s is not found", capture[1])
			case !slow && share > 0.05:
				t.Errorf("%s is told of a repaired program, at %.1f %%", capture[1], 100*share)
			}
		})
	}
}

// notThere is captures that do not hold what was planted: the profiler's own warm-up steps took the cold ones.
var notThere = map[string]bool{"cold_start/slow torch": true}

// TestCorpusWithoutNames: rules do not live on the names that these programs give to their phases. Without any range,
// step markers too, the faults are found all the same. (stream_serialization abstains: two graphs by turns are no
// steps.)
func TestCorpusWithoutNames(t *testing.T) {
	root := filepath.Join(golden.Corpus(t), "system")
	byRule := make(map[string]*Rule)
	for _, r := range All {
		byRule[r.ID] = r
	}
	for name, capture := range captures(t, root) {
		if byRule[capture[1]] == nil || !strings.Contains(name, "/slow ") || notThere[name] ||
			capture[1] == "stream_serialization" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			shares, text := told(t, capture[0], func(trace *model.Trace) { trace.Ranges = model.Ranges{} })
			t.Log("\n" + text)
			for _, w := range append([]string{capture[1]}, sameAs[capture[1]]...) {
				if _, found := shares[w]; found {
					return
				}
			}
			t.Errorf("%s is not found", capture[1])
		})
	}
}
