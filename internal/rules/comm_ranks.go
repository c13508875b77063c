package rules

import (
	"cmp"
	"fmt"
	"slices"

	"lacuna/internal/facts"
	"lacuna/internal/stat"
)

// A rank is one device of one capture of a job.
type rank struct {
	name    string
	durNs   []float64 // of its communication kernels within the steps, in order
	kernels []string
	compute float64 // ns of a step
	perStep float64
}

// AcrossRanks judges the captures of a job's ranks together, by the rule comm_straggler. Clocks of hosts need not agree: a kernel of a
// collective runs until all ranks have come, so the rank whose kernel is the shortest came last, and the others waited
// for it by as much as theirs are longer. of is the place in the list of the capture whose step the finding is told of.
func AcrossRanks(cases []*Case, of int) *Findings {
	out := &Findings{rule: &commStraggler}
	var ranks []rank
	for i, c := range cases {
		ranks = append(ranks, c.ranks(i)...)
	}
	if len(ranks) < 2 || len(ranks[0].durNs) == 0 {
		return out
	}
	for _, r := range ranks[1:] {
		if !slices.Equal(r.kernels, ranks[0].kernels) {
			out.Cannot("the ranks did not run the same collectives in the same order within their steps: "+ranks[0].name+" and "+r.name+" differ",
				"collectives that can be matched", "lacuna report --steps A:B with steps that all ranks ran whole")
			return out
		}
	}
	late, waited := lateness(ranks)
	worst := slices.IndexFunc(waited, func(ns float64) bool { return ns == slices.Max(waited) })
	total := 0.0
	for _, ns := range waited {
		total += ns
	}
	others := waited[worst] * ranks[worst].perStep / float64(len(ranks)-1)
	if len(ranks[0].durNs) < minCollectives || waited[worst] < minLast*total || others < minStragglerShare*cases[of].StepNs {
		return out
	}
	n := len(ranks[0].durNs)
	f := out.Add(0.85, others, "%s comes late to %d of %d collectives: the other %d wait %s a step for it in the mean", ranks[worst].name, late[worst], n, len(ranks)-1, ms(others))
	f.Because(computesLike(ranks, worst))
	var rows []string
	for _, i := range byValue(waited) {
		if late[i] > 0 && len(rows) < 8 {
			rows = append(rows, fmt.Sprintf("%s: last in %d of %d, the others waited %s a step for it", ranks[i].name, late[i], n, ms(waited[i]*ranks[i].perStep/float64(len(ranks)-1))))
		}
	}
	f.Because("a collective's kernel runs until all ranks have come: the one whose kernel is the shortest came last", rows...)
	return out
}

// lateness is, by rank, to how many collectives it came last, and how long all others waited for it, in ns over the steps.
func lateness(ranks []rank) (late []int, waited []float64) {
	late, waited = make([]int, len(ranks)), make([]float64, len(ranks))
	for k := range ranks[0].durNs {
		last, sum := 0, 0.0
		for i := range ranks {
			if ranks[i].durNs[k] < ranks[last].durNs[k] {
				last = i
			}
		}
		for i := range ranks {
			sum += ranks[i].durNs[k] - ranks[last].durNs[k]
		}
		late[last]++
		waited[last] += sum
	}
	return late, waited
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
func computesLike(ranks []rank, worst int) string {
	var rest []float64
	for i := range ranks {
		if i != worst {
			rest = append(rest, ranks[i].compute)
		}
	}
	slices.Sort(rest)
	own, usual := ranks[worst].compute, stat.Quantile(rest, 0.5)
	if own > (1+likeShare)*usual {
		return fmt.Sprintf("it computes %s a step, the others %s: it has more to do, or a slower clock", ms(own), ms(usual))
	}
	return fmt.Sprintf("it computes %s a step, the others %s: not its GPU is late but its host, in what it does before it launches", ms(own), ms(usual))
}

// ranks is each device of a capture as a rank; place is that of the capture among the others.
func (c *Case) ranks(place int) (out []rank) {
	for _, b := range c.Budgets {
		r := rank{name: fmt.Sprintf("Rank %d", c.Trace.Info.Rank), compute: float64(b.ComputeNs) * c.PerStep, perStep: c.PerStep}
		if c.Trace.Info.Rank < 0 {
			r.name = fmt.Sprintf("Capture %d", place+1)
		}
		if len(c.Budgets) > 1 {
			r.name += fmt.Sprintf(", device %d", b.Device)
		}
		w := c.Facts.Work()
		for i := range w.Len() {
			if w.Kind[i] == facts.WorkComm && w.Device[i] == b.Device && c.stepAt(w.StartNs[i]) >= 0 {
				r.durNs = append(r.durNs, float64(w.EndNs[i]-w.StartNs[i]))
				r.kernels = append(r.kernels, shortName(c.Facts.WorkName(i)))
			}
		}
		out = append(out, r)
	}
	return out
}
