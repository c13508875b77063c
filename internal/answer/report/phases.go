package report

// A Phase is a part of a capture: its start, the GPU's work on what was launched before the capture, the steps looked
// at or the main GPU work, the end.
type Phase struct {
	Kind      string     `json:"kind"` // start, unseen, main, end
	StartMs   float64    `json:"start_ms"`
	DurMs     float64    `json:"dur_ms"`
	GPUBusyMs float64    `json:"gpu_busy_ms"` // of the mean device, as far as its work is recorded
	Host      []HostTime `json:"host"`        // what the thread that feeds the GPU did, most time first
}

// HostTime is something that a host thread did in a phase.
type HostTime struct {
	What  string  `json:"what"` // a call, a range or an operator; "": code outside any
	Ms    float64 `json:"ms"`
	Calls int     `json:"calls"` // 0: not a call
}

// What a phase says of the host: so many things, each of at least this share of it.
const (
	maxHostTimes     = 5
	minHostTimeShare = 0.01
)

// phases cuts the capture into its parts.
func (o *one) phases() []Phase {
	out := []Phase{}
	for _, p := range o.f.CaptureParts(o.steps) {
		x := Phase{Kind: string(p.Kind), StartMs: ms(p.StartNs - o.originNs()), DurMs: ms(p.LenNs()),
			GPUBusyMs: ms(p.BusyNs), Host: []HostTime{}}
		for _, h := range p.Host {
			if len(x.Host) < maxHostTimes && float64(h.Ns) >= minHostTimeShare*float64(p.LenNs()) {
				x.Host = append(x.Host, HostTime{What: h.What, Ms: ms(h.Ns), Calls: h.Count})
			}
		}
		out = append(out, x)
	}
	return out
}
