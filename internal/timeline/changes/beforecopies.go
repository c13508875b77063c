package changes

import (
	"lacuna/internal/base/interval"
	"lacuna/internal/timeline/model"
	"lacuna/internal/timeline/replay"
)

// dropBeforeCopies takes away host work that is far longer than a usual pause and ends with a copy of data to the
// device. It returns how often it found some, and the host time, in ns, that went within the steps looked at. Where
// the host does not work there but waits, that goes only if another thread of the program is seen to work meanwhile:
// then it is that one's work which workers share.
func dropBeforeCopies(e *replay.Edit) (n int, removedNs int64, err error) {
	next, usualOf := e.NextOnThread(), usualPause(e)
	var works, waits []int32
	for i := range e.Calls {
		c := &e.Calls[i]
		if c.Dropped || c.Pred < 0 || c.GapNs <= workOnValue*usualOf(c.Thread) || !uploads(e, int32(i), next) {
			continue
		}
		if waitsBefore(e, int32(i)) != "" {
			waits = append(waits, int32(i))
		} else {
			works = append(works, int32(i))
		}
	}
	maker, made := makesMeanwhile(e, append(waits, works...))
	if made {
		works = append(waits, works...)
		e.Assume("other processes, or threads without a common lock, do what %s does now", threadWords(e, maker))
	} else if len(works) < len(waits) {
		return 0, 0, &NotAllowedError{Why: "the host waits there (" + waitsBefore(e, waits[0]) +
			"): for what, and whether more workers are the cure, this capture does not show"}
	}
	for _, i := range works {
		usual := usualOf(e.Calls[i].Thread)
		if e.InWindow(i) {
			removedNs += e.Calls[i].GapNs - usual
		}
		e.DropGap(i, usual)
	}
	if made {
		removedNs = e.Facts.SampledNs(maker, e.Steps.HostWindow())
	}
	return len(works), removedNs, nil
}

// gapBefore is the time between a call and the one that it follows, as recorded.
func gapBefore(e *replay.Edit, i int32) interval.Span {
	c := &e.Calls[i]
	return interval.Span{StartNs: e.Calls[c.Pred].EndNs, EndNs: max(e.Calls[c.Pred].EndNs, c.StartNs)}
}

// waitsBefore is what shows that a thread waits for others before a call, for most of the time; "": nothing does.
func waitsBefore(e *replay.Edit, i int32) string {
	th, gap := e.Calls[i].Thread, gapBefore(e, i)
	if function := e.Facts.TakesFrom(model.ThreadRow(th), []interval.Span{gap}); function != "" {
		return "in " + function
	}
	if sleepsIn(e.Facts.Trace, map[int32]interval.Set{th: {gap}}) {
		return "in calls of the operating system"
	}
	if off, known := e.Facts.OffCPU(model.ThreadRow(th), gap); known && 2*off.TotalNs() > gap.LenNs() {
		return "on no CPU"
	}
	return ""
}

// makesMeanwhile is another thread of the program that works for most of the time before calls, while theirs sleeps.
func makesMeanwhile(e *replay.Edit, calls []int32) (maker model.ThreadRow, ok bool) {
	if len(calls) == 0 {
		return 0, false
	}
	thread := e.Calls[calls[0]].Thread
	var spans []interval.Span
	for _, i := range calls {
		if e.Calls[i].Thread == thread {
			spans = append(spans, gapBefore(e, i))
		}
	}
	maker, _, ok = e.Facts.WorksInstead(model.ThreadRow(thread), spans)
	return maker, ok
}

// threadWords is a thread for a sentence.
func threadWords(e *replay.Edit, thread model.ThreadRow) string {
	if text := e.Facts.Trace.Threads[thread].Name; text != "" {
		return "the thread " + text
	}
	return "another thread"
}
