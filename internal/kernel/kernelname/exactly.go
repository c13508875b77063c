package kernelname

import (
	"regexp"
	"strings"
)

// Exactly is a regular expression that matches these names and nothing else.
func Exactly(names []string) string {
	var quoted []string
	for _, n := range names {
		quoted = append(quoted, regexp.QuoteMeta(n))
	}
	if len(quoted) == 1 {
		return "^" + quoted[0] + "$"
	}
	return "^(" + strings.Join(quoted, "|") + ")$"
}
