package report

// Unjudged is the larger part of a recording, where that is before or behind the steps or, where nothing marks steps,
// the main GPU work: nothing of it is in the budget.
type Unjudged struct {
	RecordedMs float64    `json:"recorded_ms"`
	JudgedMs   float64    `json:"judged_ms"` // all steps with those of start-up, or the main GPU work
	BeforeMs   float64    `json:"before_ms"` // with the GPU idle
	AfterMs    float64    `json:"after_ms"`  // with the GPU idle
	AgainMs    float64    `json:"again_ms"`  // of both, between other turns of the loop: not once per run
	Host       []HostTime `json:"host"`      // what the host did in the longer of both, in words, most time first
}

// unjudged is nil unless the larger part of the recording is outside what is judged.
func (o *one) unjudged() *Unjudged {
	x := o.f.Unjudged(o.steps)
	if !x.Most() {
		return nil
	}
	u := &Unjudged{RecordedMs: ms(x.Recorded.LenNs()), JudgedMs: ms(x.Judged.LenNs()), BeforeMs: ms(x.Before.Ns),
		AfterMs: ms(x.After.Ns), AgainMs: ms(x.AgainNs()), Host: []HostTime{}}
	longer := x.Before
	if x.After.Ns > x.Before.Ns {
		longer = x.After
	}
	for _, h := range longer.Host {
		if len(u.Host) < maxHostTimes && float64(h.Ns) >= minUnjudgedShare*float64(longer.Ns) {
			u.Host = append(u.Host, HostTime{What: longer.Words(h), Ms: ms(h.Ns), Calls: h.Calls})
		}
	}
	return u
}

// minUnjudgedShare is the share of the time before or behind that something must take to be named.
const minUnjudgedShare = 0.10
