package facts

import (
	"fmt"
	"strings"
	"testing"

	"lacuna/internal/base/golden"
)

// TestIdleCode tells the functions that the host ran in idle time, by cause.
func TestIdleCode(t *testing.T) {
	golden.Cases(t, "testdata/code.txtar", func(t *testing.T, events string) string {
		f := of(t, events)
		s, err := f.Steps()
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		for _, d := range f.Idleness(s.Window()) {
			sum := int64(0)
			for _, x := range f.IdleCode(d.Gaps) {
				fmt.Fprintf(&b, "%s %d: %d samples, off %d\n", f.CauseText(x.Cause), x.Ns, x.Samples, x.OffNs)
				known := x.OffNs
				for _, c := range x.Code {
					fmt.Fprintf(&b, "  %s %d, %d samples, calls %q\n", c.Text(), c.Ns, c.Samples, c.Called)
					known += c.Ns
				}
				if known > x.Ns || x.Ns != d.Causes[x.Cause] {
					t.Errorf("%s: %d of %d ns are known, and idle by host says %d", f.CauseText(x.Cause), known, x.Ns,
						d.Causes[x.Cause])
				}
				sum += x.Ns
			}
			if sum > d.IdleNs {
				t.Errorf("%d ns of %d idle", sum, d.IdleNs)
			}
		}
		return b.String()
	})
}
