package gate

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"lacuna/internal/base/stat"
	"lacuna/internal/runs/measure"
)

// leastClockDrop is the share by which clocks differ between runs without anybody's doing: GPUs step in 15 MHz of
// about 1,500.
const leastClockDrop = 0.01

// slower takes the verdict from a time that got worse on a slower clock, unless it got worse by more than the clock
// can explain. Work that only depends on the clock takes 1/(1-drop) times as long, and nothing takes longer than that
// because of it.
func (c *check) slower(q *question, row *Row, e stat.Effect) {
	isTime := q.like.Unit == "ms" || q.like.Unit == "us" || q.like.Unit == "s"
	drop, name := clockDrop(c.before, c.after)
	if row.Verdict != Regression || !isTime || drop < leastClockDrop {
		return
	}
	explained := 1/(1-drop) - 1
	if (1+e.Low)/(1+explained)-1 > e.Limit {
		row.Warnings = append(row.Warnings, fmt.Sprintf(
			"%s was %.1f %% lower in the new runs, which explains at most +%.1f %%: the rest still exceeds the limit",
			name, 100*drop, 100*explained))
		return
	}
	row.Verdict = NotComparable
	row.Why = fmt.Sprintf("%s was %.1f %% lower in the new runs, which may explain up to +%.1f %% by itself (a "+
		"program that draws more power lowers it, too); lock the clocks (nvidia-smi -lgc), or measure both sides "+
		"in turn", name, 100*drop, 100*explained)
}

// clockDrop is by which share the clock of the new runs is lower, of the clock that dropped most; 0: not, or not known.
func clockDrop(before, after []*measure.Run) (drop float64, name string) {
	for _, clock := range []struct{ name, words string }{{"sm_mhz", "the SM clock"},
		{"memory_mhz", "the memory clock"}} {
		b, a := clocks(before, clock.name), clocks(after, clock.name)
		if len(b) == 0 || len(a) == 0 {
			continue
		}
		if d := 1 - median(a)/median(b); d > drop && !math.IsInf(d, 0) {
			drop, name = d, clock.words
		}
	}
	return min(drop, 0.99), name
}

func clocks(runs []*measure.Run, name string) (out []float64) {
	for _, r := range runs {
		for _, x := range r.Conditions {
			if x.Name == name && x.Median > 0 {
				out = append(out, x.Median)
			}
		}
	}
	return out
}

// conditions says what else was different: evidence beside the verdicts.
func (c *check) conditions(r *Result) {
	if len(r.WhyNot) > 0 && c.opt.Force {
		r.Warnings = append(r.Warnings, "compared by force: "+strings.Join(r.WhyNot, "; "))
	}
	if drop, name := clockDrop(c.after, c.before); drop >= leastClockDrop {
		r.Warnings = append(r.Warnings, fmt.Sprintf(
			"%s was %.1f %% lower before: a regression of that size would not show", name, 100*drop))
	}
	if drop, name := clockDrop(c.before, c.after); drop >= leastClockDrop {
		r.Warnings = append(r.Warnings, fmt.Sprintf("%s was %.1f %% lower in the new runs: flagged, not blamed", name,
			100*drop))
	}
	for _, what := range []struct{ name, words string }{{"throttle", "the GPU throttled"},
		{"others", "other processes used the GPU"}} {
		b, a := saying(c.before, what.name), saying(c.after, what.name)
		text := fmt.Sprintf("%s in %d of %d new runs", what.words, len(a), len(c.after))
		switch {
		case len(a)*max(1, len(c.before)) == len(b)*len(c.after):
			continue // as often on both sides, or never
		case len(c.before) > 0:
			text += fmt.Sprintf(" (was %d of %d)", len(b), len(c.before))
		}
		r.Warnings = append(r.Warnings, text+texts(append(a, b...)))
	}
}

// saying is what runs say of a condition in words.
func saying(runs []*measure.Run, name string) (out []string) {
	for _, r := range runs {
		for _, x := range r.Conditions {
			if x.Name == name && x.Text != "" && x.Text != "none" {
				out = append(out, x.Text)
			}
		}
	}
	return out
}

func texts(list []string) string {
	list = slices.Clone(list)
	slices.Sort(list)
	list = slices.Compact(list)
	return ": " + strings.Join(list[:min(3, len(list))], "; ")
}
