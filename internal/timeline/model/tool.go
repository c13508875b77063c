package model

// A Tool is what recorded a capture, and what that cost: ns that it added to the host's time. Durations of the GPU are
// as they are without it, but for NodeNs. The zero Tool is unknown.
type Tool struct {
	Name     string  // as people call it when they run it: "Nsight Systems", "torch.profiler"
	CallNs   float64 // for each call that issues GPU work
	OtherNs  float64 // for each other call
	OpNs     float64 // for each operator or annotation that is recorded
	InputNs  float64 // for each recorded input of an operator
	FrameNs  float64 // for each recorded Python function
	NodeNs   float64 // on the device, for each node of a graph that is recorded by node
	Spread   float64 // the true cost lies between 1-Spread and 1+Spread times the modelled one; 0: nothing was measured
	MinShare float64 // a step without the tool is never surer than this share of itself
}

// maxCostNs is the most that one event may cost: a capture in text form can say anything.
const maxCostNs = 1e9

// Priced says whether it is known what the tool adds.
func (t *Tool) Priced() bool {
	for _, ns := range [...]float64{t.CallNs, t.OtherNs, t.OpNs, t.InputNs, t.FrameNs, t.NodeNs} {
		if !(ns >= 0 && ns <= maxCostNs) {
			return false
		}
	}
	return t.Spread > 0 && t.Spread <= 1 && t.MinShare >= 0 && t.MinShare <= 1
}

// A GraphDetail is how a tool recorded the launches of CUDA graphs.
type GraphDetail uint8

// How launches of CUDA graphs were recorded.
const (
	GraphsUnknown GraphDetail = iota // the capture does not say
	GraphsWhole                      // one run for each launch
	GraphsByNode                     // each node by itself
)
