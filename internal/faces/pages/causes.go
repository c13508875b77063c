package pages

import (
	"cmp"
	"strings"

	"lacuna/internal/faces/page"
	"lacuna/internal/timeline/facts"
)

// pathWords names a cause of a critical path.
func pathWords(key string) page.Text {
	if words, ok := pathCauses[key]; ok {
		return page.T(words)
	}
	return phrase(facts.ParseCause(key).Part())
}

// phrase is a phrase with its name marked.
func phrase(p facts.Phrase) page.Text { return page.Join(page.T(p.Words), page.Named(p.Name)) }

// pathCauses is the parts of a critical path that are not a host's.
var pathCauses = map[string]string{
	"compute": "kernels", "comm": "communication", "copy": "copies", "launch latency": "launch latency",
	"stream gap": "gaps between kernels", "sync return": "returns of synchronizing calls",
	"queue full": "a full launch queue", "workers": "background workers",
}

// causeWords says what the host did, as the end of a sentence that begins with "the host".
func causeWords(key string) page.Text { return phrase(facts.ParseCause(key).Clause()) }

// byLength orders by value, largest first; ties by name.
func byLength(x, y float64, a, b string) int {
	return cmp.Or(cmp.Compare(y, x), strings.Compare(a, b))
}
