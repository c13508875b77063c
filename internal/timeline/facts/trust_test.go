package facts

import (
	"strings"
	"testing"

	"lacuna/internal/base/golden"
)

// TestTrust tells what speaks against a capture.
func TestTrust(t *testing.T) {
	golden.Cases(t, "testdata/trust.txtar", func(t *testing.T, events string) string {
		f := of(t, events)
		return strings.Join(f.Trust().Warnings(&f.Trace.Info), "\n")
	})
}
