package main

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"

	"lacuna/internal/base/stat"
)

// measured is the steps of each run of one loop, as shares of the run's median, and the runs' medians in ms.
type measured struct {
	kind    string
	steps   [][]float64
	medians []float64
}

// readRepeats reads the A/A runs of bench/gpu/gate.
func readRepeats(path string) ([]measured, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var file struct {
		Runs []struct {
			Kind   string    `json:"kind"`
			StepMs []float64 `json:"step_ms"`
		} `json:"runs"`
	}
	if err := json.Unmarshal(text, &file); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	var out []measured
	for _, run := range file.Runs {
		i := slices.IndexFunc(out, func(m measured) bool { return m.kind == run.Kind })
		if i < 0 {
			i = len(out)
			out = append(out, measured{kind: run.Kind})
		}
		m := medianOf(run.StepMs)
		shape := make([]float64, len(run.StepMs))
		for k, x := range run.StepMs {
			shape[k] = x / m
		}
		out[i].steps, out[i].medians = append(out[i].steps, shape), append(out[i].medians, m)
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%s: no runs", path)
	}
	return out, nil
}

func medianOf(v []float64) float64 {
	sorted := slices.Clone(v)
	slices.Sort(sorted)
	return stat.Quantile(sorted, 0.5)
}

// cv is the coefficient of variation.
func cv(v []float64) float64 {
	m, ss := 0.0, 0.0
	for _, x := range v {
		m += x / float64(len(v))
	}
	for _, x := range v {
		ss += (x - m) * (x - m)
	}
	return math.Sqrt(ss/float64(len(v)-1)) / m
}

// A weather is what happens to runs beside their plain scatter.
type weather struct {
	name, doc string
	factor    func(rng *rand.Rand, turn, turns int) float64 // of one run, the turn-th of all
}

// weathers are the kinds of noise. Their sizes are those of the measurements that their texts name.
var weathers = []weather{
	{"plain", "log-normal between runs", func(*rand.Rand, int, int) float64 { return 1 }},
	{"outliers", "one run in twenty is slower, by 20 % on average", func(rng *rand.Rand, _, _ int) float64 {
		if rng.IntN(20) > 0 {
			return 1
		}
		return 1 + 0.2*rng.ExpFloat64()
	}},
	{"drift", "a steady rise of 3 % over all runs, which are made in turn",
		func(_ *rand.Rand, turn, turns int) float64 {
			return 1 + 0.03*float64(turn)/float64(turns-1)
		}},
	{"two clock states", "every second run at random is slower by 15 % (1740 against 1480 MHz: results/INDEX.tsv)",
		func(rng *rand.Rand, _, _ int) float64 {
			if rng.IntN(2) == 0 {
				return 1
			}
			return 1.15
		}},
	{"modes", "one run in five is slower by 13 % (22.5 and 25.5 ms: newton#2534)",
		func(rng *rand.Rand, _, _ int) float64 {
			if rng.IntN(5) > 0 {
				return 1
			}
			return 25.5 / 22.5
		}},
}

// stepsOfRun is how many steps of each run are drawn: their median is the sample.
const stepsOfRun = 24

// A drawer makes runs.
type drawer struct {
	rng   *rand.Rand
	pool  []measured
	cv    float64 // between runs, before the weather
	under weather
}

// pair draws runs of two sides that ran in turn, the second slower by effect. Steps are a stretch of a measured run,
// from a random place on, so that outliers and their company within a run stay what they are; the stretch is scaled so
// that its median is the run's, and runs scatter by the stated variation and the weather alone.
func (d *drawer) pair(runs int, effect float64) (before, after [][]float64) {
	kind := d.pool[d.rng.IntN(len(d.pool))]
	for turn := range runs {
		for side := range 2 {
			shape := kind.steps[d.rng.IntN(len(kind.steps))]
			first := d.rng.IntN(len(shape) - stepsOfRun + 1)
			shape = shape[first : first+stepsOfRun]
			level := 10 * math.Exp(d.cv*d.rng.NormFloat64()) * d.under.factor(d.rng, 2*turn+side, 2*runs)
			if side == 1 {
				level *= 1 + effect
			}
			middle := medianOf(shape)
			run := make([]float64, stepsOfRun)
			for i := range run {
				run[i] = level * shape[i] / middle
			}
			if side == 0 {
				before = append(before, run)
			} else {
				after = append(after, run)
			}
		}
	}
	return before, after
}
