package compare

import (
	"cmp"
	"slices"

	"lacuna/internal/answer/report"
)

// A KindChange is the steps of one kind and size of a serving engine, before and after: kinds are never averaged
// together. What only one side has is 0 on the other.
type KindChange struct {
	Kind       string     `json:"kind"`
	Bucket     int64      `json:"bucket,omitempty"`
	Size       string     `json:"size,omitempty"` // in words, of the side that has more steps
	Count      [2]int     `json:"count"`
	ShareSteps [2]float64 `json:"share_of_steps"` // 0 to 1
	ShareTime  [2]float64 `json:"share_of_time"`
	MedianMs   [2]float64 `json:"median_ms"`
	Measure    string     `json:"measure,omitempty"` // in Measures; "": one side has too few steps
	ChangePct  *float64   `json:"change_pct"`        // of the medians
	Verdict    Verdict    `json:"verdict,omitempty"`
}

// A MixChange is all kinds of steps at once, at the mix of before: what changed of steps, not of what is served.
type MixChange struct {
	ChangePct float64 `json:"change_pct"` // of the time of the kinds that both sides have, at the counts of before
	ShareTime float64 `json:"share_of_time"`
}

// kinds compares an engine's steps kind by kind; it comes after the measures.
func (c *comparison) kinds(d *Difference) {
	b, a := c.before[0].Report, c.after[0].Report
	if b == nil || a == nil || b.Serving == nil || a.Serving == nil {
		return
	}
	type key struct {
		kind   string
		bucket int64
	}
	at := make(map[key]int)
	for side, r := range []*report.Report{b, a} {
		n := 0
		for i := range r.Steps.Kinds {
			n += r.Steps.Kinds[i].Count
		}
		for i := range r.Steps.Kinds {
			k := &r.Steps.Kinds[i]
			i, seen := at[key{k.Kind, k.Bucket}]
			if !seen {
				i = len(d.Kinds)
				at[key{k.Kind, k.Bucket}] = i
				d.Kinds = append(d.Kinds, KindChange{Kind: k.Kind, Bucket: k.Bucket})
			}
			x := &d.Kinds[i]
			x.Count[side], x.MedianMs[side], x.ShareTime[side] = k.Count, k.P50Ms, k.ShareOfGPU
			x.ShareSteps[side] = float64(k.Count) / float64(max(1, n))
			if x.Count[side] > x.Count[1-side] {
				x.Size = k.Size
			}
		}
	}
	c.judgeKinds(d)
	var before, after, all float64
	for i := range d.Kinds {
		x := &d.Kinds[i]
		all += x.ShareTime[0]
		if x.MedianMs[0] > 0 && x.MedianMs[1] > 0 {
			before += x.ShareTime[0]
			after += x.ShareTime[0] * x.MedianMs[1] / x.MedianMs[0]
		}
	}
	if before > 0 && all > 0 {
		d.Mix = &MixChange{ChangePct: 100 * (after/before - 1), ShareTime: before / all}
	}
	slices.SortStableFunc(d.Kinds, func(x, y KindChange) int {
		return cmp.Compare(max(y.ShareTime[0], y.ShareTime[1]), max(x.ShareTime[0], x.ShareTime[1]))
	})
}

// judgeKinds takes the verdicts from the measures of the same steps.
func (c *comparison) judgeKinds(d *Difference) {
	for i := range d.Kinds {
		x := &d.Kinds[i]
		if x.MedianMs[0] > 0 && x.MedianMs[1] > 0 {
			x.ChangePct = pct(x.MedianMs[1]/x.MedianMs[0] - 1)
		}
		name := report.KindMeasure(x.Kind, x.Bucket)
		for k := range d.Measures {
			if m := &d.Measures[k]; m.Name == name {
				x.Measure, x.Verdict = name, m.Verdict
			}
		}
	}
}
