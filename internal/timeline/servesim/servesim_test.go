package servesim

import (
	"fmt"
	"testing"

	"lacuna/internal/timeline/evtext"
	"lacuna/internal/timeline/facts"
)

// loads is every engine's marks, with the scheduler that waits and the one that works ahead.
func loads() (out []Load) {
	for _, engine := range []string{"vllm", "vllm-detailed", "sglang", "trtllm", "atom"} {
		for _, ahead := range []bool{false, true} {
			for _, mixed := range []bool{false, true} {
				out = append(out, Load{Engine: engine, Prompts: []int{700, 100, 2500, 300, 1200, 40, 900, 650, 5000},
					Outputs: 24, Arrive: 3, Chunk: 1024, Mixed: mixed, Graphs: !mixed || ahead, Ahead: ahead, Layers: 4,
					Pads: true, ScheduleNs: 60_000, PrepareNs: 40_000})
			}
		}
	}
	return out
}

// TestTruth: kinds, batches, tokens and starts of all steps are those that the model made, by all engines' marks.
func TestTruth(t *testing.T) {
	for _, l := range loads() {
		events, want := l.Run()
		trace, err := evtext.Parse(events)
		if err != nil {
			t.Fatal(err)
		}
		s, err := facts.Of(trace).Steps()
		if err != nil {
			t.Fatal(err)
		}
		if s.Source != facts.StepsEngine || s.Engine == nil {
			t.Fatalf("%+v: steps by %s", l, s.Source)
		}
		got := s.Engine.Each
		if len(got) < len(want)-1 || len(got) > len(want) {
			t.Errorf("%s: %d steps, want %d", l.Engine, len(got), len(want))
			continue
		}
		kinds := make(map[string]int)
		for i := range got {
			w, g := &want[i], &got[i]
			kinds[w.Kind]++
			is := fmt.Sprintf("%s %d+%d at %d", g.Kind, g.Prefill, g.Decode, s.All[i].StartNs)
			if should := fmt.Sprintf("%s %d+%d at %d", w.Kind, w.Prefill, w.Decode, w.StartNs); is != should {
				t.Errorf("%s: step %d is %s, want %s", l.Engine, i, is, should)
			}
			if tokens := g.PrefillTokens; tokens != int64(w.PrefillTokens) && tokens != facts.NotSaid {
				t.Errorf("%s: step %d has %d tokens of prompts, want %d", l.Engine, i, tokens, w.PrefillTokens)
			}
			if i+1 < len(want) && !g.Open && s.All[i].EndNs != want[i+1].StartNs {
				t.Errorf("%s: step %d ends at %d, want %d", l.Engine, i, s.All[i].EndNs, want[i+1].StartNs)
			}
		}
		if kinds["decode"] < 10 || kinds["prefill"]+kinds["mixed"] < 5 {
			t.Errorf("%s: a load of kinds %v tests little", l.Engine, kinds)
		}
		from := s.First
		for i := s.First; i < s.Last; i++ {
			if got[i].Kind != got[from].Kind || i > from && s.All[i].StartNs != s.All[i-1].EndNs {
				t.Errorf("%s: the report's steps %d to %d are not of one kind, or have holes", l.Engine, s.First, s.Last)
			}
		}
	}
}
