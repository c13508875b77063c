package facts

import (
	"cmp"
	"slices"
	"strings"

	"lacuna/internal/timeline/model"
)

// A FirstUse is the calls with which a process comes to use a device: the runtime starts, a context is made, modules
// are loaded. It is paid once per process.
type FirstUse struct {
	Process model.ProcessRow
	Rows    []int32 // of Calls, in order
	Ns      int64
	Longest int32 // of Rows
}

// FirstUses is the calls of LongCallNs and more that processes make before the first thing that they launch or copy,
// and that launch, as far as they can only be long because something begins: no waits and no copies; of those that
// allocate the first one, and of those that free memory the ones before it, which have nothing to free: cudaFree(0) is
// how programs and libraries ask for a context (CUDA C++ Programming Guide, Initialization).
func (f *Facts) FirstUses() []FirstUse {
	t, causes := f.Trace, f.CallCauses()
	launches := make(map[int32]bool)
	for _, l := range f.launchCalls() {
		launches[l.call] = true
	}
	done, allocated := make(map[model.ProcessRow]bool), make(map[model.ProcessRow]bool)
	by := make(map[model.ProcessRow]*FirstUse)
	for _, row := range f.outermostCalls() {
		process, kind := f.ProcessOf(t.Calls.Thread[row]), CauseKind(causes[row])
		if done[process] || kind == causeSync {
			continue
		}
		verb := CallVerb(t.Strings.Text(t.Calls.Name[row]))
		if kind == causeCopyCall || hasPrefix(verb, "Memcpy", "Memset") {
			done[process] = true
			continue
		}
		done[process] = launches[row]
		if kind == causeAlloc {
			if allocated[process] {
				continue
			}
			allocated[process] = !strings.Contains(verb, "Free")
		}
		ns := t.Calls.DurNs[row]
		if ns < LongCallNs {
			continue
		}
		u := by[process]
		if u == nil {
			u = &FirstUse{Process: process, Longest: row}
			by[process] = u
		}
		u.Rows, u.Ns = append(u.Rows, row), u.Ns+ns
		if ns > t.Calls.DurNs[u.Longest] {
			u.Longest = row
		}
	}
	var out []FirstUse
	for _, u := range by {
		out = append(out, *u)
	}
	slices.SortFunc(out, func(a, b FirstUse) int {
		return cmp.Or(cmp.Compare(b.Ns, a.Ns), cmp.Compare(a.Process, b.Process))
	})
	return out
}

// outermostCalls is the calls of all threads that no other call makes, by start.
func (f *Facts) outermostCalls() []int32 {
	var out []int32
	for _, h := range f.hostThreads() {
		out = append(out, h.callRow...)
	}
	starts := f.Trace.Calls.StartNs
	slices.SortFunc(out, func(a, b int32) int { return cmp.Or(cmp.Compare(starts[a], starts[b]), cmp.Compare(a, b)) })
	return out
}
