package facts

import (
	"fmt"
	"strings"
	"testing"

	"lacuna/internal/base/golden"
	"lacuna/internal/timeline/evtext"
)

// TestEngineSteps: what the marks of serving engines make of a capture.
func TestEngineSteps(t *testing.T) {
	golden.Cases(t, "testdata/enginesteps.txtar", func(t *testing.T, events string) string {
		trace, err := evtext.Parse(events)
		if err != nil {
			t.Fatal(err)
		}
		f := Of(trace)
		s, err := f.Steps()
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		fmt.Fprintf(&b, "%s %s, steps %d:%d\n", s.Source, s.Marker, s.First, s.Last)
		if s.Note != "" {
			fmt.Fprintf(&b, "note: %s\n", s.Note)
		}
		e := s.Engine
		if e == nil {
			return b.String()
		}
		for i, x := range e.Each {
			open := ""
			if x.Open {
				open = ", open"
			}
			fmt.Fprintf(&b, "%d+%d %s %d+%d tokens %d+%d, works to %d%s\n", s.All[i].StartNs, s.All[i].LenNs(), x.Kind,
				x.Prefill, x.Decode, x.PrefillTokens, x.DecodeTokens, x.LastNs, open)
		}
		for _, g := range e.InOrder() {
			fmt.Fprintf(&b, "%s %s %d: %v\n", g.Kind, g.Size(), g.Bucket, g.Steps)
		}
		o := f.Outside(s)
		fmt.Fprintf(&b, "outside %d, busy %d; empty %d, cut %d, pauses %d\n", o.Ns, o.BusyNs, e.Empty, e.Cut, e.Pauses)
		return b.String()
	})
}
