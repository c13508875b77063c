package changes

import (
	"slices"

	"lacuna/internal/facts"
	"lacuna/internal/replay"
)

var balanceRanks = Change{
	Name:   "balance-ranks",
	Syntax: "balance-ranks",
	Title:  "all ranks have the same work: none waits for the slowest in collectives",
	Doc: `Needs the devices of all ranks in one capture. Collectives are matched by their order on each device. Each
lasts as long as on the device that came last to it, which waited for nobody; kernels of each device are scaled so that all
devices compute as long as they do on average.`,
	Assumes: "work can be moved between ranks freely; the device that came last shows how long a collective takes",
	NotWhen: "the capture holds one rank: how long a collective waits for others, the others show",
	Example: "balance-ranks",
	Apply:   applyBalanceRanks,
}

func applyBalanceRanks(e *replay.Edit, arg string) (int, error) {
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
		return 0, &NotAllowedError{Why: "the capture has the collectives of one device, and only those of the other ranks tell how long they wait for one another; " +
			"capture all ranks of one node in one file (nsys profile around the launcher) and give that"}
	}
	var lists [][]int32
	for _, device := range e.Facts.Devices() {
		if list := collectives[device]; list != nil {
			slices.SortStableFunc(list, func(a, b int32) int { return int(min(1, max(-1, e.Works[a].StartNs-e.Works[b].StartNs))) })
			lists = append(lists, list)
		}
	}
	for _, list := range lists[1:] {
		if len(list) != len(lists[0]) {
			return 0, &NotAllowedError{Why: "the devices have different numbers of collectives, so that they cannot be matched by order"}
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
		mean += compute[device] / float64(len(collectives))
	}
	for i := range e.Works {
		if w := &e.Works[i]; w.Kind.IsCompute() && !w.Dropped && compute[e.Lanes[w.Lane].Device] > 0 && collectives[e.Lanes[w.Lane].Device] != nil {
			scaleWork(e, int32(i), mean/compute[e.Lanes[w.Lane].Device])
		}
	}
	e.Assume("%d collectives are matched by their order on %d devices", len(lists[0]), len(lists))
	return len(lists[0]) * len(lists), nil
}
