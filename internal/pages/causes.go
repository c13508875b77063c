package pages

import (
	"cmp"
	"strings"

	"lacuna/internal/page"
)

// pathWords names a cause of a critical path.
func pathWords(key string) page.Text {
	if name, ok := strings.CutPrefix(key, "range:"); ok {
		return page.Sayf("host code in %s", page.Named(name))
	}
	if name, ok := strings.CutPrefix(key, "op:"); ok {
		return page.Sayf("host code in operator %s", page.Named(name))
	}
	if words, ok := pathCauses[key]; ok {
		return page.T(words)
	}
	return page.Named(key)
}

// pathCauses is the causes of a critical path that are no names of the program's.
var pathCauses = map[string]string{
	"compute": "kernels", "comm": "communication", "copy": "copies", "launch latency": "latency from launch to kernel",
	"stream gap": "pauses between kernels", "sync return": "returns of synchronising calls", "queue full": "a full launch queue",
	"sync": "synchronising calls", "alloc": "allocating and freeing memory", "copy_call": "calls of blocking copies",
	"launch": "launching work", "os": "operating system calls", "host": "host code outside any range",
	"unknown": "what was not recorded", "workers": "the background workers",
}

// callKey begins the key of a call that takes long.
const callKey = "call:"

// causeWords says what the host did, as the end of a sentence that begins with "the host".
func causeWords(key string) page.Text {
	if words, ok := hostCauses[key]; ok {
		return page.T(words)
	}
	if name, ok := strings.CutPrefix(key, callKey); ok {
		return page.Sayf("is held in %s", page.Named(name))
	}
	if name, ok := strings.CutPrefix(key, "op:"); ok && strings.Contains(name, "::") {
		return page.Sayf("is in operator %s", page.Named(name)) // PyTorch's; others are annotations of a framework
	}
	return page.Sayf("is in %s", page.Named(strings.TrimPrefix(strings.TrimPrefix(key, "op:"), "range:")))
}

// hostCauses is the causes of idle time that are no names of the program's.
var hostCauses = map[string]string{
	"sync": "waits in a synchronising call", "alloc": "allocates or frees memory", "copy_call": "is in a blocking copy",
	"launch": "launches work, too slowly", "os": "is in an operating system call", "host": "runs code outside any range",
	"unknown": "does something unrecorded",
}

// byLength orders by value, largest first; ties by name.
func byLength(x, y float64, a, b string) int {
	return cmp.Or(cmp.Compare(y, x), strings.Compare(a, b))
}
