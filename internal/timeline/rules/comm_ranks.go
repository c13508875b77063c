package rules

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"lacuna/internal/base/interval"
	"lacuna/internal/base/stat"
	"lacuna/internal/timeline/facts"
)

// Ranks is the captures of a job, of which a Case is one, with the collectives that they ran together.
type Ranks struct {
	Meetings *facts.Meetings
	Steps    []*facts.Steps // of each capture
	Self     int            // the place of the Case's own capture
	Apart    string         // why the captures cannot be laid side by side; "": they can
}

// A rankWaits is what ranks wait for each other in collectives, in ns of a mean step of the rank that waits.
type rankWaits struct {
	names   []string
	met     int             // collectives within the steps of the judged rank
	last    []int           // by rank: to how many of those it came last
	exposed [][]float64     // by rank that waits and rank that came last: while nothing computes
	compute []float64       // by rank: its kernels, apart from communication
	own     map[int32]int64 // of the judged rank's collectives by row of Work: how long each waited
}

// perStepOf is one divided by the number of steps.
func perStepOf(s *facts.Steps) float64 { return 1 / float64(max(1, len(s.Steady()))) }

// waits lays the ranks side by side.
func (r *Ranks) waits() *rankWaits {
	m := r.Meetings
	n := len(m.Parties)
	x := &rankWaits{last: make([]int, n), exposed: make([][]float64, n), compute: make([]float64, n),
		own: make(map[int32]int64)}
	for p := range m.Parties {
		x.names = append(x.names, m.NameOf(p))
	}
	judged := slices.IndexFunc(m.Parties, func(p facts.Party) bool { return p.In == r.Self })
	for p := range m.Parties {
		party := &m.Parties[p]
		steps, w := r.Steps[party.In], party.Facts.Work()
		window, perStep := steps.Window(), perStepOf(steps)
		busy := computeOn(w, party.Device)
		x.compute[p] = float64(busy.Clip(window).TotalNs()) * perStep
		x.exposed[p] = make([]float64, n)
		until := window.StartNs // collectives of several groups may wait at once
		for k := range m.All {
			row := m.All[k].Rows[p]
			if row < 0 || !window.Contains(w.StartNs[row]) {
				continue
			}
			late, _ := m.Last(&m.All[k])
			wait := m.WaitNs(&m.All[k], p)
			if party.In == r.Self {
				x.own[row] = wait
			}
			if p == judged {
				x.met++
				x.last[late]++
			}
			s := interval.Span{StartNs: max(until, w.StartNs[row]), EndNs: min(window.EndNs, w.StartNs[row]+wait)}
			if s.LenNs() > 0 {
				x.exposed[p][late] += float64(s.LenNs()-busy.Clip(s).TotalNs()) * perStep
				until = s.EndNs
			}
		}
	}
	return x
}

// ofRank is what the others wait for a rank, each in the mean.
func (x *rankWaits) ofRank(late int) float64 {
	sum := 0.0
	for p := range x.exposed {
		if p != late {
			sum += x.exposed[p][late]
		}
	}
	return sum / float64(max(1, len(x.exposed)-1))
}

// waiting is what a rank waits for all others.
func (x *rankWaits) waiting(p int) (ns float64) {
	for _, v := range x.exposed[p] {
		ns += v
	}
	return ns
}

// exposedWaits is what the judged capture's devices wait for other ranks while nothing computes, over the window.
func (c *Case) exposedWaits(x *rankWaits) (ns int64) {
	for p, party := range c.ranks().Meetings.Parties {
		if party.In == c.ranks().Self {
			ns += int64(x.waiting(p) / c.PerStep)
		}
	}
	return ns
}

// computeOn is when a device computes.
func computeOn(w *facts.Work, device uint32) interval.Set {
	var spans []interval.Span
	for i := range w.Len() {
		if w.Kind[i].IsCompute() && w.Device[i] == device {
			spans = append(spans, interval.Span{StartNs: w.StartNs[i], EndNs: w.EndNs[i]})
		}
	}
	return interval.Union(spans)
}

// ranks is the captures of the job; of one capture of several devices, its devices. nil: there is one rank.
func (c *Case) ranks() *Ranks {
	if c.Ranks != nil || len(c.Budgets) < 2 {
		return c.Ranks
	}
	if c.memo.devices == nil {
		m := facts.Meet([]*facts.Facts{c.Facts})
		r := &Ranks{Meetings: m, Steps: []*facts.Steps{c.Steps}}
		for p := range m.Parties {
			if float64(m.Met[p]) < minMatched*float64(m.Ran[p]) {
				r.Apart = fmt.Sprintf("%d of the %d collectives of %s could be matched with those of the others",
					m.Met[p], m.Ran[p], m.NameOf(p))
			}
		}
		c.memo.devices = r
	}
	if len(c.memo.devices.Meetings.Parties) < 2 {
		return nil
	}
	return c.memo.devices
}

// apart says why there are several ranks that cannot be laid side by side, or "".
func (c *Case) apart() string {
	if r := c.ranks(); r != nil {
		return r.Apart
	}
	return ""
}

// together is what the ranks wait for each other; nil: one rank is given, or they cannot be laid side by side.
func (c *Case) together() *rankWaits {
	r := c.ranks()
	if r == nil || r.Apart != "" {
		return nil
	}
	if c.memo.ranks == nil {
		c.memo.ranks = r.waits()
	}
	return c.memo.ranks
}

// findLate judges the ranks' lateness.
func (c *Case) findLate(x *rankWaits, out *Findings) {
	var by []float64
	total := 0.0
	for p := range x.names {
		by = append(by, x.ofRank(p))
		total += by[p]
	}
	worst := slices.Index(by, slices.Max(by))
	if x.met < minCollectives || by[worst] < minLast*total || by[worst] < minStragglerShare*c.StepNs {
		return
	}
	f := out.Add(0.85, by[worst], "Straggler: %s is late to %d of %d collectives: %s of %s", capital(x.names[worst]),
		x.last[worst], x.met, othersWait(x, worst), ms(c.StepNs))
	f.Because(computesLike(x, worst))
	var rows []string
	for _, p := range byValue(by) {
		if by[p] > 0 && len(rows) < 8 {
			rows = append(rows, fmt.Sprintf("%s: last in %d of %d, the others waited %s per step for it", x.names[p],
				x.last[p], x.met, ms(by[p])))
		}
	}
	f.Because("clocks are aligned by the ends of collectives, which all ranks share; waiting that overlaps with "+
		"computation is not counted", rows...)
	f.Repair("balance-ranks")
}

func capital(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// othersWait says how long the other ranks wait in a step.
func othersWait(x *rankWaits, worst int) string {
	wait := ms(x.ofRank(worst))
	if len(x.names) == 2 {
		return x.names[1-worst] + " waits for it " + wait
	}
	return fmt.Sprintf("the other %d wait for it on average %s", len(x.names)-1, wait)
}

// byValue is the places of values, largest first.
func byValue(values []float64) []int {
	out := make([]int, len(values))
	for i := range out {
		out[i] = i
	}
	slices.SortStableFunc(out, func(a, b int) int { return cmp.Compare(values[b], values[a]) })
	return out
}

// likeShare is by how much ranks with the same work differ in computing: clocks and shapes make some percent.
const likeShare = 0.05

// computesLike says whether a rank is late because it computes longer.
func computesLike(x *rankWaits, worst int) string {
	rest := slices.Delete(slices.Clone(x.compute), worst, worst+1)
	slices.Sort(rest)
	own, usual := x.compute[worst], stat.Quantile(rest, 0.5)
	if own > (1+likeShare)*usual {
		return fmt.Sprintf("%s computes %s per step, the others %s: it has more work or a lower clock", x.names[worst],
			ms(own), ms(usual))
	}
	return fmt.Sprintf("%s computes %s per step, the others %s: its host is late, not its GPU", x.names[worst],
		ms(own), ms(usual))
}
