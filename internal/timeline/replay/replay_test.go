package replay

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"lacuna/internal/base/golden"
	"lacuna/internal/timeline/evtext"
	"lacuna/internal/timeline/facts"
)

// build parses the text form of a capture and makes it ready to run.
func build(t *testing.T, events string) *Program {
	t.Helper()
	trace, err := evtext.Parse(events)
	if err != nil {
		t.Fatal(err)
	}
	f := facts.Of(trace)
	steps, err := f.Steps()
	if err != nil {
		t.Fatal(err)
	}
	return Build(f, steps)
}

// TestReplay tells when work starts and ends in a run by the rules alone, how calls follow one another
// between threads, and where the time of a step goes on the critical path.
func TestReplay(t *testing.T) {
	golden.Cases(t, "testdata/replay.txtar", func(t *testing.T, events string) string {
		p := build(t, events)
		r := p.Simulate(Options{})
		var b strings.Builder
		for i := range p.Calls {
			if c := &p.Calls[i]; c.Pred != none && p.Calls[c.Pred].Thread != c.Thread {
				fmt.Fprintf(&b, "hand-off: %s at %d follows %s\n", p.CallName(int32(i)), c.StartNs, p.CallName(c.Pred))
			}
		}
		for i := range p.Works {
			fmt.Fprintf(&b, "%s %d-%d (recorded %d) after %s\n", p.WorkName(int32(i)), r.WorkStart[i], r.WorkEnd[i],
				p.Works[i].StartNs, boundNames[r.Bound[i]])
		}
		var lines []string
		for cause, ns := range p.CriticalPath(r) {
			lines = append(lines, fmt.Sprintf("  %s %.0f\n", cause, ns))
		}
		slices.Sort(lines)
		if len(lines) > 0 {
			fmt.Fprintf(&b, "step %.0f\n%s", p.StepNs(r), strings.Join(lines, ""))
		}
		return b.String()
	})
}

var boundNames = map[Bound]string{BoundLaunch: "its launch", BoundStream: "its stream", BoundEvent: "an event",
	BoundNode: "a node", BoundNothing: "nothing"}

// TestResidualsAreExact: with what the record has beyond the rules, the unmodified program is the record.
func TestResidualsAreExact(t *testing.T) {
	p := build(t, "step 0+100000\nstep 100000+100000\ncall c1 1000+5000 cudaLaunchKernel\ncall c2 9000+5000 "+
		"cudaLaunchKernel\n"+
		"call c3 30000+5000 cudaDeviceSynchronize\ncall c4 101000+5000 cudaLaunchKernel\nkernel c1 11000+9000 "+
		"a\nkernel c2 23000+5000 b\nkernel c4 111000+5000 a\n")
	r := p.Simulate(Options{Residuals: p.Residuals()})
	for i := range p.Works {
		if r.WorkStart[i] != p.Works[i].StartNs {
			t.Errorf("%s starts at %d, recorded %d", p.WorkName(int32(i)), r.WorkStart[i], p.Works[i].StartNs)
		}
	}
	for i := range p.Calls {
		if r.CallEnd[i] != p.Calls[i].EndNs {
			t.Errorf("%s ends at %d, recorded %d", p.CallName(int32(i)), r.CallEnd[i], p.Calls[i].EndNs)
		}
	}
}

func TestEntries(t *testing.T) {
	for list, want := range map[string]int{"": 0, "[]": 0, "[[]]": 1, "[[64, 512], [512]]": 2, "[[], [], [2]]": 3,
		"[1, 2, 3]": 3, "x": 0} {
		if got := entries(list); got != want {
			t.Errorf("entries(%q) = %d, want %d", list, got, want)
		}
	}
}
