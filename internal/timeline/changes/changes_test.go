package changes

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"lacuna/internal/base/golden"
	"lacuna/internal/timeline/evtext"
	"lacuna/internal/timeline/facts"
	"lacuna/internal/timeline/replay"
)

// matches is an answer in which a change found something to change.
var matches = regexp.MustCompile(`(?m): [1-9][0-9]* matched$`)

// TestChanges applies each change to small programs: how much it matches, the step before and after by
// the rules alone, its bounds from what the change itself is unsure of, and what it takes for granted.
func TestChanges(t *testing.T) {
	for _, c := range All {
		t.Run(c.Name, func(t *testing.T) {
			file := "testdata/" + c.Name + ".txtar"
			var made []bool // by case: the change found something
			golden.CasesWithArgs(t, file, func(t *testing.T, in golden.Case) string {
				answer := tell(t, c, in)
				made = append(made, matches.MatchString(answer))
				return answer
			})
			if len(made) == 0 || !made[0] {
				t.Errorf("%s: the first case, which is the page's example, does not make the change", file)
			}
			if !slices.Contains(made, false) {
				t.Errorf("%s: no case in which the change is not made", file)
			}
		})
	}
	golden.NoStrangers(t, "testdata", func(name string) bool {
		return slices.ContainsFunc(All, func(c *Change) bool { return c.Name == name })
	})
}

// tell answers a case. Its args are the changes to make, as -x takes them, one behind the other.
func tell(t *testing.T, c *Change, in golden.Case) string {
	p := build(t, in.Events)
	e := p.Edit()
	var b strings.Builder
	seen := false
	for text := range strings.FieldsSeq(in.Args) {
		made, arg, err := Find(text)
		if err != nil {
			return "error: " + err.Error() + "\n"
		}
		seen = seen || made == c
		n, err := made.Apply(e, arg)
		var no *NotAllowedError
		if err != nil && !errors.Is(err, ErrNoMatch) && !errors.As(err, &no) {
			return "error: " + err.Error() + "\n"
		}
		if err != nil {
			return text + " " + err.Error() + "\n"
		}
		fmt.Fprintf(&b, "%s: %d matched\n", text, n)
	}
	if !seen {
		t.Fatalf("the case does not make the change %s", c.Name)
	}
	step := func(q *replay.Program, corner int, floorNs float64) float64 {
		return max(q.StepNs(q.Simulate(replay.Options{Corner: corner})), floorNs)
	}
	fmt.Fprintf(&b, "step %.0f -> %.0f (%.0f to %.0f)\n", step(p, 0, 0),
		step(e.Program, 0, e.Floor.Ns), step(e.Program, -1, e.Floor.LowNs), step(e.Program, 1, e.Floor.HighNs))
	for _, note := range e.Notes {
		fmt.Fprintf(&b, "assumes: %s\n", note)
	}
	return b.String()
}

func build(t *testing.T, events string) *replay.Program {
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
	return replay.Build(f, steps)
}

// Every change says what a person must know of it.
func TestChangesAreDocumented(t *testing.T) {
	for _, c := range All {
		for what, text := range map[string]string{"Syntax": c.Syntax, "Title": c.Title, "Doc": c.Doc,
			"Assumes": c.Assumes, "NotWhen": c.NotWhen, "Example": c.Example} {
			if strings.TrimSpace(text) == "" {
				t.Errorf("%s: no %s", c.Name, what)
			}
		}
		if name, _, _ := strings.Cut(c.Example, ":"); name != c.Name {
			t.Errorf("%s: its example is %s", c.Name, c.Example)
		}
		if !strings.HasPrefix(c.Syntax, c.Name) {
			t.Errorf("%s: its syntax is %s", c.Name, c.Syntax)
		}
	}
}

// Arguments that make no sense are errors of the call, not changes that match nothing.
func TestBadArguments(t *testing.T) {
	p := build(t, "step 0+100000\nstep 100000+100000\ncall c1 1000+5000 cudaLaunchKernel\ncall c2 101000+5000 "+
		"cudaLaunchKernel\n"+
		"kernel c1 8100+5000 a\nkernel c2 108100+5000 a\n")
	for _, text := range []string{"cpu", "cpu:0", "cpu:x", "cpu:-1", "cpu:NaN", "prefetch", "prefetch:x@0",
		"prefetch:x@y", "drop-range", "drop-range:(", "drop-syncs:(",
		"cuda-graph:(", "gpu", "gpu:0", "drop", "drop:(", "scale", "scale:a", "scale:a=0", "scale:(=2", "fuse",
		"fuse:(", "batch", "batch:x", "batch:0", "chunk", "chunk:-1", "overlap-schedule:x"} {
		c, arg, err := Find(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		var no *NotAllowedError
		_, err = c.Apply(p.Edit(), arg)
		if err == nil || errors.Is(err, ErrNoMatch) || errors.As(err, &no) {
			t.Errorf("%s: %v, want an error of the call", text, err)
		}
	}
	if _, _, err := Find("faster"); err == nil || !strings.Contains(err.Error(), "cuda-graph") {
		t.Errorf("unknown change: %v, want the names that there are", err)
	}
}
