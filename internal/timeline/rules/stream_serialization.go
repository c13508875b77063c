package rules

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"lacuna/internal/base/interval"
	"lacuna/internal/timeline/facts"
)

var streamSerialization = Rule{
	ID:    "stream_serialization",
	Title: "Streams serialize instead of running concurrently",
	Since: "0.2",
	Needs: []Need{needWork, needCalls},
	Doc: `
Kernels are spread over two or more streams of a GPU and could run concurrently, but hardly ever do: one stream's
work begins where the other's ends, again and again, although it was queued long before. Waits between the streams
(cudaStreamWaitEvent, wait_stream), or the legacy default stream, which waits for all others, serialize them.

The rule looks at streams on which kernels compute for at least 10 % of the step each. They serialize if at most 20
% of what could overlap does, if the streams alternate at least 4 times per step, and if at most changes the next
work was already queued, so that a late launch does not explain it. The saving is at most the time of all streams
but the longest.`,
	Limits: `
Only the program knows whether a wait is needed: if each stream works on the other's results they must alternate,
and one stream would do. Kernels that fill the GPU gain nothing by running concurrently, so part of the time
remains. Copy and communication streams belong to copy_not_overlapped and comm_exposed.`,
	Fix: `
Wait once, where results are combined, not after each piece:

    s1.wait_stream(main); s2.wait_stream(main)
    for piece in pieces:
        with torch.cuda.stream(s1): a = branch_a(a)
        with torch.cuda.stream(s2): b = branch_b(b)      # no wait_stream between them
    main.wait_stream(s1); main.wait_stream(s2)`,
	FixC: `Remove cudaStreamWaitEvent calls between independent work; create streams with cudaStreamNonBlocking,
so that the legacy default stream does not wait for them.`,
	Confirm:   `Kernels of the two streams overlap on the timeline.`,
	RefutedBy: `Without the waits the results are wrong, or each kernel takes as much longer as it overlaps.`,
	Check:     checkStreamSerialization,
}

const (
	// minLaneShare is the share of the step that a stream must compute to be worth running beside another.
	minLaneShare = 0.10
	// maxOverlap is up to which share of what could overlap streams take turns.
	maxOverlap = 0.20
	// minTurns is how often a step streams must change places: fork and join do it twice.
	minTurns = 4
)

func checkStreamSerialization(c *Case, out *Findings) {
	for _, b := range c.Budgets {
		busy := c.computeLanes(b.Device)
		var sumNs, maxNs int64
		var all []interval.Span
		var names []string
		for _, l := range busy {
			sumNs, maxNs = sumNs+l.ns, max(maxNs, l.ns)
			all = append(all, l.spans...)
			names = append(names, fmt.Sprintf("stream %d: %s per step", l.lane.Stream, ms(float64(l.ns)*c.PerStep)))
		}
		if len(busy) < 2 {
			continue
		}
		couldNs := sumNs - maxNs
		overlapped := sumNs - interval.Union(all).TotalNs()
		turns, queued := c.turns(busy)
		if float64(overlapped) > maxOverlap*float64(couldNs) || turns < minTurns || !c.again(turns) ||
			2*queued < turns {
			continue
		}
		waits := c.streamWaits()
		why := fmt.Sprintf("streams are made to wait for each other %s per step", times(waits))
		if waits == 0 {
			if !c.usesLegacyStream(busy) {
				continue
			}
			why = "one of them is the legacy default stream, which waits for all others, and they for it"
		}
		atMost := float64(couldNs) * c.PerStep
		if atMost < minIdleShare*c.StepNs {
			continue
		}
		f := out.Add(0.7, atMost, "%d streams of GPU %d serialize, with %s changes per step: %.0f %% of the %s "+
			"that could overlap does", len(busy), b.Device, number(turns),
			100*float64(overlapped)/max(1, float64(couldNs)), ms(float64(couldNs)*c.PerStep))
		f.Because(fmt.Sprintf("at %.0f %% of the changes the next work was already queued, so a late launch does "+
			"not explain it", 100*queued/turns), names...)
		f.Because(why)
		if waits > 0 {
			f.Repair("drop-stream-waits")
		}
	}
}

// A laneBusy is what a stream computed within the steps looked at.
type laneBusy struct {
	lane  facts.Lane
	rows  []int32
	spans []interval.Span
	ns    int64
}

// computeLanes is the streams of a device that compute for a good part of the step, by stream.
func (c *Case) computeLanes(device uint32) []*laneBusy {
	w, window := c.Facts.Work(), c.Steps.Window()
	byStream := make(map[uint32]*laneBusy)
	for i := range w.Len() {
		if w.Device[i] != device || !w.Kind[i].IsCompute() {
			continue
		}
		s := (interval.Span{StartNs: w.StartNs[i], EndNs: w.EndNs[i]}).Clip(window)
		if s.LenNs() == 0 {
			continue
		}
		l := byStream[w.Stream[i]]
		if l == nil {
			l = &laneBusy{lane: facts.Lane{Device: device, Stream: w.Stream[i]}}
			byStream[w.Stream[i]] = l
		}
		l.rows, l.spans = append(l.rows, int32(i)), append(l.spans, s)
	}
	var out []*laneBusy
	for _, l := range byStream {
		l.spans = interval.UnionSorted(l.spans)
		if l.ns = interval.Set(l.spans).TotalNs(); c.Share(l.ns) >= minLaneShare {
			out = append(out, l)
		}
	}
	slices.SortFunc(out, func(a, b *laneBusy) int { return cmp.Compare(a.lane.Stream, b.lane.Stream) })
	return out
}

// turns is how often a step the streams change places, and at how many of these changes the work that follows
// had been issued before the work of the other stream ended.
func (c *Case) turns(lanes []*laneBusy) (turns, queued float64) {
	w := c.Facts.Work()
	var rows []int32
	for _, l := range lanes {
		rows = append(rows, l.rows...)
	}
	slices.Sort(rows) // Work is ordered by start
	for i := 1; i < len(rows); i++ {
		a, b := rows[i-1], rows[i]
		if w.Stream[a] == w.Stream[b] {
			continue
		}
		turns++
		if call := w.Call[b]; call != facts.NoCall && c.Trace.Calls.StartNs[call] < w.EndNs[a] {
			queued++
		}
	}
	return turns * c.PerStep, queued * c.PerStep
}

// streamWaits is how many waits of a stream for an event are issued in a step.
func (c *Case) streamWaits() float64 {
	t, n := c.Trace, c.newTally()
	for i, id := range t.Calls.Name {
		if strings.Contains(t.Strings.Text(id), "StreamWaitEvent") {
			n.add(t.Calls.StartNs[i], 1)
		}
	}
	return n.perStep()
}

// usesLegacyStream says whether one of the streams is the legacy default stream of its context.
func (c *Case) usesLegacyStream(lanes []*laneBusy) bool {
	for _, ctx := range c.Trace.Contexts {
		for _, l := range lanes {
			if ctx.Device == l.lane.Device && ctx.NullStream == l.lane.Stream {
				return true
			}
		}
	}
	return false
}
