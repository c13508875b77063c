package pages

import (
	"os"
	"strings"
	"testing"

	"lacuna/internal/faces/page"
	"lacuna/internal/faces/page/pagetest"
	"lacuna/internal/runs/bench"
	"lacuna/internal/runs/compare"
	"lacuna/internal/runs/measure"
)

func benchRun(step, sm float64, throttle string) *measure.Run {
	r := &measure.Run{Measures: []measure.Measure{{Name: "step", Unit: "ms", Samples: []float64{step}}},
		Conditions: []measure.Condition{{Name: "sm_mhz", Min: sm - 15, Median: sm, Max: sm + 15}}}
	if throttle != "" {
		r.Conditions = append(r.Conditions, measure.Condition{Name: "throttle", Max: 0.5, Text: throttle})
	}
	return r
}

func benchResult() *bench.Result {
	s := &bench.Session{Programs: []bench.Program{{Args: []string{"./old", "a b"}}, {Args: []string{"./new"}}},
		Runs: make([][]*measure.Run, 2), Stopped: bench.StoppedRuns, Warmups: 1}
	for _, x := range []float64{10, 10.01, 9.99, 10.02, 9.98} {
		s.Runs[0] = append(s.Runs[0], benchRun(x, 1980, ""))
		s.Runs[1] = append(s.Runs[1], benchRun(1.1*x, 1650, "power cap in 50 % of the samples"))
		s.Order = append(s.Order, 0, 1)
	}
	return bench.Judge(s, bench.Options{}, compare.DefaultEffect)
}

// The verdict comes first; a throttled side and clocks that differ are said, and no escape of the program's reaches
// the page.
func TestBenchGoldens(t *testing.T) {
	r := benchResult()
	r.Programs[1].Command = "./new \x1b[31m<b>|"
	text := textOf(t, Bench(r), page.Layout{Width: 90})
	for _, want := range []string{"before  ./old 'a b': 5 runs, 1 warm-up run left out\n",
		"\nA step is 11.0 ms (was 10.0 ms), +10 % (", "): slower.\n",
		"SM clock, MHz    1980  1965 to 1995   1650  1635 to 1665",
		"clock throttling: after in 5 of 5 runs; first: power cap in 50 % of the samples",
		"the clocks differ: 1980 MHz before, 1650 after"} {
		if !strings.Contains(text, want) {
			t.Errorf("text lacks %q:\n%s", want, text)
		}
	}
	pagetest.Goldens(t, "bench", Bench(r))
	one := bench.Judge(&bench.Session{Programs: []bench.Program{{Args: []string{"./old"}}}, Runs: oneSide(),
		Stopped: bench.StoppedPrecision}, bench.Options{}, compare.DefaultEffect)
	pagetest.Goldens(t, "bench_one", Bench(one))
}

// oneSide is the runs of one program.
func oneSide() [][]*measure.Run {
	var runs []*measure.Run
	for _, x := range []float64{10, 10.01, 9.99, 10.02, 9.98} {
		runs = append(runs, benchRun(x, 1980, ""))
	}
	return [][]*measure.Run{runs}
}

// What an H200 gave, as it was kept: the file is read, and the verdict on it is still the one of that day.
func TestBenchOfGPU(t *testing.T) {
	var sides [2][]*compare.Capture
	for i, name := range []string{"ab-against-h200.json", "ab-h200.json"} {
		f, err := os.Open("../../../bench/gpu/gate/results/" + name)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		runs, err := measure.Read(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range runs {
			sides[i] = append(sides[i], &compare.Capture{Run: r})
		}
	}
	d := compare.Diff(sides[0], sides[1], compare.Options{})
	if !d.Comparable || d.Step.Verdict != "slower" || *d.Step.ChangePct < 5 || *d.Step.ChangePct > 6.5 {
		t.Errorf("%+v", d.Step)
	}
}
