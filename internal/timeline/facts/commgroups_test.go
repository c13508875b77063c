package facts

import (
	"fmt"
	"strings"
	"testing"

	"lacuna/internal/base/golden"
)

// TestCommGroups tells the communication of each process group, and that it sums to the device's.
func TestCommGroups(t *testing.T) {
	golden.Cases(t, "testdata/commgroups.txtar", func(t *testing.T, events string) string {
		f := of(t, events)
		s, err := f.Steps()
		if err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		for _, b := range f.Budgets(s.Window()) {
			exposed := int64(0)
			for _, g := range f.CommGroups(b.Device, s.Window()) {
				exposed += g.ExposedNs
				fmt.Fprintf(&out, "device %d, %q %q %q of %d: %d, exposed %d, hidden %d\n", b.Device, g.Name, g.Desc,
					g.Ranks, g.Size, g.CommNs, g.ExposedNs, g.HiddenNs)
				for _, o := range g.Ops {
					fmt.Fprintf(&out, "  %d x %s: %d, %d bytes in %d, factor %.3g\n", o.Count, o.Name, o.Ns, o.Bytes,
						o.BytesNs, BusFactor(o.Name, g.Size))
				}
			}
			if exposed != b.CommExposedNs {
				t.Errorf("device %d: groups expose %d ns, the budget says %d", b.Device, exposed, b.CommExposedNs)
			}
		}
		return out.String()
	})
}
