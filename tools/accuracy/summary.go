package main

import (
	"fmt"
	"math"
	"slices"

	"lacuna/internal/base/stat"
)

// A Tally sums up how far estimates are from the truth.
type Tally struct {
	errors []float64 // absolute, as shares of the truth
	inside int       // truths within the bounds
	widths []float64 // of the ranges, as shares of the estimate
}

// Add adds an estimate beside its truth.
func (t *Tally) Add(e Estimate, truth float64) {
	t.errors = append(t.errors, math.Abs(ErrorOf(e.Ms, truth)))
	if e.Holds(truth) {
		t.inside++
	}
	if e.Ms > 0 {
		t.widths = append(t.widths, (e.HighMs-e.LowMs)/e.Ms)
	}
}

// vagueWidth is the width from which on a report says that a range is no answer.
const vagueWidth = 0.5

// clear is the widths of the ranges that are answers.
func (t *Tally) clear() []float64 {
	return slices.DeleteFunc(slices.Clone(t.widths), func(w float64) bool { return w > vagueWidth })
}

// vague is how many ranges are none.
func (t *Tally) vague() int { return len(t.widths) - len(t.clear()) }

func (t *Tally) Len() int { return len(t.errors) }

func (t *Tally) mean() float64 {
	sum := 0.0
	for _, e := range t.errors {
		sum += e
	}
	return sum / float64(max(1, len(t.errors)))
}

func quantile(v []float64, q float64) float64 {
	if len(v) == 0 {
		return 0
	}
	return stat.Quantile(slices.Sorted(slices.Values(v)), q)
}

// row is the tally as cells of a table: number, mean, median and largest error, truths inside, median width of the
// ranges.
func (t *Tally) row(what string) []string {
	if t.Len() == 0 {
		return []string{what, "0", "-", "-", "-", "-", "-"}
	}
	return []string{what, fmt.Sprint(t.Len()), share(t.mean()), share(quantile(t.errors, 0.5)),
		share(quantile(t.errors, 1)),
		fmt.Sprintf("%d of %d", t.inside, t.Len()), share(quantile(t.widths, 0.5))}
}

// share is a ratio in percent.
func share(v float64) string { return fmt.Sprintf("%.1f %%", 100*v) }

// signed is an error in percent with its sign.
func signed(v float64) string { return fmt.Sprintf("%+.1f %%", 100*v) }
