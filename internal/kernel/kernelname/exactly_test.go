package kernelname

import (
	"regexp"
	"testing"
)

// A pattern of exact names matches those and no others, whatever stands in them.
func TestExactly(t *testing.T) {
	names := []string{"void f<(int)4>(float*)", "a.b", "c$"}
	re := regexp.MustCompile(Exactly(names))
	for _, n := range names {
		if !re.MatchString(n) {
			t.Errorf("%s does not match %s", re, n)
		}
	}
	for _, n := range []string{"axb", "a.bc", "za.b", "c"} {
		if re.MatchString(n) {
			t.Errorf("%s matches %s", re, n)
		}
	}
}
