package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"lacuna/internal/base/stat"
	"lacuna/internal/timeline/changes"
)

// A Variant is one way to write a program, with what its steps take by its own clock.
type Variant struct {
	Case, Name string
	Rule       string // what a right diagnosis of it ranks first or second; of a fixed one, what must be gone
	Base       string // the variant that a change makes it of; "": it is no fix
	Change     string // that change, as it was noted: "drop-syncs + cuda-graph, as one"

	Runs  []float64          // ms per step without a profiler, one of each run or window, sorted
	Under map[string]float64 // ms per step under a tool, by format, while the capture was made
	Paths map[string]string  // captures by format
}

// StepMs is the median step without a profiler, 0 if it was not timed.
func (v *Variant) StepMs() float64 {
	if len(v.Runs) == 0 {
		return 0
	}
	return stat.Quantile(v.Runs, 0.5)
}

// Noise is how far runs differ: half of what lies between the fastest and the slowest, as a share of the median.
func (v *Variant) Noise() float64 {
	if len(v.Runs) < 2 {
		return 0
	}
	return (v.Runs[len(v.Runs)-1] - v.Runs[0]) / 2 / v.StepMs()
}

// Changes is Change as -x takes it; nil if it is none that whatif knows.
func (v *Variant) Changes() []string {
	text, _, _ := strings.Cut(v.Change, ", ")
	var out []string
	for _, c := range strings.Split(text, " + ") {
		if _, _, err := changes.Find(c); err != nil {
			return nil
		}
		out = append(out, c)
	}
	return out
}

// Otherwise is how the variant differs from what its change says, "" if it does not: "as TF32". Then it is no truth
// of it.
func (v *Variant) Otherwise() string {
	_, note, _ := strings.Cut(v.Change, ", ")
	return note
}

// fixes is the change that `fixed` is to `slow` in cases whose truth does not say it.
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

// formats is the captures of a variant, by the name of their tool in truth.json.
var formats = []struct{ name, file string }{{"nsys", "nsys.sqlite.zst"}, {"torch", "torch.json.gz"}}

// A Truth is all variants, by case and name.
type Truth map[string]map[string]*Variant

func (t Truth) at(program, name string) *Variant {
	if t[program] == nil {
		t[program] = make(map[string]*Variant)
	}
	v := t[program][name]
	if v == nil {
		v = &Variant{Case: program, Name: name, Under: make(map[string]float64), Paths: make(map[string]string)}
		t[program][name] = v
	}
	return v
}

// Sorted is all variants in order.
func (t Truth) Sorted() (out []*Variant) {
	for _, variants := range t {
		for _, v := range variants {
			out = append(out, v)
		}
	}
	slices.SortFunc(out, func(a, b *Variant) int {
		if c := strings.Compare(a.Case, b.Case); c != 0 {
			return c
		}
		return strings.Compare(a.Name, b.Name)
	})
	return out
}

// AddFolder adds CASE/truth.json and CASE/VARIANT/{nsys.sqlite.zst,torch.json.gz}.
func (t Truth) AddFolder(dir string) error {
	cases, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, c := range cases {
		if !c.IsDir() {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, c.Name(), "truth.json"))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if err == nil {
			if err := t.addCase(c.Name(), text); err != nil {
				return fmt.Errorf("%s: %w", filepath.Join(dir, c.Name(), "truth.json"), err)
			}
		}
		variants, err := os.ReadDir(filepath.Join(dir, c.Name()))
		if err != nil {
			return err
		}
		for _, v := range variants {
			for _, f := range formats {
				path := filepath.Join(dir, c.Name(), v.Name(), f.file)
				if _, err := os.Stat(path); err == nil {
					t.at(c.Name(), v.Name()).Paths[f.name] = path
				}
			}
		}
	}
	return nil
}

// addCase adds what a truth.json says.
func (t Truth) addCase(name string, text []byte) error {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(text, &all); err != nil {
		return err
	}
	var rule string
	if raw, ok := all["rule"]; ok {
		if err := json.Unmarshal(raw, &rule); err != nil {
			return err
		}
	}
	for key, raw := range all {
		var x timing
		if err := json.Unmarshal(raw, &x); err != nil || x.StepMs == nil && x.Nsys == 0 && x.Torch == 0 {
			continue // not a variant
		}
		v := t.at(name, key)
		v.Rule, v.Base, v.Change = rule, x.Base, x.Change
		if key == "fixed" && v.Base == "" && all["slow"] != nil {
			v.Base, v.Change = "slow", repairs[name]
		}
		v.Runs = x.sorted()
		for tool, ms := range map[string]float64{"nsys": x.Nsys, "torch": x.Torch} {
			if ms > 0 {
				v.Under[tool] = ms
			}
		}
	}
	return nil
}

// AddFile adds what bench/gpu measured: several runs of each variant in processes of their own, which are better
// truth than the windows of one, and what each variant is to its base. What steps took under a tool is left out: that
// holds for the captures of those runs only, and these have a truth.json of their own.
func (t Truth) AddFile(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var all struct {
		Programs map[string]struct {
			Rule     string
			Variants map[string]timing
		}
	}
	if err := json.Unmarshal(text, &all); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	for program, p := range all.Programs {
		for name, x := range p.Variants {
			v := t.at(program, name)
			v.Rule, v.Base, v.Change = p.Rule, x.Base, x.Change
			if runs := x.sorted(); len(runs) > 0 {
				v.Runs = runs
			}
		}
	}
	return nil
}

// A timing is what is said of a variant.
type timing struct {
	StepMs  *float64  `json:"step_ms"`
	Windows []float64 `json:"windows_ms"` // of one run
	Runs    []float64 `json:"runs_ms"`    // in processes of their own
	Nsys    float64   `json:"step_ms_under_nsys"`
	Torch   float64   `json:"step_ms_under_torch"`
	Base    string    `json:"base"`
	Change  string    `json:"change"`
}

// sorted is the best timings there are: runs, else the windows of one, else its median.
func (x *timing) sorted() []float64 {
	switch {
	case len(x.Runs) > 0:
		return slices.Sorted(slices.Values(x.Runs))
	case len(x.Windows) > 0:
		return slices.Sorted(slices.Values(x.Windows))
	case x.StepMs != nil:
		return []float64{*x.StepMs}
	}
	return nil
}
