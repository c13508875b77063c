package spool

import (
	"fmt"
	"slices"

	raw "lacuna/internal/capture/spool"
	"lacuna/internal/timeline/model"
)

// An offset takes a clock to CLOCK_REALTIME.
type offset struct {
	addNs   int64
	errorNs int64 // how far pairs of the clocks lie from it, half their width included; at most
	pairs   int   // 0: none: the clocks are taken for the same
}

// offsetOf is how far a clock is behind CLOCK_REALTIME. Pairs that took much longer to read than others do not count;
// of the rest it is the median, so that one bad pair changes nothing. If that lies within the width of the pairs, the
// two are one clock, as CUPTI's is on Linux.
func offsetOf(clocks []raw.Clock, other func(raw.Clock) uint64) offset {
	type pair struct{ addNs, widthNs int64 }
	var pairs []pair
	for _, c := range clocks {
		if v := other(c); v != 0 && v < maxNs && c.Real != 0 && c.Real < maxNs {
			pairs = append(pairs, pair{int64(c.Real) - int64(v), int64(c.Width)})
		}
	}
	if len(pairs) == 0 {
		return offset{}
	}
	slices.SortFunc(pairs, func(a, b pair) int { return int(min(max(a.widthNs-b.widthNs, -1), 1)) })
	usual := pairs[(len(pairs)-1)/2].widthNs
	var adds []int64
	var worst int64
	for _, p := range pairs {
		if p.widthNs <= 4*usual {
			adds = append(adds, p.addNs)
		}
	}
	slices.Sort(adds)
	o := offset{addNs: adds[(len(adds)-1)/2], pairs: len(adds)}
	if o.addNs >= -2*usual && o.addNs <= 2*usual {
		o.addNs = 0
	}
	for _, a := range []int64{adds[len(adds)/20], adds[len(adds)-1-len(adds)/20]} { // one pair in twenty may be bad
		worst = max(worst, a-o.addNs, o.addNs-a)
	}
	o.errorNs = worst + usual/2
	return o
}

func gpuClock(c raw.Clock) uint64  { return uint64(c.GPU) }
func monoClock(c raw.Clock) uint64 { return uint64(c.Mono) }

// gpuTimes brings the stream's times of CUPTI's clock to CLOCK_REALTIME.
func (r *reading) gpuTimes(s *stream) {
	s.gpuOffset = offsetOf(s.clocks, gpuClock)
	add := s.gpuOffset.addNs
	if add == 0 {
		return
	}
	t := r.trace
	for name, times := range map[string][]int64{
		"Kernels": t.Kernels.StartNs, "Copies": t.Copies.StartNs, "Sets": t.Sets.StartNs,
		"GraphRuns": t.GraphRuns.StartNs,
		"Calls":     t.Calls.StartNs, "Syncs": t.Syncs.StartNs, "EventRecords": t.EventRecords.TimeNs,
		"Overheads":    t.Overheads.StartNs,
		"DeviceAllocs": t.DeviceAllocs.TimeNs,
	} {
		rows := times[s.rows[name].From:s.rows[name].To]
		for i, ns := range rows {
			if ns != 0 { // an event that has no time yet
				rows[i] += add
			}
		}
	}
}

func shift(times []int64, addNs int64) {
	for i := range times {
		times[i] += addNs
	}
}

// monoTimes brings what the recorder's streams say in CLOCK_MONOTONIC to CLOCK_REALTIME, by the stream's own pairs,
// or by those of another stream of the same boot.
func (r *reading) monoTimes() {
	var unknown []*stream
	for _, s := range r.streams {
		samples, switches := s.rows["Samples"], s.rows["Sched"]
		if samples.From == samples.To && switches.From == switches.To {
			continue
		}
		o := offsetOf(s.clocks, monoClock)
		for _, x := range r.streams {
			if o.pairs == 0 && x.from.Begin.Boot == s.from.Begin.Boot {
				o = offsetOf(x.clocks, monoClock)
			}
		}
		if o.pairs == 0 {
			unknown = append(unknown, s)
			continue
		}
		s.monoOffset = o
		shift(r.trace.Samples.TimeNs[samples.From:samples.To], o.addNs)
		shift(r.trace.Sched.TimeNs[switches.From:switches.To], o.addNs)
	}
	if len(unknown) > 0 {
		r.warn("the clock of samples and context switches cannot be aligned with the rest: no pair of clocks was " +
			"recorded; they are left out")
		withoutStreams(&r.trace.Samples, "Samples", unknown)
		withoutStreams(&r.trace.Sched, "Sched", unknown)
	}
}

// withoutStreams takes the rows of some streams out of a table. The streams' spans of it are void afterwards.
func withoutStreams(table any, name string, streams []*stream) {
	n := model.TableOf(table).Len()
	out := make([]bool, n)
	for _, s := range streams {
		for i := s.rows[name].From; i < s.rows[name].To; i++ {
			out[i] = true
		}
	}
	kept := make([]uint32, 0, n)
	for i, gone := range out {
		if !gone {
			kept = append(kept, uint32(i))
		}
	}
	if len(kept) < n {
		model.Permute(table, kept)
	}
}

// maxClockErrorNs is how far clocks may disagree before it is worth a warning: launches into an idle device take a
// few µs, and a disagreement of this size moves work before its launch.
const maxClockErrorNs = 100_000

// clockWords says how well the clocks are aligned.
func (r *reading) clockWords() {
	var gpu, mono offset
	for _, s := range r.streams {
		if s.gpuOffset.pairs > 0 && s.gpuOffset.errorNs >= gpu.errorNs {
			gpu = s.gpuOffset
		}
		if s.monoOffset.pairs > 0 && s.monoOffset.errorNs >= mono.errorNs {
			mono = s.monoOffset
		}
	}
	for _, x := range []struct {
		what string
		o    offset
	}{{"GPU and host", gpu}, {"samples and host", mono}} {
		if x.o.pairs == 0 {
			continue
		}
		r.meta("clocks of "+x.what, fmt.Sprintf("aligned to ±%.1f µs by %d pairs", float64(x.o.errorNs)/1e3, x.o.pairs))
		if x.o.errorNs > maxClockErrorNs {
			r.warn(fmt.Sprintf("the clocks of %s cannot be aligned better than %.3f ms: the order of events "+
				"closer together than that is uncertain", x.what, float64(x.o.errorNs)/1e6))
		}
	}
}

// maxEarlyNs is how long before the first stream an event can be that is not damaged: an agent's stream begins when
// it is first written to, some ms after the first events.
const maxEarlyNs = 10_000_000_000

// setEpoch makes time 0 the moment in which the first process began, or its first event if that is earlier: no time
// is negative.
func (r *reading) setEpoch() {
	var base int64
	for _, s := range r.streams {
		if ns := s.from.Begin.RealNs; ns > 0 && ns < maxNs && (base == 0 || ns < base) {
			base = ns
		}
	}
	var columns [][]int64
	for _, t := range r.trace.Tables() {
		for _, c := range t.Columns {
			if c.Name == "StartNs" || c.Name == "TimeNs" {
				columns = append(columns, *c.Slice.Addr().Interface().(*[]int64))
			}
		}
	}
	for began, i := base, 0; i < len(columns); i++ {
		for _, ns := range columns[i] {
			if ns < base && ns >= began-maxEarlyNs {
				base = ns
			}
		}
	}
	r.trace.Epoch = model.Epoch{UnixNs: base, Clock: clock, Unix: base == 0}
	for _, times := range columns {
		shift(times, -base)
	}
	for i := range r.trace.Windows {
		r.trace.Windows[i].StartNs -= base
		r.trace.Windows[i].EndNs -= base
	}
}
