package replay

import (
	"math"
	"slices"

	"lacuna/internal/timeline/facts"
	"lacuna/internal/timeline/peaks"
)

// Kernels of several streams that run at once share the multiprocessors. Each kernel fills a part of them: its
// blocks, at most one for each multiprocessor. While the parts of all that run add up to no more than the device,
// none slows another. Beyond, each runs at 1 / (1 + kappa (sum - 1)): 0 would be as if alone, 1 taking turns.
//
// Neither blocks nor registers decide kappa (REPLAY.md: two chains of GEMMs that fill the device had 0.43 to 0.47,
// one GEMM slowed 1.67 times; "they fit" would be 0, "they fill it" 1). Two chains of GEMMs of 7 µs with pointwise
// kernels between them had 0.64 for the GEMMs and over 1 for the pointwise ones. The middle was chosen knowing the
// first, the upper bound knowing the second.
//
// The few blocks of a collective keep their multiprocessors until it is done, so that it goes on as if alone; a
// kernel that fills the device in one wave then needs two, one of many waves loses those multiprocessors only. 24
// layers of GEMMs beside all-reduces of 24 blocks ran at 0.63 of their speed, the all-reduces at 0.94 of theirs (two
// H200): a collective counts as a kernel that fills the device.
const (
	kappaMid, kappaLow, kappaHigh = 0.5, 0.25, 0.95

	maxRelaxations = 30
	relaxed        = 0.002 // of a kernel's duration: less change from one round to the next is none
)

// A contention is what kernels need of their devices and when they ran as recorded.
type contention struct {
	use      []float64 // of each work: its part of the multiprocessors; 0: it does not compute
	recorded *schedule
}

// Contend makes kernels that a change lets run at once slow each other. What ran at once as recorded has been slowed
// already: durations are first brought back to what they would be alone.
func (e *Edit) Contend() {
	if e.contention != nil {
		return
	}
	p := e.Program
	c := &contention{use: make([]float64, len(p.Works))}
	sms := multiprocessors(p)
	k := &p.Facts.Trace.Kernels
	starts, ends := make([]int64, len(p.Works)), make([]int64, len(p.Works))
	for i := range p.Works {
		w := &p.Works[i]
		starts[i], ends[i] = w.StartNs, p.Facts.Work().EndNs[w.Row]
		if w.Kind == facts.WorkCopy || w.Kind == facts.WorkSet {
			continue
		}
		c.use[i] = 1 // a graph, a collective, or a kernel of which no more is known
		row := p.Facts.Work().Row[w.Row]
		if n := sms[p.Lanes[w.Lane].Device]; n > 0 && w.Kind == facts.WorkKernel &&
			int(row) < min(len(k.GridX), len(k.GridY), len(k.GridZ)) {
			if blocks := float64(k.GridX[row]) * float64(k.GridY[row]) * float64(k.GridZ[row]); blocks > 0 {
				c.use[i] = min(1, blocks/n)
			}
		}
	}
	c.recorded = newSchedule(p, c.use, starts, ends)
	e.contention = c
}

// multiprocessors is how many each device has, where that is known.
func multiprocessors(p *Program) map[uint32]float64 {
	out := make(map[uint32]float64)
	for _, d := range p.Facts.Trace.Devices {
		n := d.SMs
		if peak, ok := peaks.Find(d.Name, d); ok && n == 0 {
			n = peak.SMs
		}
		out[d.Ordinal] = float64(n)
	}
	return out
}

// relax runs a program whose kernels slow each other: each round, durations follow from what ran beside each kernel
// in the round before, until nothing changes. What comes first is right first, so it settles from the front.
func (p *Program) relax(opt Options) *Run {
	x := p.newRelaxation(&opt)
	run := p.simulate(opt, nil)
	for range maxRelaxations {
		most := x.again(run)
		run = p.simulate(opt, nil)
		if most < relaxed {
			break
		}
	}
	return run
}

// A relaxation is what kernels that slow each other take, found in rounds.
type relaxation struct {
	p       *Program
	kappa   float64
	alone   []float64 // share of its recorded duration that a kernel would take alone
	stretch []float64 // the options'
}

// newRelaxation begins with every kernel as recorded.
func (p *Program) newRelaxation(opt *Options) *relaxation {
	x := &relaxation{p: p, kappa: kappaMid, alone: make([]float64, len(p.Works)),
		stretch: make([]float64, len(p.Works))}
	switch {
	case opt.Corner < 0:
		x.kappa = kappaLow
	case opt.Corner > 0:
		x.kappa = kappaHigh
	}
	for i := range x.alone {
		x.alone[i] = p.contention.recorded.progress(int32(i), x.kappa)
		x.stretch[i] = 1
	}
	opt.stretch = x.stretch
	return x
}

// again takes what ran beside each kernel in a run, and returns by which share of itself a duration changed at most.
func (x *relaxation) again(run *Run) float64 {
	use := x.p.contention.use
	s, most := newSchedule(x.p, use, run.WorkStart, run.WorkEnd), 0.0
	for i := range x.stretch {
		from := run.WorkStart[i]
		if run.waited != nil {
			from += run.waited[i]
		}
		dur := float64(run.WorkEnd[i]-from) / x.stretch[i]
		if dur > 0 && use[i] > 0 && x.p.Works[i].Kind != facts.WorkComm {
			was := x.stretch[i]
			x.stretch[i] = max(x.alone[i], s.takes(int32(i), from, dur*x.alone[i], x.kappa)/dur)
			most = max(most, math.Abs(x.stretch[i]/was-1))
		}
	}
	return most
}

// A schedule is when the work of each stream ran.
type schedule struct {
	p          *Program
	use        []float64
	start, end []int64
	lanes      [][]int32 // the computing work of each lane, by start
	onDevice   map[uint32][]int32
}

func newSchedule(p *Program, use []float64, start, end []int64) *schedule {
	s := &schedule{p: p, use: use, start: start, end: end, lanes: make([][]int32, len(p.Lanes)),
		onDevice: make(map[uint32][]int32)}
	for i := range p.Works {
		if w := &p.Works[i]; use[i] > 0 && end[i] > start[i] {
			s.lanes[w.Lane] = append(s.lanes[w.Lane], int32(i))
		}
	}
	for l, works := range s.lanes {
		slices.SortStableFunc(works, func(a, b int32) int { return int(min(1, max(-1, start[a]-start[b]))) })
		if len(works) > 0 {
			d := p.Lanes[l].Device
			s.onDevice[d] = append(s.onDevice[d], int32(l))
		}
	}
	return s
}

// progress is the share of work i that is done in its own time, beside what else runs then.
func (s *schedule) progress(i int32, kappa float64) float64 {
	length := float64(s.end[i] - s.start[i])
	if length <= 0 || s.use[i] == 0 {
		return 1
	}
	done := 0.0
	s.walk(i, s.start[i], kappa, func(rate float64, from, to int64) bool {
		done += rate * float64(min(to, s.end[i])-from)
		return to < s.end[i]
	})
	return min(1, done/length)
}

// takes is how long work i takes from an instant on, beside what else runs then, if it would take aloneNs alone.
func (s *schedule) takes(i int32, at int64, aloneNs, kappa float64) float64 {
	took := 0.0
	s.walk(i, at, kappa, func(rate float64, from, to int64) bool {
		if todo := aloneNs / rate; todo <= float64(to-from) {
			took += todo
			return false
		}
		took += float64(to - from)
		aloneNs -= rate * float64(to-from)
		return true
	})
	return took
}

// walk tells the rate at which work i progresses from an instant on, span after span, while tell says to go on.
// Work of its own stream does not count: it waits for it.
func (s *schedule) walk(i int32, at int64, kappa float64, tell func(rate float64, from, to int64) bool) {
	own := s.p.Works[i].Lane
	others := s.onDevice[s.p.Lanes[own].Device]
	next := make([]int, len(others)) // in each lane, the first that ends after the instant looked at
	for k, lane := range others {
		works := s.lanes[lane]
		next[k], _ = slices.BinarySearchFunc(works, at, func(w int32, ns int64) int {
			if s.end[w] <= ns {
				return -1
			}
			return 1
		})
	}
	for more := true; more; {
		sum, until := s.use[i], int64(math.MaxInt64)
		for k, lane := range others {
			works := s.lanes[lane]
			for next[k] < len(works) && s.end[works[next[k]]] <= at {
				next[k]++
			}
			if lane == own || next[k] == len(works) {
				continue
			}
			switch w := works[next[k]]; {
			case s.start[w] > at:
				until = min(until, s.start[w])
			default:
				sum += s.use[w]
				until = min(until, s.end[w])
			}
		}
		more = tell(1/(1+kappa*max(0, sum-1)), at, until)
		at = until
	}
}
