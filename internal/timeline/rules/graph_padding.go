package rules

import (
	"fmt"

	"lacuna/internal/timeline/facts"
)

var graphPadding = Rule{
	ID:       "graph_padding",
	Title:    "Decode graphs have room for more requests than there are",
	Since:    "0.3",
	Standing: CostsElse,
	Doc: `
A CUDA graph of a decode step is captured for one batch size. An engine runs a batch in the next larger graph: the
kernels compute rows that nobody asked for. Some engines mark both sizes.

The rule fires where graphs have room for 1.25 times as many requests as there are, or more, in 20 % of the steps whose
marks say so. What that costs depends on the model: below some batch a step takes as long with fewer requests, since
reading the weights is the limit.`,
	Limits: `
Only marks that say both sizes are judged. The gain is not known: compare the times of neighbouring sizes in the
section on serving.`,
	Fix: `
Capture graphs for more sizes, closer to the batches that run:

    --cuda-graph-bs 1 2 4 8 12 16 20 24 28 32 ...            # SGLang
    --compilation-config '{"cudagraph_capture_sizes": [1, 2, 4, 8, 12, 16, 20, 24]}'      # vLLM`,
	Confirm:   `Padded and real batch are nearly equal in most steps.`,
	RefutedBy: `Steps of the padded and of the real size take equally long.`,
	Check:     checkGraphPadding,
}

const (
	padRatio = 1.25 // a quarter of a full graph's rows are nobody's
	padShare = 0.2  // of the steps: fewer are the tail of a load that ends
)

func checkGraphPadding(c *Case, out *Findings) {
	e := c.engine()
	if e == nil {
		return
	}
	says := func(s *facts.EngineStep) bool { return s.Padded > 0 && s.Requests > 0 && s.Kind != facts.KindIdle }
	all := engineCount(e, says)
	padded := engineCount(e, func(s *facts.EngineStep) bool {
		return says(s) && float64(s.Padded) >= padRatio*float64(s.Requests)
	})
	if padded == 0 || float64(padded) < padShare*float64(all) {
		return
	}
	var room, real int64
	sizes := make(map[[2]int64]int)
	var most [2]int64
	for i := range e.Each {
		s := &e.Each[i]
		if !says(s) {
			continue
		}
		room, real = room+s.Padded, real+s.Requests
		key := [2]int64{s.Requests, s.Padded}
		if float64(s.Padded) < padRatio*float64(s.Requests) {
			continue
		}
		if sizes[key]++; sizes[key] > sizes[most] {
			most = key
		}
	}
	f := out.Add(0.9, 0, "Decode graphs have room for %.2f times as many requests as there are",
		float64(room)/float64(real))
	f.Because(fmt.Sprintf("%d of %d steps have room for %.2f times as many requests or more; most often %d run in a "+
		"graph for %d", padded, all, padRatio, most[0], most[1]))
}
