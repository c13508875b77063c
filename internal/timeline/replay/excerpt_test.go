package replay

import (
	"testing"

	"lacuna/internal/timeline/facts"
	"lacuna/internal/timeline/model"
)

// What cannot be cut into fewer steps is replayed only while it is small.
func TestTooLarge(t *testing.T) {
	for _, test := range []struct {
		calls int
		want  bool
	}{{0, false}, {mostCalls, false}, {mostCalls + 1, true}} {
		f := facts.Of(&model.Trace{Calls: model.Calls{StartNs: make([]int64, test.calls)}})
		if calls, got := TooLarge(f, &facts.Steps{Device: true}); got != test.want || calls != test.calls {
			t.Errorf("%d calls: %d, %v, want %v", test.calls, calls, got, test.want)
		}
	}
}
