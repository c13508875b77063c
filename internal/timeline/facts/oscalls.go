package facts

import (
	"lacuna/internal/base/interval"
	"lacuna/internal/timeline/model"
)

// OSCallAt is the outermost call of the operating system that a thread is in at an instant, and when that was; "" if it
// is in none.
func (f *Facts) OSCallAt(thread model.ThreadRow, ns int64) (string, interval.Span) {
	threads := f.hostThreads()
	h := threadAt(threads, thread)
	if h == nil {
		return "", interval.Span{}
	}
	i := firstEndingAfter(h.os, ns)
	if i == len(h.os) || h.os[i].StartNs > ns {
		return "", interval.Span{}
	}
	return f.Trace.Strings.Text(f.Trace.OSCalls.Name[h.osRow[i]]), h.os[i]
}
