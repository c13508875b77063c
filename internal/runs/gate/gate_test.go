package gate

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"lacuna/internal/runs/measure"
)

// runs makes a run of each value of step.
func runs(change func(i int, r *measure.Run), steps ...float64) []*measure.Run {
	var out []*measure.Run
	for i, x := range steps {
		r := &measure.Run{Name: fmt.Sprintf("run%d", i), Machine: measure.Machine{GPU: "NVIDIA H200"},
			Measures: []measure.Measure{{Name: "step", Unit: "ms", Samples: []float64{x}}}}
		if change != nil {
			change(i, r)
		}
		r.Sort()
		out = append(out, r)
	}
	return out
}

func limits(t *testing.T, texts ...string) (out []Rule) {
	t.Helper()
	for _, text := range texts {
		r, err := ParseLimit(text)
		if strings.Contains(text, "<=") || strings.HasPrefix(text, "step>=") {
			r, err = ParseBudget(text)
		}
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, r)
	}
	return out
}

var steady = []float64{10, 10.02, 9.98, 10.01, 9.99, 10}

func times(f float64, v []float64) []float64 {
	out := slices.Clone(v)
	for i := range out {
		out[i] *= f
	}
	return out
}

func TestVerdicts(t *testing.T) {
	label := func(value string) func(int, *measure.Run) {
		return func(_ int, r *measure.Run) { r.Labels = []measure.Pair{{Name: "batch", Value: value}} }
	}
	clock := func(mhz float64) func(int, *measure.Run) {
		return func(_ int, r *measure.Run) {
			r.Conditions = []measure.Condition{{Name: "sm_mhz", Min: mhz, Median: mhz, Max: mhz}}
		}
	}
	gpu := func(name string) func(int, *measure.Run) { return func(_ int, r *measure.Run) { r.Machine.GPU = name } }
	better := func(b measure.Better) func(int, *measure.Run) {
		return func(_ int, r *measure.Run) { r.Measures[0].Better = b }
	}
	throttled := func(_ int, r *measure.Run) {
		r.Conditions = []measure.Condition{{Name: "throttle", Max: 0.5, Text: "power cap in 50 % of the samples"}}
	}
	noisy := []float64{9, 11, 10, 12, 8.5, 10.5}
	for _, test := range []struct {
		name          string
		before, after []*measure.Run
		rules         []string
		opt           Options
		want          Verdict
		status        int
		row           Verdict // of the first
		warns         string
	}{
		{"the same", runs(nil, steady...), runs(nil, steady...), []string{"step=2%"}, Options{}, Pass, 0, Pass, ""},
		{"5 % slower", runs(nil, steady...), runs(nil, times(1.05, steady)...), []string{"step=2%"}, Options{},
			Regression, 1, Regression, ""},
		{"5 % faster is no failure", runs(nil, steady...), runs(nil, times(0.95, steady)...), []string{"step=2%"},
			Options{}, Pass, 0, Improvement, ""},
		{"1.5 % slower is under the limit", runs(nil, steady...), runs(nil, times(1.015, steady)...),
			[]string{"step=2%"}, Options{}, Pass, 0, Pass, ""},
		{"5 % slower but under the floor", runs(nil, steady...), runs(nil, times(1.05, steady)...),
			[]string{"step=2%,1ms"}, Options{}, Pass, 0, Pass, ""},
		{"noise", runs(nil, noisy...), runs(nil, noisy...), []string{"step=2%"}, Options{}, Inconclusive, 3,
			Inconclusive, ""},
		{"noise, to pass", runs(nil, noisy...), runs(nil, noisy...), []string{"step=2%"},
			Options{Inconclusive: "pass"}, Inconclusive, 0, Inconclusive, ""},
		{"noise, to fail", runs(nil, noisy...), runs(nil, noisy...), []string{"step=2%"},
			Options{Inconclusive: "fail"}, Inconclusive, 1, Inconclusive, ""},
		{"noise around a gain is a pass", runs(nil, noisy...), runs(nil, times(0.85, noisy)...), []string{"step=2%"},
			Options{}, Pass, 0, Pass, ""},
		{"another GPU", runs(nil, steady...), runs(gpu("NVIDIA H100"), times(1.3, steady)...), []string{"step=2%"},
			Options{}, NotComparable, 3, NotComparable, ""},
		{"another GPU, by force", runs(nil, steady...), runs(gpu("NVIDIA H100"), times(1.3, steady)...),
			[]string{"step=2%"}, Options{Force: true}, Regression, 1, Regression, "by force: GPU"},
		{"another GPU, over budget too", runs(nil, steady...), runs(gpu("NVIDIA H100"), times(1.3, steady)...),
			[]string{"step<=11ms", "step=2%"}, Options{}, Regression, 1, Regression, ""},
		{"another batch", runs(label("8"), steady...), runs(label("16"), times(1.3, steady)...), []string{"step=2%"},
			Options{Same: []string{"batch"}}, NotComparable, 3, NotComparable, ""},
		{"a label that one side lacks", runs(label("8"), steady...), runs(nil, steady...), []string{"step=2%"},
			Options{Same: []string{"batch"}}, NotComparable, 3, NotComparable, ""},
		{"equal labels", runs(label("8"), steady...), runs(label("8"), steady...), []string{"step=2%"},
			Options{Same: []string{"batch"}}, Pass, 0, Pass, ""},
		{"8 % slower at clocks 8 % lower is not blamed", runs(clock(1980), steady...),
			runs(clock(1820), times(1.08, steady)...), []string{"step=2%"}, Options{}, NotComparable, 3, NotComparable,
			"flagged, not blamed"},
		{"30 % slower at clocks 8 % lower is", runs(clock(1980), steady...), runs(clock(1820), times(1.3, steady)...),
			[]string{"step=2%"}, Options{}, Regression, 1, Regression, "flagged, not blamed"},
		{"clocks were lower before", runs(clock(1820), steady...), runs(clock(1980), steady...), []string{"step=2%"},
			Options{}, Pass, 0, Pass, "lower before"},
		{"throttling on one side is said", runs(nil, steady...), runs(throttled, steady...), []string{"step=2%"},
			Options{}, Pass, 0, Pass, "the GPU throttled in 6 of 6 new runs (was 0 of 6): power cap"},
		{"throttling on both sides is not", runs(throttled, steady...), runs(throttled, steady...),
			[]string{"step=2%"}, Options{}, Pass, 0, Pass, ""},
		{"throttling without a baseline", nil, runs(throttled, steady...), []string{"step<=11ms"}, Options{}, Pass, 0,
			Pass, "the GPU throttled in 6 of 6 new runs: power cap"},
		{"one clock step is nothing", runs(clock(1980), steady...), runs(clock(1965), times(1.05, steady)...),
			[]string{"step=2%"}, Options{}, Regression, 1, Regression, ""},
		{"more is better", runs(better(measure.Higher), steady...),
			runs(better(measure.Higher), times(1.1, steady)...), []string{"step=2%"}, Options{}, Pass, 0, Improvement,
			""},
		{"less is worse", runs(better(measure.Higher), steady...), runs(better(measure.Higher), times(0.9, steady)...),
			[]string{"step=2%"}, Options{}, Regression, 1, Regression, ""},
		{"any change is worse", runs(better(measure.Neither), steady...),
			runs(better(measure.Neither), times(0.9, steady)...), []string{"step=2%"}, Options{}, Regression, 1,
			Regression, ""},
		{"within budget, no baseline", nil, runs(nil, steady...), []string{"step<=11ms"}, Options{}, Pass, 0, Pass, ""},
		{"over budget", nil, runs(nil, steady...), []string{"step<=9ms"}, Options{}, Regression, 1, Regression, ""},
		{"a budget within the noise", nil, runs(nil, noisy...), []string{"step<=10.1ms"}, Options{}, Inconclusive, 3,
			Inconclusive, ""},
		{"at least", nil, runs(nil, steady...), []string{"step>=11ms"}, Options{}, Regression, 1, Regression, ""},
		{"one run each", runs(nil, 10), runs(nil, 20), []string{"step=2%"}, Options{}, Inconclusive, 3, Inconclusive,
			""},
	} {
		t.Run(test.name, func(t *testing.T) {
			test.opt.Rules = limits(t, test.rules...)
			r, err := Check(test.before, test.after, test.opt)
			if err != nil {
				t.Fatal(err)
			}
			if r.Verdict != test.want || r.ExitStatus != test.status || r.Measures[0].Verdict != test.row {
				t.Errorf("%s, %d, %s; want %s, %d, %s: %+v", r.Verdict, r.ExitStatus, r.Measures[0].Verdict, test.want,
					test.status, test.row, r.Measures[0])
			}
			if got := strings.Join(r.Warnings, "; "); !strings.Contains(got, test.warns) || test.warns == "" &&
				got != "" {
				t.Errorf("warnings %q, want %q", got, test.warns)
			}
		})
	}
}

// A row's limit is a rule again, and its own.
func TestLimitsReadBack(t *testing.T) {
	r, err := Check(runs(nil, steady...), runs(nil, steady...),
		Options{Rules: append(limits(t, "step=3%,50us"), Rule{Pattern: "step:p90"}, limits(t, "step:max<=12ms")[0])})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range r.Measures {
		got = append(got, m.Override)
		flag, text, _ := strings.Cut(m.Override, " ")
		text = strings.Trim(text, "'")
		if flag == "--limit" {
			_, err = ParseLimit(text)
		} else {
			_, err = ParseBudget(text)
		}
		if err != nil {
			t.Error(err)
		}
	}
	if want := "--limit 'step=3%,50us' --limit 'step:p90=2%,20us' --budget 'step:max<=12ms'"; strings.Join(got,
		" ") != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestMeasuresAsked(t *testing.T) {
	kernels := func(names ...string) func(int, *measure.Run) {
		return func(_ int, r *measure.Run) {
			for _, n := range names {
				r.Measures = append(r.Measures, measure.Measure{Name: "kernel:" + n, Unit: "ms", Samples: []float64{1}})
			}
		}
	}
	before, after := runs(kernels("gemm_a<float*>", "relu", "old"), steady...),
		runs(kernels("gemm_a<float*>", "gemm_b", "relu", "new"), steady...)
	for _, test := range []struct {
		rules     []Rule
		want      string // rows
		unmatched string
		err       string
	}{
		{limits(t, "step=1%"), "step", "", ""},
		{limits(t, "kernel:gemm_a<float*>=1%"), "kernel:gemm_a<float*>", "", ""},
		{limits(t, "kernel:relu=1%", "kernel:*=5%"), "kernel:relu kernel:gemm_a<float*>",
			"kernel:gemm_b is only there after; kernel:new is only there after; kernel:old is only there before", ""},
		{[]Rule{{Pattern: "kernel:*gemm*", Sum: true}}, "kernel:*gemm*", "", ""},
		{limits(t, "kernel:old=1%"), "kernel:old", "", ""}, // not comparable: asked for by name
		{limits(t, "stepp=1%"), "", "", "--limit: no measure stepp (have "},
		{[]Rule{{Pattern: "stepp", Optional: true}, {Pattern: "step"}}, "step", "", ""},
		{[]Rule{{Pattern: "stepp", Optional: true}}, "", "", "nothing to judge"},
		{limits(t, "kernel:*w=1%", "kernel:ol*=1%", "step=1%"), "kernel:*w kernel:ol* step",
			"kernel:new is only there after; kernel:old is only there before", ""},
		{limits(t, "step:p90=1%", "step=1%", "step:mean=1%"), "step:p90 step step:mean", "", ""},
		{limits(t, "step=1%,3MB"), "", "", "floor 3MB cannot be compared with step, which is in ms"},
		{limits(t, "step<=12"), "", "", "max 12 cannot be compared"},
	} {
		r, err := Check(before, after, Options{Rules: test.rules})
		if test.err != "" {
			if err == nil || !strings.Contains(err.Error(), test.err) {
				t.Errorf("error %v, want %q", err, test.err)
			}
			continue
		}
		if err != nil {
			t.Error(err)
			continue
		}
		var names []string
		for _, m := range r.Measures {
			names = append(names, m.Name)
		}
		if got := strings.Join(names, " "); got != test.want {
			t.Errorf("%q, want %q", got, test.want)
		}
		if got := strings.Join(r.Unmatched, "; "); got != test.unmatched {
			t.Errorf("unmatched %q, want %q", got, test.unmatched)
		}
	}
	r, err := Check(before, after, Options{Rules: []Rule{{Pattern: "kernel:*gemm*", Sum: true}}})
	if err != nil || *r.Measures[0].Before != 1 || r.Measures[0].After != 2 || r.Measures[0].Verdict != Regression {
		t.Errorf("%+v, %v", r, err)
	}
}

// What matches on one side only is no pass, and known noise makes no budget wider.
func TestNothingOnBothSides(t *testing.T) {
	named := func(n string) func(int, *measure.Run) {
		return func(_ int, r *measure.Run) {
			r.Measures = append(r.Measures, measure.Measure{Name: n, Unit: "ms", Samples: []float64{1}})
		}
	}
	r, err := Check(runs(named("kernel:a"), steady...), runs(named("kernel:b"), steady...),
		Options{Rules: limits(t, "kernel:*=1%")})
	if err != nil || r.Verdict != NotComparable || r.ExitStatus != 3 ||
		!strings.Contains(r.Measures[0].Why, "on both sides") {
		t.Errorf("%+v, %v", r, err)
	}
	noise := 0.01
	rule := limits(t, "step<=10.4ms")[0]
	rule.Noise, rule.NoiseRuns = &noise, 50
	r, err = Check(nil, runs(nil, steady...), Options{Rules: []Rule{rule}})
	if err != nil || r.Verdict != Pass || *r.Measures[0].HighPct > -2.5 || *r.Measures[0].HighPct < -3.7 {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestMatches(t *testing.T) {
	for _, test := range []struct {
		glob, name string
		want       bool
	}{
		{"step", "step", true}, {"step", "steps", false}, {"*", "", true}, {"*", "a:b/c", true},
		{"kernel:*", "kernel:x", true},
		{"*gemm*", "kernel:sm90_gemm_f16", true}, {"a?c", "abc", true}, {"a?c", "ac", false},
		{"f(float*)", "f(float*)", true},
		{"*a*a*a*b", strings.Repeat("a", 5000), false}, {"", "x", false}, {"x*", "x", true},
	} {
		if got := matches(test.glob, test.name); got != test.want {
			t.Errorf("%q of %.20q: %v", test.glob, test.name, got)
		}
	}
}

// A quantile of a single long run is known as well as its parts agree; of a short one nothing is.
func TestQuantilesOfOneRun(t *testing.T) {
	long := func(n int) func(int, *measure.Run) {
		return func(_ int, r *measure.Run) {
			v := make([]float64, n)
			for i := range v {
				v[i] = 10 + 0.01*math.Sin(float64(i)*2.4)
			}
			r.Measures[0].Samples = v
		}
	}
	for n, want := range map[int]Verdict{200: Pass, 20: Inconclusive} {
		r, err := Check(runs(long(n), 1), runs(long(n), 1), Options{Rules: limits(t, "step:p90=2%")})
		if err != nil || r.Measures[0].Verdict != want {
			t.Errorf("%d steps: %+v, %v; want %s", n, r.Measures[0], err, want)
		}
	}
}

func TestFlagsBeforeFile(t *testing.T) {
	file := []Rule{{Pattern: "step", Family: "f", From: "file"}, {Pattern: "x", From: "file"}}
	got := Override(limits(t, "step=5%", "y=1%", "step<=12ms"), file)
	if len(got) != 3 || got[0].Pattern != "step" || *got[0].Change != 0.05 || got[0].Max == nil ||
		got[0].Family != "f" || got[1].Pattern != "y" || got[2].From != "file" {
		t.Errorf("%+v", got)
	}
	for _, bad := range []string{"step", "=3%", "step=", "step=2%,3us,4us", "step=-1%", "step=fast"} {
		if r, err := ParseLimit(bad); err == nil {
			t.Errorf("--limit %q is taken: %+v", bad, r)
		}
	}
	for _, bad := range []string{"step", "<=3ms", "step<=", "step=3ms", "step<=soon"} {
		if r, err := ParseBudget(bad); err == nil {
			t.Errorf("--budget %q is taken: %+v", bad, r)
		}
	}
}

func TestDefaults(t *testing.T) {
	patterns := func(names ...string) (out string) {
		r := &measure.Run{}
		for _, n := range names {
			r.Measures = append(r.Measures, measure.Measure{Name: n})
		}
		for _, rule := range Defaults([]*measure.Run{r}) {
			out += rule.Pattern + " "
		}
		return strings.TrimSpace(out)
	}
	for _, test := range [][2]string{{patterns("step", "kernel:x", "idle"), "step"},
		{patterns("step", "peak_memory"), "step peak_memory"},
		{patterns("kernel:x:duration", "kernel:x:spills", "kernel:x:sm"), "kernel:*:duration kernel:*:spills"},
		{patterns("tokens_per_s", "loss"), "*"}} {
		if test[0] != test[1] {
			t.Errorf("%q, want %q", test[0], test[1])
		}
	}
}
