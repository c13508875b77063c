package facts

import "lacuna/internal/timeline/model"

// OSCallAt is the outermost call of the operating system that a thread is in at an instant; "" if it is in none.
func (f *Facts) OSCallAt(thread model.ThreadRow, ns int64) string {
	threads := f.hostThreads()
	h := threadAt(threads, thread)
	if h == nil {
		return ""
	}
	i := firstEndingAfter(h.os, ns)
	if i == len(h.os) || h.os[i].StartNs > ns {
		return ""
	}
	return f.Trace.Strings.Text(f.Trace.OSCalls.Name[h.osRow[i]])
}
