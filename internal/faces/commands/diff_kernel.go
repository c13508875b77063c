package commands

import (
	"regexp"
	"strings"
)

// parseKernelPair understands NAME, and BEFORE=AFTER where the two sides call their kernel differently; nil: all.
func parseKernelPair(text string) (before, after *regexp.Regexp, err error) {
	if text == "" {
		return nil, nil, nil
	}
	b, a, two := strings.Cut(text, "=")
	if !two {
		a = b
	}
	for _, x := range []struct {
		text string
		to   **regexp.Regexp
	}{{b, &before}, {a, &after}} {
		re, err := regexp.Compile(x.text)
		if err != nil || x.text == "" {
			return nil, nil, errCall("--kernel %s: want a regular expression that occurs in the name of the "+
				"kernel, or two with = between them: --kernel sgemm_naive=sgemm_tiled", text)
		}
		*x.to = re
	}
	return before, after, nil
}
