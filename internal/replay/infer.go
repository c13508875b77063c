package replay

// inferNs is how soon after its cause work must start for the cause to be inferred: some times the
// usual pause between two pieces of work of different streams.
const inferNs = 15_000

// inferWaits ties streams where the capture shows that streams wait for events but not which (Kineto
// without its synchronisation records): work that starts later than its launch and its stream explain, and
// right after work of another stream that was issued before it, waits for that.
// What it cannot see is a wait that was over in time: a change can make such a wait bind.
func (p *Program) inferWaits() {
	if len(p.Waits) > 0 || !p.Facts.HasStreamWaits() || len(p.Lanes) < 2 {
		return
	}
	res := p.Residuals()
	ends := make([]int32, len(p.Lanes)) // of each lane, the work that ran before, in order of start
	for i := range ends {
		ends[i] = none
	}
	order := p.byStart()
	for _, i := range order {
		w := &p.Works[i]
		if w.Call != none && res.works[i] > p.Rules.EventGapNs {
			for lane, k := range ends {
				if int32(lane) == w.Lane || k == none || k > i {
					continue
				}
				end := p.Works[k].StartNs + p.Works[k].DurNs
				if end <= w.StartNs && w.StartNs-end <= inferNs && (w.Needs == none || end > p.endNs(w.Needs)) {
					w.Needs = k
					p.Inferred++
				}
			}
		}
		if k := ends[w.Lane]; k == none || p.endNs(i) >= p.endNs(k) {
			ends[w.Lane] = i
		}
	}
}

func (p *Program) endNs(i int32) int64 { return p.Works[i].StartNs + p.Works[i].DurNs }
