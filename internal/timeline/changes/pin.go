package changes

import (
	"fmt"
	"slices"

	"lacuna/internal/timeline/facts"
	"lacuna/internal/timeline/model"
	"lacuna/internal/timeline/replay"
)

var pin = Change{
	Name:   "pin",
	Syntax: "pin",
	Title:  "batches are copied from pinned memory, asynchronously, on a stream of their own, one step ahead",
	Doc: `Copies of pageable memory to the device, of over 64 KiB, become asynchronous copies of pinned memory on a
copy stream. A step uses the data copied during the step before. The synchronization after such a copy is left out.
The bandwidth is that of pinned copies in the capture, else what the device's host link gives.`,
	Assumes: "the data is in pinned memory (pin_memory=True) and known one step ahead; link and device memory " +
		"have room",
	NotWhen: "a batch depends on the step before",
	Example: "pin",
	Apply:   func(e *replay.Edit, arg string) (int, error) { return moveCopies(e, true) },
}

// asyncCopyCallNs is what an asynchronous copy's call of megabytes takes on the host at most: medians were 9.7 to
// 10.7 µs in six captures of pinned copies, under nsys and under torch.profiler.
const asyncCopyCallNs = 10_000

// moveCopies moves copies to the device to a stream of their own, one step ahead: those of pageable
// memory, at the speed of pinned memory, or those that are asynchronous already, as they are.
func moveCopies(e *replay.Edit, pageable bool) (int, error) {
	var moved []int32 // calls
	computes := computingLanes(e)
	for i := range e.Calls {
		if c := &e.Calls[i]; !c.Dropped && c.N == 1 && movable(e, c, pageable, computes) {
			moved = append(moved, int32(i))
		}
	}
	if len(moved) == 0 {
		return 0, ErrNoMatch
	}
	if err := linkIsFree(e, moved); err != nil {
		return 0, err
	}
	busier(e, moved)
	lanes := make(map[uint32]int32)
	speeds := make(map[uint32]replay.Range)
	next := e.NextOnThread()
	for _, i := range moved {
		c := &e.Calls[i]
		w := &e.Works[c.First]
		device := e.Lanes[w.Lane].Device
		if _, seen := lanes[device]; !seen {
			lanes[device] = e.NewLane(device)
			if pageable {
				speed, from, err := copySpeed(e, device)
				if err != nil {
					return 0, err
				}
				speeds[device] = speed
				e.Assume("pinned copies run at %.1f GB/s: %s", speed.Ns/1e9, from)
			}
		}
		if pageable {
			speed := speeds[device]
			bytes := float64(e.Facts.Trace.Copies.Bytes[e.Facts.Work().Row[w.Row]])
			e.SetDur(c.First, int64(bytes/speed.Ns*1e9), int64(bytes/speed.HighNs*1e9), int64(bytes/speed.LowNs*1e9))
			c.Wait, c.OwnNs = replay.WaitNothing, min(c.EndNs-c.StartNs, asyncCopyCallNs)
			if n := next[i]; n >= 0 && e.Calls[n].Wait == replay.WaitStream && e.Calls[n].N == 0 {
				e.Stub(n)
			}
		}
	}
	need(e, moved, lanes)
	return len(moved), nil
}

// linkIsFree says why copies cannot be made ahead where others to the device go on without a recorded call: these
// cannot be moved, and two copies of one direction share the link.
func linkIsFree(e *replay.Edit, moved []int32) error {
	var movedNs, otherNs int64
	for _, i := range moved {
		movedNs += e.Works[e.Calls[i].First].DurNs
	}
	w, t, window := e.Facts.Work(), e.Facts.Trace, e.Steps.Window()
	for i, call := range w.Call {
		if call == facts.NoCall && window.Contains(w.StartNs[i]) && w.Kind[i] == facts.WorkCopy &&
			t.Copies.Kind[w.Row[i]] == model.CopyHtoD {
			otherNs += w.EndNs[i] - w.StartNs[i]
		}
	}
	if float64(otherNs) > maxStaying*float64(movedNs) {
		return &NotAllowedError{Why: "other copies to the device have no recorded call and would share the link with " +
			"those made ahead"}
	}
	return nil
}

// maxStaying is up to which share of the copies' time others may stay that have no call: an error of the size of the
// replay's own.
const maxStaying = 0.05

// A device that computes without rest runs at a lower clock than one that rests while copies run: on one H200,
// without the pauses of 24 % of the time, the same kernels took 2 % longer (REPLAY.md), and steps up to 7 %. So for a
// share r of the time that the device no longer rests, kernels take 0.08 r longer, none at best, and up to restHigh
// at worst.
const (
	restPerShare, restHighPerShare = 0.08, 0.3
	restHigh                       = 1.07
)

// busier makes kernels slower, where copies that held them up no longer do.
func busier(e *replay.Edit, moved []int32) {
	copied := int64(0)
	for _, i := range moved {
		if e.InWindow(i) {
			copied += e.Works[e.Calls[i].First].DurNs
		}
	}
	share := min(1, float64(copied)/float64(max(1, e.Steps.Window().LenNs())))
	for i := range e.Works {
		if w := &e.Works[i]; w.Kind == facts.WorkKernel && w.HighNs == 0 && !w.Dropped {
			e.ScaleDur(int32(i), min(restHigh, 1+restPerShare*share), 1, min(restHigh, 1+restHighPerShare*share))
		}
	}
}

// movable says whether a call's only work is a copy to the device that can be made ahead.
func movable(e *replay.Edit, c *replay.Call, pageable bool, computes []bool) bool {
	w := &e.Works[c.First]
	if w.Kind != facts.WorkCopy || w.Dropped {
		return false
	}
	t, row := e.Facts.Trace, e.Facts.Work().Row[w.Row]
	if copyKind(e, c.First) != model.CopyHtoD || int(row) >= len(t.Copies.Bytes) ||
		t.Copies.Bytes[row] <= smallCopyBytes {
		return false
	}
	isPageable := int(row) < len(t.Copies.Src) && t.Copies.Src[row] == model.MemPageable
	if pageable {
		return isPageable
	}
	return !isPageable && computes[w.Lane]
}

// need makes the first kernels behind each copy wait for the copy of the step before instead, and moves
// the copies to their own streams. In a capture without steps they wait for the copy itself, which is issued as early
// as the host comes to it.
func need(e *replay.Edit, moved []int32, lanes map[uint32]int32) {
	whole := e.Steps.Source == facts.StepsNone
	byStep := make(map[int32][]int32)
	for _, i := range moved {
		byStep[e.Calls[i].Step] = append(byStep[e.Calls[i].Step], e.Calls[i].First)
	}
	for _, i := range moved {
		c := &e.Calls[i]
		k := slices.Index(byStep[c.Step], c.First)
		before := byStep[c.Step-1]
		if whole {
			k, before = 0, []int32{c.First}
		}
		lane := e.Works[c.First].Lane
		if k < len(before) {
			if user := nextOnLane(e, c.First, lane); user >= 0 {
				e.Works[user].Needs = before[k]
			}
		}
	}
	for _, i := range moved {
		w := &e.Works[e.Calls[i].First]
		w.Lane = lanes[e.Lanes[w.Lane].Device]
	}
}

// nextOnLane is the next work that computes on a stream behind work i, or -1.
func nextOnLane(e *replay.Edit, i, lane int32) int32 {
	for k := i + 1; int(k) < len(e.Works); k++ {
		if w := &e.Works[k]; w.Lane == lane && w.Kind.IsCompute() && !w.Dropped {
			return k
		}
	}
	return -1
}

// copySpeed is the bandwidth, in bytes a second, of copies of pinned memory to a device: the median of
// the capture's own of at least 1 MB, else what its host link gives.
func copySpeed(e *replay.Edit, device uint32) (replay.Range, string, error) {
	t := e.Facts.Trace
	var seen []float64
	for i, kind := range t.Copies.Kind {
		if kind == model.CopyHtoD && i < len(t.Copies.Src) && t.Copies.Src[i] == model.MemPinned &&
			i < len(t.Copies.Device) && t.Copies.Device[i] == device && i < len(t.Copies.Bytes) &&
			t.Copies.Bytes[i] >= 1e6 && t.Copies.DurNs[i] > 0 {
			seen = append(seen, float64(t.Copies.Bytes[i])/float64(t.Copies.DurNs[i])*1e9)
		}
	}
	if n := len(seen); n > 0 {
		slices.Sort(seen)
		return replay.Range{Ns: seen[n/2], LowNs: seen[0], HighNs: seen[n-1]},
			"the median of such copies in the capture", nil
	}
	p, err := peakOf(e, device, "the bandwidth of pinned copies")
	if err != nil {
		return replay.Range{}, "", err
	}
	if p.HostGBs == 0 {
		return replay.Range{}, "", &NotAllowedError{Why: "the bandwidth of pinned copies is unknown: the capture " +
			"has none, and the host link of " + p.Name + " is not known"}
	}
	s, peak := p.HostShare(), p.HostGBs*1e9
	from := fmt.Sprintf("%.0f %% of the %s that a %s has at best", 100*s.Mid, p.HostLink, p.Name)
	return replay.Range{Ns: peak * s.Mid, LowNs: peak * s.Low, HighNs: peak * s.High}, from, nil
}
