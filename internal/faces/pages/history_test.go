package pages

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"testing"

	"lacuna/internal/faces/page/pagetest"
	"lacuna/internal/runs/history"
	"lacuna/internal/runs/measure"
)

// hostileMeasure is a name out of a file.
const hostileMeasure = "kernel:evil\x1b[2J\u202e|`<b>"

// historyStore is a store in which the step shifts at commit 20, memory drifts, and a run in between is off.
func historyStore(t *testing.T) (*history.Store, history.Series) {
	t.Helper()
	s, err := history.Create(t.Context(), t.TempDir()+"/lacuna.db")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	var all []history.Entry
	for c := range 40 {
		noise := 1 + 0.003*float64(c*7%5-2)
		step, memory := 10*noise, 100+float64(c)+noise
		if c >= 20 {
			step = 12.5 * noise
		}
		lone := 5 * noise
		if c == 30 {
			lone = 9
		}
		r := &measure.Run{Name: fmt.Sprint("run", c), Program: "train.py <b>",
			Machine: measure.Machine{GPU: "NVIDIA H200", GPUs: 1, Driver: "580.10"}, Measures: []measure.Measure{
				{Name: "step", Unit: "ms", Better: measure.Lower, Samples: []float64{step, step * 1.01, step * 0.99}},
				{Name: "memory", Unit: "MB", Better: measure.Lower, Samples: []float64{memory}},
				{Name: hostileMeasure, Unit: "ms", Better: measure.Lower, Samples: []float64{lone}}}}
		r.Sort()
		all = append(all, history.Entry{Run: r, Commit: fmt.Sprintf("c%039d", c), Branch: "main",
			CommitAt: int64(1_700_000_000 + 3600*c)})
	}
	if _, _, err := s.Add(t.Context(), all); err != nil {
		t.Fatal(err)
	}
	series, err := s.Choose(t.Context(), history.Filter{})
	if err != nil {
		t.Fatal(err)
	}
	return s, series
}

func TestHistoryGoldens(t *testing.T) {
	s, series := historyStore(t)
	b, err := s.Blame(t.Context(), series, nil, 500, 0.01)
	if err != nil {
		t.Fatal(err)
	}
	if len(b.Moves) < 2 || len(b.Off) == 0 {
		t.Errorf("%d moves, %d off: the page shows less than there is", len(b.Moves), len(b.Off))
	}
	pagetest.Goldens(t, "blame", Blame(b))
	pagetest.Check(t, Blame(&history.Blame{Series: series}))

	courses, runs, err := s.Courses(t.Context(), series, []string{"step", "kernel:*"}, 500, 0.01)
	if err != nil {
		t.Fatal(err)
	}
	pagetest.Goldens(t, "plot", HistoryPlot(runs, courses))
	pagetest.HTML(t, "plot", HistoryPlot(runs, courses))
	d := xml.NewDecoder(strings.NewReader(HistorySVG(runs, courses)))
	for {
		if _, err := d.Token(); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
}
