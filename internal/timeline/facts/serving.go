package facts

import (
	"regexp"
	"sort"

	"lacuna/internal/base/interval"
	"lacuna/internal/timeline/model"
)

// A GapPart is what the host did between the last GPU work of one engine step and the first of the next.
type GapPart uint8

// The parts of a gap.
const (
	GapSchedule GapPart = iota // in a range that says so
	GapPrepare                 // within the next step's mark, before its first launch
	GapLaunch                  // in launch calls and the ordinary pauses between them
	GapSample                  // waits for the step's result, or in a range that says so
	GapOther                   // between the marks, or not known
	GapParts
)

// GapNames is the parts by name.
var GapNames = [GapParts]string{"schedule", "prepare", "launch", "sample", "other"}

// A ServingStep is what happens in one engine step, as far as a step of training is not asked for it.
type ServingStep struct {
	KernelNs  int64           // durations of its kernels; those that overlap count in full
	GraphNs   int64           // of these, kernels that were launched by a graph
	Launches  int64           // calls that launched one kernel
	Graphs    int64           // calls that launched a graph
	GapNs     [GapParts]int64 // GPU idle behind its last work, by what the host did
	CommNs    int64           // durations of its communication kernels
	CopiesNs  int64           // durations of its copies between host and device, that carry no tokens only
	CopyBytes int64           // of these
	Ahead     bool            // the next mark began while its work ran: the scheduler works ahead
	Waits     bool            // the host blocked until its work was done
}

// Gap is the whole of it.
func (s *ServingStep) Gap() (ns int64) {
	for _, x := range s.GapNs {
		ns += x
	}
	return ns
}

// TokenBytes is the most that a copy of inputs or of sampled tokens has: 1,024 requests with 64 numbers of 8 bytes
// each. What is larger carries a part of the cache of keys and values, or pictures.
const TokenBytes = 1 << 19

// Serving looks into every engine step; nil, if steps have none.
func (f *Facts) Serving(s *Steps) []ServingStep {
	if s.Engine == nil || !s.Device {
		return nil
	}
	return f.kept.serving.of(f, func(f *Facts) []ServingStep {
		out := make([]ServingStep, len(s.All))
		next := f.sumServing(s, out)
		f.findWaits(s, next, out)
		for i := range out {
			if !s.Engine.Each[i].Open {
				out[i].Ahead = f.nextMarkNs(s, i) < s.Engine.Each[i].LastNs
				f.divideGap(s, i, next[i], &out[i])
			}
		}
		return out
	})
}

// sumServing sums what begins in each step, and finds the thread that launched the first work behind each.
func (f *Facts) sumServing(s *Steps, out []ServingStep) (next []model.ThreadRow) {
	t, w := f.Trace, f.Work()
	isGraph := judge(&t.Strings, graphLaunchCall.MatchString)
	next = make([]model.ThreadRow, len(out))
	for i := range next {
		next[i] = model.NoThread
	}
	counted := make(map[int32]bool)
	step := 0
	for i, start := range w.StartNs {
		for step < len(s.All) && s.All[step].EndNs <= start {
			step++
		}
		if step >= len(s.All) {
			f.launcherOf(i, step-1, next)
			break
		}
		if step > 0 {
			f.launcherOf(i, step-1, next)
		}
		if !s.All[step].Contains(start) {
			continue
		}
		o, ns, call := &out[step], w.EndNs[i]-start, w.Call[i]
		graph := w.Kind[i] == WorkGraph || call != NoCall && isGraph(t.Calls.Name[call])
		switch w.Kind[i] {
		case WorkKernel, WorkGraph, WorkComm:
			o.KernelNs += ns
			if graph {
				o.GraphNs += ns
			}
			if w.Kind[i] == WorkComm {
				o.CommNs += ns
			}
		case WorkCopy:
			row := w.Row[i]
			if b := at(t.Copies.Bytes, int(row), 0); b > TokenBytes && betweenHostAndDevice(t.Copies.Kind[row]) {
				o.CopiesNs, o.CopyBytes = o.CopiesNs+ns, o.CopyBytes+b
			}
		}
		if call != NoCall && !counted[call] && w.Kind[i] <= WorkComm {
			counted[call] = true
			if graph {
				o.Graphs++
			} else {
				o.Launches++
			}
		}
	}
	return next
}

// waitSlackNs is how long before the end of a step's last work a wait for its tokens may end: small kernels that
// prepare the next step follow the copy of the tokens.
const waitSlackNs = 20_000

// findWaits finds the steps for whose results the thread that launches the next step blocked.
func (f *Facts) findWaits(s *Steps, next []model.ThreadRow, out []ServingStep) {
	calls, each := &f.Trace.Calls, s.Engine.Each
	for _, row := range f.BlockingCalls() {
		startNs, endNs := calls.StartNs[row], calls.EndNs(int(row))
		// steps follow one another, and so do the ends of their work: the last whose work ends at most a slack later
		i := sort.Search(len(each), func(i int) bool { return each[i].LastNs > endNs+waitSlackNs }) - 1
		if i >= 0 && startNs < each[i].LastNs && calls.Thread[row] == next[i] {
			out[i].Waits = true
		}
	}
}

// launcherOf notes the thread of work i for a step that has none yet.
func (f *Facts) launcherOf(i, step int, next []model.ThreadRow) {
	if call := f.Work().Call[i]; step >= 0 && next[step] == model.NoThread && call != NoCall {
		next[step] = f.Trace.Calls.Thread[call]
	}
}

// Ranges in which an engine schedules, and in which it samples and keeps books.
var (
	schedulingRange = regexp.MustCompile(`(?i)schedul|get_next_batch`)
	samplingRange   = regexp.MustCompile(`(?i)sampl|bookkeep|postprocess|process_batch_result|logits`)
)

// divideGap divides the idle time behind a step's last work by what the thread that launched the next work did.
func (f *Facts) divideGap(s *Steps, i int, thread model.ThreadRow, o *ServingStep) {
	e := &s.Engine.Each[i]
	gap := interval.Span{StartNs: e.LastNs, EndNs: s.All[i].EndNs}
	if gap.LenNs() <= 0 {
		return
	}
	nextMark := f.nextMarkNs(s, i)
	f.HostDoing(thread, gap, func(c Cause, piece interval.Span) {
		part := GapOther
		switch {
		case c.Kind == causeUnknown:
		case c.Kind == causeSync, c.Kind == causeCopyCall:
			part = GapSample
		case c.Kind == causeLaunch, c.Kind == causeAlloc:
			part = GapLaunch
		case c.Kind == causeRange && schedulingRange.MatchString(f.NameText(c.Name)):
			part = GapSchedule
		case c.Kind == causeRange && samplingRange.MatchString(f.NameText(c.Name)):
			part = GapSample
		default:
			if before := min(piece.EndNs, max(piece.StartNs, nextMark)); before > piece.StartNs {
				o.GapNs[GapOther] += before - piece.StartNs
				piece.StartNs = before
			}
			part = GapPrepare
		}
		o.GapNs[part] += piece.LenNs()
	})
}
