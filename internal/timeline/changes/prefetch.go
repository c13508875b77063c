package changes

import (
	"fmt"
	"strconv"
	"strings"

	"lacuna/internal/timeline/facts"
	"lacuna/internal/timeline/model"
	"lacuna/internal/timeline/replay"
)

var prefetch = Change{
	Name:   "prefetch",
	Syntax: "prefetch:RANGE|before-copies[@WORKERS]",
	Title:  "background workers do the host work of RANGE ahead of time",
	Doc: `The host work inside ranges named RANGE is left out of the loop. WORKERS that share it deliver a batch every
(host time of RANGE per step) / WORKERS, which the step cannot be shorter than. Each worker is slower the more cores
have one, up to 1.3 times as long where all do; more workers than cores count as the number of cores. Without
WORKERS: as many as it takes to keep up. Where no range marks the work, before-copies means all host work, far
longer than the thread's usual pause, that ends with a copy of at least 4 KiB to the device. If the host waits there
instead of working, it is refused, unless CPU samples show another thread of the program at work meanwhile: then it is
that one's work which the workers do.`,
	Assumes: "the work does not depend on the step before; workers share cores, caches and memory, but not a lock " +
		"or a saturated disk",
	NotWhen: "the work needs the result of the step before, or workers already do it and the loop waits for them",
	Example: "prefetch:data_load@12",
	Apply:   applyPrefetch,
}

// How much longer each of several workers takes than one thread alone: they share clocks, caches and memory, and hand
// batches over. The slowdown grows with the share of the cores that they keep busy. Measured on one host of 16 cores
// (bench/gpu/results: a NumPy loader with 1 to 12 workers, an augmenting one with 2 and 8) over the host time that
// its own captures show: 1.02 with 2 workers,
// 1.06 with 4, 1.16 with 8, 1.28 with 12 (the corpus' own run of it: 1.14); 1.09 to 1.16 and 1.08 to 1.12 for the
// other.
const (
	fullLoss   = 0.30 // each worker's loss where every core has one, in proportion below
	lossSpread = 0.12 // those runs lie within this of it, to each side
)

// workerLoss is by how much longer each of n workers takes, with its bounds. With no number of cores, they are half
// of them.
func workerLoss(n, cores int) (mid, low, high float64) {
	switch {
	case n == 1:
		return 1, 1 - lossSpread, 1 + lossSpread
	case cores == 0:
		return 1 + fullLoss/2, 1, (1 + fullLoss) * (1 + lossSpread)
	}
	mid = 1 + fullLoss*float64(n)/float64(cores)
	return mid, mid * (1 - lossSpread), mid * (1 + lossSpread)
}

func applyPrefetch(e *replay.Edit, arg string) (int, error) {
	name, count := arg, 0
	if i := strings.LastIndex(arg, "@"); i >= 0 {
		n, err := strconv.Atoi(arg[i+1:])
		if err != nil || n < 1 {
			return 0, fmt.Errorf("prefetch:%s: %q is not a number of workers; write prefetch:RANGE@12", arg, arg[i+1:])
		}
		name, count = arg[:i], n
	}
	re, err := pattern("prefetch", name)
	if err != nil {
		return 0, err
	}
	if why := waitsForWorkers(e, re); why != "" {
		return 0, &NotAllowedError{Why: why + ": workers already make the batches, and their number, their cores " +
			"or their source is the limit; this capture does not show the effect of more workers"}
	}
	n, removedNs := dropRanges(e, re, rangeHostOnly)
	if n == 0 && name == beforeCopies {
		if n, removedNs, err = dropBeforeCopies(e); err != nil {
			return 0, err
		}
	}
	if n == 0 {
		return 0, ErrNoMatch
	}
	perStep := float64(removedNs) / float64(max(1, len(e.Steps.Steady())))
	if count == 0 {
		e.Assume("as many workers as it takes to keep up with %.3g ms of work per step", perStep/1e6)
		return n, nil
	}
	cores := max(0, e.Facts.Trace.Info.Cores) // 0: the capture does not say, as those of torch.profiler never do
	if cores > 0 && count > cores {
		e.Assume("%d workers on %s do no more than %d", count, one(cores, "core"), cores)
		count = cores
	}
	share := perStep / float64(count)
	mid, low, high := workerLoss(count, cores)
	e.Raise(replay.Range{Ns: share * mid, LowNs: share * low, HighNs: share * high})
	on := "a host with an unknown number of cores"
	if cores > 0 {
		on = one(cores, "core")
	}
	e.Assume("%s on %s for %.3g ms of work per step; each takes %.2f times as long as one thread alone (%.2f to %.2f)",
		one(count, "worker"), on, perStep/1e6, mid, low, high)
	return n, nil
}

// beforeCopies stands for the range of host work that has none, in front of copies to the device.
const beforeCopies = "before-copies"

const (
	// minDataBytes is the least that data has: a page. Less is a number or a few.
	minDataBytes = 4 << 10
	// maxQueries is how many calls that issue nothing may stand between the work and the copy: queries and attributes.
	maxQueries = 64
)

// uploads says whether the first work that a thread issues from a call on is a copy of data to the device.
func uploads(e *replay.Edit, i int32, next []int32) bool {
	for k := 0; i >= 0 && k < maxQueries; i, k = next[i], k+1 {
		c := &e.Calls[i]
		if c.N == 0 {
			continue
		}
		w := &e.Works[c.First]
		t, row := e.Facts.Trace, e.Facts.Work().Row[w.Row]
		return w.Kind == facts.WorkCopy && t.Copies.Kind[row] == model.CopyHtoD && int(row) < len(t.Copies.Bytes) &&
			t.Copies.Bytes[row] >= minDataBytes
	}
	return false
}
