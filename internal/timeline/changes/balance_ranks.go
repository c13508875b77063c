package changes

import (
	"slices"

	"lacuna/internal/timeline/facts"
	"lacuna/internal/timeline/replay"
)

var balanceRanks = Change{
	Name:   "balance-ranks",
	Syntax: "balance-ranks",
	Title:  "all ranks have the same work: no rank waits for the slowest one in collectives",
	Doc: `Needs the captures of all ranks, or the devices of all ranks in one capture.

Captures of one rank each are replayed together: kernels and host work of each rank are scaled so that all ranks
compute, and all hosts work, as long as they do on average. Collectives begin when the last rank has arrived, and
their transfer time stays.

Of several devices in one capture, collectives are matched by their order on each device. Each
takes as long as on the device that arrived last, which did not wait; kernels of each device are scaled so that all
devices compute as long as they do on average.`,
	Assumes: "work can be moved between ranks freely, and takes as long on the other rank",
	NotWhen: "one rank is given: only the captures of the others show how long a collective waits for them",
	Example: "balance-ranks",
	Apply:   applyBalanceRanks,

	Together: true,
}

func applyBalanceRanks(e *replay.Edit, arg string) (int, error) {
	if e.Ranks != nil {
		return balanceTogether(e)
	}
	return balanceDevices(e)
}

// balanceTogether gives all ranks that are replayed together the same work.
func balanceTogether(e *replay.Edit) (int, error) {
	device, host := make([]float64, len(e.Ranks)), make([]float64, len(e.Ranks))
	n := 0
	for r, x := range e.Ranks {
		for i := range x.Works {
			w := &x.Works[i]
			if w.Call < 0 || !x.InWindow(w.Call) || w.Dropped {
				continue
			}
			if w.Kind.IsCompute() {
				device[r] += float64(w.DurNs)
			} else if w.Kind == facts.WorkComm {
				n++
			}
		}
		for i := range x.Calls {
			if x.InWindow(int32(i)) && !x.Calls[i].Dropped {
				host[r] += float64(pauseNs(x, int32(i)) + x.Calls[i].OwnNs)
			}
		}
		steps := float64(max(1, len(x.Steps.Steady())))
		device[r], host[r] = device[r]/steps, host[r]/steps
	}
	if n == 0 {
		return 0, ErrNoMatch
	}
	for r, x := range e.Ranks {
		scaleRank(x, average(device)/max(1, device[r]), average(host)/max(1, host[r]))
	}
	e.Assume("the collectives of %d ranks are matched by their common ends", len(e.Ranks))
	return n, nil
}

func average(v []float64) (mean float64) {
	for _, x := range v {
		mean += x / float64(len(v))
	}
	return mean
}

// scaleRank multiplies what a rank's device computes and what its host does.
func scaleRank(e *replay.Edit, device, host float64) {
	for i := range e.Works {
		if w := &e.Works[i]; w.Kind.IsCompute() && !w.Dropped {
			scaleWork(e, int32(i), device)
		}
	}
	for i := range e.Calls {
		c := &e.Calls[i]
		if c.Pred >= 0 {
			c.GapNs, c.GapLowNs, c.GapHighNs = scaled(c.GapNs, host), scaled(c.GapLowNs, host),
				scaled(c.GapHighNs, host)
		}
		if c.Wait == replay.WaitNothing {
			c.OwnNs = scaled(c.OwnNs, host)
		}
	}
}

func scaled(ns int64, factor float64) int64 { return int64(float64(ns) * factor) }

// balanceDevices does it for the devices of one capture.
func balanceDevices(e *replay.Edit) (int, error) {
	collectives, compute := make(map[uint32][]int32), make(map[uint32]float64)
	for i := range e.Works {
		w := &e.Works[i]
		switch device := e.Lanes[w.Lane].Device; {
		case w.Dropped:
		case w.Kind == facts.WorkComm:
			collectives[device] = append(collectives[device], int32(i))
		case w.Kind.IsCompute():
			compute[device] += float64(w.DurNs)
		}
	}
	if len(collectives) == 0 {
		return 0, ErrNoMatch
	}
	if len(collectives) == 1 {
		return 0, &NotAllowedError{Why: "only one rank is given: how long its collectives wait for other ranks is " +
			"unknown; " +
			"give the captures of all ranks (lacuna whatif RANK0 RANK1 …), or one of all ranks of a node (nsys " +
			"profile around the launcher)"}
	}
	var lists [][]int32
	for _, device := range e.Facts.Devices() {
		if list := collectives[device]; list != nil {
			slices.SortStableFunc(list, func(a, b int32) int {
				return int(min(1,
					max(-1, e.Works[a].StartNs-e.Works[b].StartNs)))
			})
			lists = append(lists, list)
		}
	}
	for _, list := range lists[1:] {
		if len(list) != len(lists[0]) {
			return 0, &NotAllowedError{Why: "the devices have different numbers of collectives, which cannot be " +
				"matched by order"}
		}
	}
	for k := range lists[0] {
		shortest := e.Works[lists[0][k]].DurNs
		for _, list := range lists {
			shortest = min(shortest, e.Works[list[k]].DurNs)
		}
		for _, list := range lists {
			e.SetDur(list[k], shortest, shortest*9/10, max(shortest, (shortest+e.Works[list[k]].DurNs)/2))
		}
	}
	mean := 0.0
	for device := range collectives {
		mean += compute[device] // whole ns: the same in any order
	}
	mean /= float64(len(collectives))
	for i := range e.Works {
		if w := &e.Works[i]; w.Kind.IsCompute() && !w.Dropped && compute[e.Lanes[w.Lane].Device] > 0 &&
			collectives[e.Lanes[w.Lane].Device] != nil {
			scaleWork(e, int32(i), mean/compute[e.Lanes[w.Lane].Device])
		}
	}
	e.Assume("%d collectives are matched by their order on %d devices", len(lists[0]), len(lists))
	return len(lists[0]) * len(lists), nil
}
