package report

import (
	"lacuna/internal/timeline/facts"
	"lacuna/internal/timeline/llmsize"
)

// ServingOptions is what a user says of a server that no capture holds.
type ServingOptions struct {
	Model    *llmsize.Model // nil: not given
	GPUs     int            // over how many GPUs its weights are divided; 0: as many as exchange in the steps
	Accepted float64        // tokens that a round of speculation gives a request on average; 0: not given
}

// Floor is the least that a decode step can take because of what it must read from GPU memory.
type Floor struct {
	Weights   float64  `json:"weights"` // ms
	KV        *float64 `json:"kv"`      // ms; null: marks do not say how long the requests are
	StepMs    float64  `json:"step_ms"` // that it is held against: mean of the steps looked at
	WeightGB  float64  `json:"weight_gb"`
	GPUs      int      `json:"gpus"` // over which the weights are divided
	Tokens    float64  `json:"tokens_per_step"`
	MemoryGBs float64  `json:"memory_gb_per_s"`
	MaxBatch  int64    `json:"max_batch"` // of the steps looked at
}

// floor is that of the steps looked at; nil with a reason: it is not known.
func (o *one) floor(opt ServingOptions, inputs int) (*Floor, string) {
	const no = "the floor of a decode step: "
	e := o.steps.Engine
	switch head := e.Groups[e.Head].Kind; {
	case opt.Model == nil:
		return nil, ""
	case head != facts.KindDecode && head != facts.KindVerify:
		return nil, no + "the steps looked at are of kind " + string(head) + "; --kind decode takes others"
	}
	peak, ok := o.f.Peak()
	if !ok || peak.MemoryGBs == 0 {
		return nil, no + "the bandwidth of this GPU's memory is not known"
	}
	f := &Floor{GPUs: opt.GPUs, MemoryGBs: peak.MemoryGBs}
	if f.GPUs == 0 {
		f.GPUs = max(1, inputs, o.exchanging())
	}
	n := 0.0
	weights, cache, context := 0.0, 0.0, true
	for i := o.steps.First; i < o.steps.Last; i++ {
		x := &e.Each[i]
		if x.Tokens <= 0 {
			return nil, no + "marks do not say how many tokens a step has"
		}
		n++
		f.Tokens += float64(x.Tokens)
		f.StepMs += ms(o.steps.All[i].LenNs())
		f.MaxBatch = max(f.MaxBatch, x.Requests)
		weights += opt.Model.ReadBytes(x.Tokens)
		context = context && x.Context > 0
		cache += float64(x.Context) * opt.Model.TokenBytes()
	}
	f.Tokens, f.StepMs = f.Tokens/n, f.StepMs/n
	f.WeightGB = weights / n / 1e9
	f.Weights = f.WeightGB / float64(f.GPUs) / peak.MemoryGBs * 1e3
	if context {
		kv := cache / n / float64(opt.Model.CacheShards(f.GPUs)) / (peak.MemoryGBs * 1e9) * 1e3
		f.KV = &kv
	}
	return f, ""
}

// exchanging is how many ranks the largest process group has that communicates in the steps looked at; 0: not recorded.
func (o *one) exchanging() (n int) {
	for i := range o.budgets {
		for _, g := range o.f.CommGroups(o.budgets[i].Device, o.window) {
			n = max(n, int(g.Size))
		}
	}
	return n
}
