package facts

import (
	"fmt"
	"strings"
	"testing"

	"lacuna/internal/base/golden"
)

// TestPasses tells the pass of each piece of GPU work, a line each: name and pass.
func TestPasses(t *testing.T) {
	words := map[Pass]string{PassUnknown: "unknown", PassForward: "forward", PassBackward: "backward",
		PassUpdate: "update"}
	golden.Cases(t, "testdata/passes.txtar", func(t *testing.T, events string) string {
		f := of(t, events)
		p := f.Passes()
		var b strings.Builder
		for i := range f.Work().Len() {
			fmt.Fprintf(&b, "%s %s\n", f.WorkName(i), words[p.Of[i]])
		}
		fmt.Fprintf(&b, "trains %v\n", p.Trains)
		return b.String()
	})
}

func TestPassNames(t *testing.T) {
	for name, want := range map[string]Pass{
		"forward": PassForward, "model.forward": PassForward, "fwd": PassForward, "Forward pass": PassForward,
		"fast_forward_data": PassForward,
		"backward":          PassBackward, "loss.backward()": PassBackward, "bwd_3": PassBackward,
		"backprop":  PassBackward,
		"optimizer": PassUpdate, "Optimizer.step#AdamW.step": PassUpdate, "opt.step": PassUpdate, "optim": PassUpdate,
		"Optimizer.zero_grad#AdamW.zero_grad": PassUnknown, "forward_backward": PassUnknown, "adopt": PassUnknown,
		"data_load": PassUnknown, "": PassUnknown, "DataLoader": PassUnknown, "straightforward": PassUnknown,
	} {
		if got := passOfName(name); got != want {
			t.Errorf("passOfName(%q) = %d, want %d", name, got, want)
		}
	}
}
