package rules

import (
	"cmp"
	"fmt"
	"slices"

	"lacuna/internal/base/interval"
	"lacuna/internal/base/stat"
)

var commStalled = Rule{
	ID:    "comm_stalled",
	Title: "Collectives take many times as long as the same ones elsewhere in the capture",
	Since: "0.2",
	Needs: []Need{needWork},
	Doc: `
Collectives of one operation, size and process group move the same bytes. Where two or more of at least 8 take over 5
times what a tenth of them stays under, the rest of their time is not transfer, and neither overlap nor a faster link
is its fix. The rule counts what goes beyond that tenth, without computation beside it; it must be 15 % of the step. The
first of a kind is left out: it may connect the ranks.

Given the captures of all ranks, waiting for late ranks is left out first: what stalls then is held up by something that
no rank's capture shows, such as another process on one of the GPUs, which gets it in turns of some milliseconds.
From one rank's capture the two look the same.`,
	Limits: `
Needs recorded sizes, and the same collective several times. What else takes long in a collective than waiting or a GPU
that is shared, such as errors of a link that are corrected by sending again, no capture shows.`,
	Fix: `
See who else uses the GPUs, and whether the links are sound:

    nvidia-smi                       # other processes on these GPUs?
    nvidia-smi nvlink --status; nvidia-smi nvlink -e; NCCL_DEBUG=INFO

If only one rank was captured, capture all of them: lacuna report RANK0 RANK1 …`,
	Confirm:   `The same collectives all take about as long as the shortest.`,
	RefutedBy: `With the captures of all ranks, the time is waiting for a rank that comes late.`,
	Check:     checkCommStalled,
}

const (
	minSameComms  = 8    // of one kind, so that a tenth of them says something
	minStalled    = 2    // once may be anything
	stalledFactor = 5.0  // contention for links and SMs makes NCCL two to three times as slow
	usualQuantile = 0.1  // of the same collectives: what nothing holds up
	minStallShare = 0.15 // of the step; XProf calls that much communication high
)

// sameComm is what collectives have in common that move the same bytes.
type sameComm struct {
	device uint32
	group  string
	op     string
	bytes  int64
}

// A heldComm is collectives of one kind of which some take many times as long as others.
type heldComm struct {
	what    sameComm
	rows    []int32 // that take long
	of      int     // all of the kind
	usualNs float64
	overNs  int64 // beyond the usual, of rows
}

// commHeld is the kinds of collectives that are held up, most time first.
func (c *Case) commHeld() []heldComm {
	same := make(map[sameComm][]int32)
	for _, r := range c.commRows() {
		if bytes := c.commBytes(r); bytes > 0 {
			k := sameComm{c.work().Device[r], c.Facts.CommGroupKey(r), c.Facts.CommOpOf(r), bytes}
			same[k] = append(same[k], r)
		}
	}
	var out []heldComm
	for k, rows := range same {
		if len(rows) < minSameComms {
			continue
		}
		var ns []float64
		for _, r := range rows {
			ns = append(ns, float64(c.transferNs(r)))
		}
		slices.Sort(ns)
		s := heldComm{what: k, of: len(rows), usualNs: stat.Quantile(ns, usualQuantile)}
		for _, r := range rows[1:] {
			if t := float64(c.transferNs(r)); t > stalledFactor*s.usualNs {
				s.rows = append(s.rows, r)
				s.overNs += int64(t - s.usualNs)
			}
		}
		if len(s.rows) >= minStalled {
			out = append(out, s)
		}
	}
	slices.SortFunc(out, func(a, b heldComm) int {
		return cmp.Or(cmp.Compare(b.overNs, a.overNs), cmp.Compare(a.what.device, b.what.device),
			cmp.Compare(a.what.op, b.what.op), cmp.Compare(a.what.bytes, b.what.bytes))
	})
	return out
}

// stalledNs is what collectives take beyond their usual time with no computation beside them, of all devices over the
// window; 0: too little to speak of.
func (c *Case) stalledNs() int64 {
	var rows []int32
	var over, all int64
	for _, s := range c.commHeld() {
		rows, over = append(rows, s.rows...), over+s.overNs
	}
	for _, r := range rows {
		all += c.durNs(r)
	}
	if all == 0 {
		return 0
	}
	ns := int64(float64(over) / float64(all) * float64(c.exposedOf(rows)))
	if c.shareOfStep(ns) < minStallShare {
		return 0
	}
	return ns
}

func checkCommStalled(c *Case, out *Findings) {
	ns := c.stalledNs()
	if ns == 0 {
		return
	}
	list, x := c.commHeld(), c.together()
	sure, why := 0.75, "all ranks had come: something holds them up that no rank's capture shows, such as another "+
		"process on one of the GPUs"
	if x == nil {
		sure, why = 0.5, c.noWaits()+": whether they wait for late ranks or are held up otherwise is unknown"
	}
	f := out.Add(sure, c.perStep(ns), "Collectives are held up for %s of %s: the same ones take far less elsewhere",
		ms(c.perStep(ns)), ms(c.StepNs))
	var rows []string
	for _, s := range list[:min(4, len(list))] {
		rows = append(rows, fmt.Sprintf("GPU %d: %d of %d %s of %s: on average %s; a tenth of all stays under %s",
			s.what.device, len(s.rows), s.of, s.what.op, megabytes(float64(s.what.bytes)),
			ms(float64(s.overNs)/float64(len(s.rows))+s.usualNs), ms(s.usualNs)))
	}
	f.Because("the same operation with as many bytes takes far less elsewhere in the capture: the rest is not transfer",
		rows...)
	f.Because(why)
}

// exposedOf is the time of rows in which nothing computes, each instant once a device.
func (c *Case) exposedOf(rows []int32) (ns int64) {
	for device, set := range c.unions(rows) {
		ns += interval.Subtract(set, computeOn(c.work(), device)).TotalNs()
	}
	return ns
}
