package rules

import (
	"fmt"

	"lacuna/internal/timeline/facts"
)

var batchTooSmall = Rule{
	ID:       "batch_too_small",
	Title:    "Decode steps take about as long with more requests: there is room in the batch",
	Since:    "0.3",
	Standing: CostsElse,
	Doc: `
A decode step reads all weights, however many requests it serves. Until reading is no longer the limit, more requests
in it are nearly free.

The rule fits a line through the lengths of the decode steps of a capture over their batch, by least squares. It fires
where there are at least three batch sizes with five steps each, the largest has at least twice as many requests as
the usual one, and by the line a step of the largest is at most a tenth longer than one of the usual size.`,
	Limits: `
It speaks of batches that were seen, not of larger ones. Longer contexts make steps longer: where the larger batches had
shorter contexts, the line is too flat. Whether requests wait for a place the server's metrics know.`,
	Fix: `
Let more requests run at once, if any wait:

    --max-num-seqs 256 --gpu-memory-utilization 0.95                  # vLLM
    --max-running-requests 256 --mem-fraction-static 0.9              # SGLang

With few requests at a time, fewer GPUs serve them as well, or speculation uses what is left.`,
	Confirm:   `Tokens per second rise with the batch, and the time between tokens stays.`,
	RefutedBy: `No requests wait: the batch is what the load gives.`,
	Check:     checkBatchTooSmall,
}

const (
	minBatches   = 3
	flatGrowth   = 1.1 // steps of one batch vary by as much
	batchHeadway = 2   // times the usual batch
)

func checkBatchTooSmall(c *Case, out *Findings) {
	e := c.engine()
	if e == nil {
		return
	}
	var x, y []float64
	count := make(map[int64]int)
	for i := range e.Each {
		if s := &e.Each[i]; s.Kind == facts.KindDecode && !s.Open && s.Requests > 0 {
			count[s.Requests]++
			x, y = append(x, float64(s.Requests)), append(y, float64(c.Steps.All[i].LenNs()))
		}
	}
	var usual, largest int64
	sizes := 0
	for batch, n := range count {
		if n < facts.FewSteps {
			continue
		}
		sizes++
		largest = max(largest, batch)
		if n > count[usual] || n == count[usual] && batch < usual {
			usual = batch
		}
	}
	if sizes < minBatches || largest < batchHeadway*usual {
		return
	}
	base, slope := line(x, y)
	at := func(batch int64) float64 { return base + slope*float64(batch) }
	if at(usual) <= 0 || at(largest) > flatGrowth*at(usual) {
		return
	}
	out.Add(0.7, 0, "Decode steps of %d requests take about as long as those of %d, which are most", largest, usual).
		Because(fmt.Sprintf("a line through %d decode steps of %d batch sizes gives %s for %d requests and %s for %d",
			len(x), len(count), ms(at(usual)), usual, ms(at(largest)), largest))
}

// line is the line through points by least squares: its value at 0, and its slope.
func line(x, y []float64) (base, slope float64) {
	n := float64(len(x))
	var sx, sy, sxx, sxy float64
	for i := range x {
		sx, sy, sxx, sxy = sx+x[i], sy+y[i], sxx+x[i]*x[i], sxy+x[i]*y[i]
	}
	if d := n*sxx - sx*sx; d > 0 {
		slope = (n*sxy - sx*sy) / d
	}
	return (sy - slope*sx) / n, slope
}
