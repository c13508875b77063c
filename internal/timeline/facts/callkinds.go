package facts

import (
	"strings"

	"lacuna/internal/timeline/model"
)

// Causes of idle time, as idle_by_host names them. Host work adds range:NAME and op:NAME.
const (
	CauseSync     = "sync"            // in a call that waits for the device
	CauseAlloc    = "alloc"           // in a call that allocates or frees memory
	CauseCopyCall = "copy_call"       // in a copy that blocks the host
	CauseLaunch   = "launch"          // in another CUDA call, or in an ordinary pause between two
	CauseOS       = "os"              // in a call of the operating system
	CauseHost     = "host"            // host work without a name
	CauseUnknown  = "unknown"         // no evidence of the host
	CauseGraph    = "graph"           // between two nodes of one graph that runs: no affair of the host
	CauseQueued   = "queued"          // the next work was launched already and did not start: nor is this the host's
	CauseLost     = "unrecorded_work" // it has launched what was not recorded: the device may be busy
)

// IsHosts says whether a cause of idle time, by its key, is something that the host does.
func IsHosts(cause string) bool {
	return cause != CauseGraph && cause != CauseQueued && cause != CauseLost
}

// BaseCallName is a call's name without the version that nsys appends: cudaLaunchKernel_v7000 is cudaLaunchKernel.
func BaseCallName(name string) string {
	i := strings.LastIndex(name, "_v")
	if i <= 0 || len(name)-i < len("_v1000") || strings.Trim(name[i+2:], "0123456789") != "" {
		return name
	}
	return name[:i]
}

// CallVerb is what a call does, whichever API it is of: cudaMemcpyAsync_v3020, cuMemcpyAsync and hipMemcpyAsync are
// MemcpyAsync.
func CallVerb(name string) string {
	name = BaseCallName(name)
	for _, prefix := range []string{"cuda", "hip", "cu"} {
		if verb, ok := strings.CutPrefix(name, prefix); ok {
			return verb
		}
	}
	return name
}

// callCause is the cause that a call of this name stands for, by the words that the CUDA and HIP APIs are made of.
func callCause(name string) string {
	name = CallVerb(name)
	switch {
	case strings.Contains(name, "Synchronize"):
		return CauseSync
	case hasPrefix(name, "Malloc", "Free", "MemAlloc", "MemFree", "MemCreate", "MemMap", "MemUnmap", "MemRelease",
		"MemSetAccess",
		"MemAddress", "HostAlloc", "HostFree", "HostRegister", "HostUnregister", "MemHostAlloc", "MemHostRegister",
		"MemHostUnregister",
		"ExtMalloc", "HostMalloc", "ArrayCreate", "MemPool", "ArrayDestroy", "ExtHostAlloc"):
		return CauseAlloc
	case strings.HasPrefix(name, "Memcpy") && !strings.Contains(name, "Async"):
		return CauseCopyCall
	}
	return CauseLaunch
}

func hasPrefix(s string, prefixes ...string) bool {
	for _, p := range prefixes {
		if strings.HasPrefix(s, p) {
			return true
		}
	}
	return false
}

// CallCauses says of each call what it stands for when the device idles during it. An asynchronous
// copy of pageable memory blocks the host while it is staged, so its call is a blocking copy too. Where copies were not
// recorded it is told by its length (LongCallNs).
func (f *Facts) CallCauses() []uint8 {
	return f.kept.callCauses.of(f, func(f *Facts) []uint8 {
		t := f.Trace
		cause := judge(&t.Strings, func(name string) uint8 { return causeNumber(callCause(name)) })
		out := make([]uint8, t.Calls.Len())
		for i, id := range t.Calls.Name {
			out[i] = cause(id)
		}
		if t.Copies.Len() == 0 { // no copy says which memory it is of: its call says whether it stages it
			stages := judge(&t.Strings, func(name string) bool { return strings.HasPrefix(CallVerb(name), "Memcpy") })
			for i, id := range t.Calls.Name {
				if t.Calls.DurNs[i] >= LongCallNs && stages(id) {
					out[i] = causeNumber(CauseCopyCall)
				}
			}
		}
		for i, call := range f.Launches().Copies {
			if call == NoCall {
				continue
			}
			pageable := at(t.Copies.Src, i, model.MemUnknown) == model.MemPageable ||
				at(t.Copies.Dst, i, model.MemUnknown) == model.MemPageable
			if pageable {
				out[call] = causeNumber(CauseCopyCall)
			}
		}
		return out
	})
}

// plainCauses is the causes that need no name, by number.
var plainCauses = [...]string{CauseUnknown, CauseSync, CauseAlloc, CauseCopyCall, CauseLaunch, CauseOS, CauseHost,
	CauseGraph, CauseQueued, CauseLost}

func causeNumber(cause string) uint8 {
	for i, c := range plainCauses {
		if c == cause {
			return uint8(i)
		}
	}
	return 0
}

// CauseName is the cause of a number that CallCauses gave.
func CauseName(n uint8) string { return plainCauses[n] }
