package facts

// An idle device lets a call that waits for it return within microseconds: who waited longer waited for work.
const minWaitNs = 1_000_000

// Unrecorded is what shows that a GPU worked, in a capture that has none of its work.
type Unrecorded struct {
	Launches int   // calls that launch a kernel or a graph and did not fail
	WaitNs   int64 // how long the host waited for the device
}

// Any says whether a GPU worked.
func (u Unrecorded) Any() bool { return u.Launches > 0 || u.WaitNs > 0 }

// Unrecorded is the zero value if the capture has GPU work.
func (f *Facts) Unrecorded() Unrecorded {
	var u Unrecorded
	if f.Work().Len() > 0 {
		return u
	}
	t := f.Trace
	for _, l := range f.launchCalls() {
		if at(t.Calls.Return, int(l.call), 0) == 0 {
			u.Launches++
		}
	}
	for _, row := range f.BlockingCalls() {
		u.WaitNs += t.Calls.DurNs[row]
	}
	if u.WaitNs < minWaitNs {
		u.WaitNs = 0
	}
	return u
}
