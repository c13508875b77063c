package facts

import (
	"fmt"

	"lacuna/internal/base/interval"
)

// unseenNs is how long queued work must wait for a device on which nothing is recorded before it is said that
// something unrecorded ran there. A launch reaches an empty queue within 0.1 ms, and the creation of a queue, which
// the first launch on a stream may bring, takes the call itself that long.
const unseenNs = 1_000_000

// An Unseen is time in which a device was busy with work that the capture does not hold: launched before it began.
type Unseen struct {
	interval.Span
	Device uint32
	First  int32 // the work that waited for it: the first recorded on its stream, row of Work
}

// Unseen finds work of devices from before the capture. A stream runs its work in order: where the first recorded
// work of a stream was queued, the host went on to wait for the device, and the work still began a millisecond or
// more later with nothing recorded on the device meanwhile, and little on any other, the stream or one that it waited
// for was busy with what was launched before. A process whose first context is made in the capture has launched
// nothing before. That time is not idle, and what ran in it is unknown.
func (f *Facts) Unseen() []Unseen {
	return f.kept.unseen.of(f, func(f *Facts) []Unseen {
		t, w := f.Trace, f.Work()
		if t.Calls.Len() == 0 {
			return nil
		}
		var out []Unseen
		madeNs := f.contextMadeNs()
		seen, busyUntil := make(map[Lane]bool), make(map[uint32]int64)
		for i := range w.Len() {
			lane := Lane{w.Device[i], w.Stream[i]}
			before, any := busyUntil[lane.Device]
			if !any {
				before = minTime
			}
			busyUntil[lane.Device] = max(before, w.EndNs[i])
			if seen[lane] {
				continue
			}
			seen[lane] = true
			call := w.Call[i]
			if call == NoCall {
				continue // it was launched before the capture itself
			}
			if t.Calls.StartNs[call] > madeNs {
				continue // before the first context there is no work: it waits for memory to be mapped, or for itself
			}
			from := max(before, t.Calls.EndNs(int(call)))
			if s := (interval.Span{StartNs: from, EndNs: w.StartNs[i]}); s.LenNs() >= unseenNs &&
				2*f.blockedIn(call, s) >= s.LenNs() && 2*f.busyIn(s) <= s.LenNs() {
				out = append(out, Unseen{s, lane.Device, int32(i)})
			}
		}
		return out
	})
}

// contextMadeNs is when the process first asks CUDA for a context, far in the future if that is not in the capture.
func (f *Facts) contextMadeNs() int64 {
	t, first := f.Trace, int64(maxTime)
	makes := judge(&t.Strings, func(name string) bool {
		verb := CallVerb(name)
		return verb == "Init" || hasPrefix(verb, "DevicePrimaryCtxRetain", "CtxCreate")
	})
	for i, id := range t.Calls.Name {
		if makes(id) {
			first = min(first, t.Calls.StartNs[i])
		}
	}
	return first
}

// blockedIn is for how long of a span the thread that made a call was in calls that wait for the device. It asks for
// nothing that needs steps: these ask for it.
func (f *Facts) blockedIn(call int32, s interval.Span) int64 {
	c, causes := &f.Trace.Calls, f.CallCauses()
	var in []interval.Span
	for i := range c.Len() {
		if c.StartNs[i] >= s.EndNs {
			break
		}
		if k := CauseKind(causes[i]); c.Thread[i] == c.Thread[call] && (k == causeSync || k == causeCopyCall) {
			if x := (interval.Span{StartNs: c.StartNs[i], EndNs: c.EndNs(i)}).Clip(s); x.LenNs() > 0 {
				in = append(in, x)
			}
		}
	}
	return interval.Union(in).TotalNs()
}

// unseenUntil is when the last work from before the capture ended, and how long that was unseen; false: there is
// none.
func (f *Facts) unseenUntil() (ns, unseen int64, any bool) {
	for _, u := range f.Unseen() {
		if !any || u.EndNs > ns {
			ns, unseen, any = u.EndNs, u.LenNs(), true
		}
	}
	return ns, unseen, any
}

// isUnseen says whether most of a span of a device is time of work from before the capture: what the host did then
// does not explain it.
func (f *Facts) isUnseen(device uint32, s interval.Span) bool {
	for _, u := range f.Unseen() {
		if u.Device == device && 2*u.Clip(s).LenNs() > s.LenNs() {
			return true
		}
	}
	return false
}

// dropUnseen leaves out first steps in which a device was busy with work from before the capture: how long they would
// take by themselves is unknown. Of a single step it leaves out that time.
func (f *Facts) dropUnseen(s *Steps) {
	for s.Source != StepsNone && s.First < s.Last {
		step, ns, until := s.All[s.First], int64(0), int64(0)
		for _, u := range f.Unseen() {
			if in := u.Clip(step).LenNs(); in > ns {
				ns, until = in, u.EndNs
			}
		}
		if float64(ns) <= noticeShare*float64(step.LenNs()) {
			return
		}
		if s.Last-s.First == 1 {
			s.All[s.First].StartNs = until
			s.Note = join(s.Note, fmt.Sprintf("its first %.1f ms, in which the GPU ran what was launched before the capture, "+
				"are left out", ms(until-step.StartNs)))
			return
		}
		s.Startup = append(s.Startup, StartupStep{Index: s.First, Why: "begins behind work from before the capture"})
		s.First++
	}
}
