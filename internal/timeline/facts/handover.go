package facts

import (
	"cmp"
	"regexp"
	"slices"

	"lacuna/internal/base/interval"
	"lacuna/internal/timeline/model"
)

// waitFunction is Python's functions that wait for what another thread or process hands over.
var waitFunction = regexp.MustCompile(`(^|/)queue\.py\(\d+\): get$|multiprocessing/queues\.py\(\d+\): get$|` +
	`multiprocessing/connection\.py\(\d+\): _?(recv|poll|wait)\w*$|concurrent/futures/_base\.py\(\d+\): (result|wait)$|` +
	`(^|/)threading\.py\(\d+\): (wait|acquire|join)$|'acquire' of '_thread\.R?[lL]ock'|'get' of '_queue\.SimpleQueue'`)

// A handover is when threads wait in Python's functions, and which threads were sampled when.
type handover struct {
	waits   map[model.ThreadRow][]named // outermost functions, one behind the other
	samples map[model.ThreadRow][]int64
	calling map[model.ThreadRow]bool // threads that call CUDA
}

func (f *Facts) handover() *handover {
	return f.kept.handover.of(f, func(f *Facts) *handover {
		t := f.Trace
		h := &handover{make(map[model.ThreadRow][]named), make(map[model.ThreadRow][]int64),
			make(map[model.ThreadRow]bool)}
		is := judge(&t.Strings, waitFunction.MatchString)
		for i, id := range t.PyCalls.Name {
			if !is(id) || t.PyCalls.DurNs[i] <= 0 {
				continue
			}
			th, from := t.PyCalls.Thread[i], t.PyCalls.StartNs[i]
			list, span := h.waits[th], interval.Span{StartNs: from, EndNs: from + t.PyCalls.DurNs[i]}
			if n := len(list); n == 0 || list[n-1].EndNs <= from {
				h.waits[th] = append(list, named{Span: span, name: id})
			}
		}
		for i, th := range t.Samples.Thread {
			h.samples[th] = append(h.samples[th], t.Samples.TimeNs[i])
		}
		for _, list := range h.samples {
			slices.Sort(list)
		}
		for _, th := range t.Calls.Thread {
			h.calling[th] = true
		}
		return h
	})
}

// TakesFrom is the Python function, such as a queue's get, in which a thread waits for another thread or process for
// most of spans; "": none, or Python's functions were not recorded.
func (f *Facts) TakesFrom(thread model.ThreadRow, spans []interval.Span) string {
	waits := f.handover().waits[thread]
	var total, found int64
	by := make(map[model.StringID]int64)
	for _, s := range spans {
		total += s.LenNs()
		for i := firstNamedAfter(waits, s.StartNs); i < len(waits) && waits[i].StartNs < s.EndNs; i++ {
			ns := waits[i].Clip(s).LenNs()
			by[waits[i].name] += ns
			found += ns
		}
	}
	if 2*found <= total {
		return ""
	}
	best, bestNs := "", int64(0)
	for id, ns := range by {
		if text := f.Trace.Strings.Text(id); ns > bestNs || ns == bestNs && text < best {
			best, bestNs = text, ns
		}
	}
	return best
}

// muchMore is how many times the samples of a sleeping thread another one must have to be the one that works. Both are
// sampled at one rate, so that two threads that work in turns have about as many.
const muchMore = 10

// WorksInstead is another thread of a thread's process that works for most of spans, while that thread hardly runs, as
// CPU samples show, and for how long it works in them. Threads that call CUDA do not count: they may launch part of the
// same step. false: there is none, or the thread itself was never sampled.
func (f *Facts) WorksInstead(thread model.ThreadRow, spans []interval.Span) (other model.ThreadRow, ns int64, ok bool) {
	h := f.handover()
	if len(h.samples[thread]) == 0 {
		return 0, 0, false
	}
	var total int64
	for _, s := range spans {
		total += s.LenNs()
	}
	most := 0
	for th, list := range h.samples {
		if h.calling[th] || f.ProcessOf(th) != f.ProcessOf(thread) {
			continue
		}
		if n := within(list, spans); n > most || n == most && th < other {
			other, most = th, n
		}
	}
	ns = min(total, int64(most)*usualGap(h.samples[other]))
	return other, ns, most >= MinSamples && most >= muchMore*within(h.samples[thread], spans) && 2*ns > total
}

// SampledNs is for how long a thread worked in a span, by its CPU samples.
func (f *Facts) SampledNs(thread model.ThreadRow, span interval.Span) int64 {
	list := f.handover().samples[thread]
	return min(span.LenNs(), int64(within(list, []interval.Span{span}))*usualGap(list))
}

// within is how many of times, in order, lie within spans.
func within(times []int64, spans []interval.Span) (n int) {
	for _, s := range spans {
		from, _ := slices.BinarySearchFunc(times, s.StartNs, cmp.Compare[int64])
		to, _ := slices.BinarySearchFunc(times, s.EndNs, cmp.Compare[int64])
		n += max(0, to-from)
	}
	return n
}

// usualGap is the median time between two of times, in order.
func usualGap(times []int64) int64 {
	if len(times) < 2 {
		return 0
	}
	gaps := make([]int64, 0, len(times))
	for i := 1; i < len(times); i++ {
		gaps = append(gaps, times[i]-times[i-1])
	}
	slices.Sort(gaps)
	return gaps[len(gaps)/2]
}
