package bench

import (
	"context"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"lacuna/internal/capture/nvml"
	"lacuna/internal/runs/measure"
)

func shell(script string) Program { return Program{Args: []string{"sh", "-c", script}} }

func limits(runs int) Options { return Options{MaxRuns: runs, Budget: time.Hour} }

func mustRun(t *testing.T, programs []Program, opt Options) *Session {
	t.Helper()
	if _, err := os.Stat("/bin/sh"); err != nil {
		t.Skip("no /bin/sh: the programs of these tests are shell scripts")
	}
	s, err := Run(context.Background(), programs, opt)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// The runs that a session makes, and in which order: what each appends to a file is the proof.
func TestOrder(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	programs := []Program{shell("printf a >>" + log), shell("printf b >>" + log)}
	opt := limits(4)
	opt.Warmup = 1
	s := mustRun(t, programs, opt)
	text, _ := os.ReadFile(log)
	if string(text) != "ba"+"ab"+"ba"+"ab"+"ba" {
		t.Errorf("ran %s", text)
	}
	if len(s.Runs[0]) != 4 || len(s.Runs[1]) != 4 || s.Warmups != 1 ||
		!reflect.DeepEqual(s.Order, []int{0, 1, 1, 0, 0, 1, 1, 0}) || s.Stopped != StoppedRuns {
		t.Errorf("%+v", s)
	}
	opt.Random, opt.Seed, opt.Warmup, opt.MaxRuns = true, 7, 0, 12
	one, two := mustRun(t, programs, opt), mustRun(t, programs, opt)
	if !reflect.DeepEqual(one.Order, two.Order) || reflect.DeepEqual(one.Order[:8], s.Order) {
		t.Errorf("drawn orders %v, %v", one.Order, two.Order)
	}
}

func TestStops(t *testing.T) {
	metrics := `printf '{"schema":"lacuna.metrics/1","runs":[{"measures":{"step":{"unit":"ms","values":[10,10,10.1]}}}]}' >$LACUNA_METRICS`
	opt := limits(50)
	opt.Precision = 0.01
	if s := mustRun(t, []Program{shell(metrics)}, opt); s.Stopped != StoppedPrecision || len(s.Runs[0]) != minRuns {
		t.Errorf("stopped by %s after %d", s.Stopped, len(s.Runs[0]))
	}
	opt.Precision, opt.MaxRuns = 0, 7
	if s := mustRun(t, []Program{shell(metrics)}, opt); s.Stopped != StoppedRuns || len(s.Runs[0]) != 7 {
		t.Errorf("stopped by %s after %d", s.Stopped, len(s.Runs[0]))
	}
	opt.Budget = time.Nanosecond
	if s := mustRun(t, []Program{shell(metrics)}, opt); s.Stopped != StoppedBudget || len(s.Runs[0]) != 1 {
		t.Errorf("stopped by %s after %d", s.Stopped, len(s.Runs[0]))
	}
}

func TestMeasures(t *testing.T) {
	script := `for i in 1 2 3 4 5; do echo "step $i"; sleep 0.01; printf '\r12%% | %s tok/s' 1,20$i; done; echo; echo err >&2
printf '{"schema":"lacuna.metrics/1","machine":{"gpu":"G"},"labels":{"commit":"abc"},"runs":[{"measures":{"loss":{"unit":"","values":[1,2]}}},{"measures":{"loss":{"unit":"","values":[3]}}}]}' >$LACUNA_METRICS`
	opt := limits(2)
	opt.Marks = Marks{Step: regexp.MustCompile(`step \d+`),
		Metrics: []*regexp.Regexp{regexp.MustCompile(`(?P<tok_per_s>[0-9.,]+) tok/s`)}, Skip: 1}
	passed := ""
	opt.Output = func(text []byte) { passed += string(text) }
	s := mustRun(t, []Program{shell(script)}, opt)
	run := s.Runs[0][0]
	got := map[string]int{}
	for _, m := range run.Measures {
		got[m.Name+" "+m.Unit+" "+m.Better.String()] = len(m.Samples)
	}
	want := map[string]int{"cpu ms lower": 1, "peak_rss bytes lower": 1, "wall ms lower": 1, "step ms lower": 3,
		"tok_per_s /s higher": 4, "loss  lower": 3}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%v\nwant %v", got, want)
	}
	if m := run.Find("tok_per_s"); !reflect.DeepEqual(m.Samples, []float64{1202, 1203, 1204, 1205}) {
		t.Errorf("%v", m)
	}
	for _, x := range run.Find("step").Samples {
		if x <= 0 { // how long is the machine's affair: a late wake-up makes one step longer and the next one shorter
			t.Errorf("a step of %v ms", x)
		}
	}
	if run.Machine.GPU != "G" || len(run.Labels) != 1 || run.Find("wall").Samples[0] < 50 {
		t.Errorf("%+v", run)
	}
	if strings.Count(passed, "step 5") != 2 || strings.Count(passed, "err\n") != 2 {
		t.Errorf("passed on %q", passed)
	}
}

func TestFailure(t *testing.T) {
	for _, test := range []struct {
		script, signal, last string
		code                 int
	}{
		{"echo one; echo two >&2; exit 3", "", "two", 3},
		{"echo gone; kill -9 $$", "killed", "gone", 137},
	} {
		s := mustRun(t, []Program{shell("true"), shell(test.script)}, limits(3))
		f := s.Failure
		if s.Stopped != StoppedFailed || f == nil || f.Program != 1 || f.Run != 1 || f.ExitCode != test.code ||
			f.Signal != test.signal || !strings.Contains(strings.Join(f.LastSaid, "\n"), test.last) {
			t.Errorf("%s: %+v", test.script, f)
		}
		if len(s.Runs[0]) != 1 || len(s.Runs[1]) != 0 {
			t.Errorf("%s: %d and %d runs", test.script, len(s.Runs[0]), len(s.Runs[1]))
		}
		Judge(s, limits(3), 0.02) // one side has nothing
	}
	if _, err := Run(context.Background(), []Program{{Args: []string{"./no-such-program"}}}, limits(1)); err == nil {
		t.Error("a program that is not there ran")
	}
	if _, err := Run(context.Background(), []Program{shell("echo nonsense >$LACUNA_METRICS")},
		limits(1)); err == nil || !strings.Contains(err.Error(), "LACUNA_METRICS") {
		t.Errorf("a broken file of measures: %v", err)
	}
}

// A program that is interrupted gets SIGINT and may tidy up; what was run until then is kept.
func TestInterrupt(t *testing.T) {
	file := filepath.Join(t.TempDir(), "tidied")
	ctx, cancel := context.WithCancel(context.Background())
	opt := limits(9)
	opt.Progress = func(p Progress) {
		if p.Run == 2 {
			time.AfterFunc(200*time.Millisecond, cancel)
		}
	}
	count := filepath.Join(t.TempDir(), "count")
	s, err := Run(ctx, []Program{shell("trap 'echo yes >" + file + "; exit 1' INT; printf x >>" + count +
		"; [ $(wc -c <" + count + ") -lt 3 ] || while :; do sleep 0.05; done")}, opt)
	if err != nil || s.Stopped != StoppedInterrupted || len(s.Runs[0]) != 2 {
		t.Fatalf("%v, %+v", err, s)
	}
	if _, err := os.Stat(file); err != nil {
		t.Error("the program could not tidy up")
	}
}

// A process that is left behind holding the output open does not hold up the run.
func TestLeftBehind(t *testing.T) {
	began := time.Now()
	s := mustRun(t, []Program{shell("sleep 30 & echo done")}, limits(1))
	if time.Since(began) > 20*time.Second || s.Runs[0][0].Find("wall").Samples[0] > 10_000 {
		t.Errorf("took %v", time.Since(began))
	}
}

type fakeGPU struct {
	nvml.Library // nil: what is not below is not asked for
	samples      []nvml.Sample
}

func (f *fakeGPU) Driver() string         { return "1.2" }
func (f *fakeGPU) Devices() []nvml.Device { return []nvml.Device{{Name: "NVIDIA Fake"}} }
func (f *fakeGPU) Close() error           { return nil }
func (f *fakeGPU) Sample(int) (nvml.Sample, error) {
	s := f.samples[0]
	if len(f.samples) > 1 {
		f.samples = f.samples[1:]
	}
	return s, nil
}

func TestConditions(t *testing.T) {
	idle := nvml.Sample{SMMHz: 345, PowerW: 70, Reasons: nvml.Idle}
	capped := nvml.Sample{SMMHz: 1500, MemoryMHz: 3201, PowerW: 700, TemperatureC: 60, BusyPct: 90,
		Reasons: nvml.PowerCap}
	free := nvml.Sample{SMMHz: 1980, MemoryMHz: 3201, PowerW: 500, TemperatureC: 50, BusyPct: 80}
	got := conditionsOf([]nvml.Sample{idle, capped, free, capped}, map[int]bool{1 << 30: true})
	want := []measure.Condition{
		{Name: "busy_pct", Min: 80, Median: 90, Max: 90}, {Name: "memory_mhz", Min: 3201, Median: 3201, Max: 3201},
		{Name: "others", Max: 1, Text: "a process (1073741824)"}, {Name: "power_w", Min: 500, Median: 700, Max: 700},
		{Name: "sm_mhz", Min: 1500, Median: 1500, Max: 1980}, {Name: "temperature_c", Min: 50, Median: 60, Max: 60},
		{Name: "throttle", Max: 2.0 / 3, Text: "power cap in 67 % of the samples"},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v\nwant %+v", got, want)
	}
	opt := limits(1)
	opt.GPU, opt.Visible = &fakeGPU{samples: []nvml.Sample{free}}, []int{0}
	run := mustRun(t, []Program{shell("sleep 0.5")}, opt).Runs[0][0]
	if run.Machine.GPU != "NVIDIA Fake" || run.Machine.Driver != "1.2" || run.Machine.GPUs != 1 ||
		len(run.Conditions) == 0 {
		t.Errorf("%+v", run)
	}
}

// session makes a session of runs whose step is given, in turn.
func session(sides ...[]float64) (*Session, Options) {
	s := &Session{Runs: make([][]*measure.Run, len(sides)), Stopped: StoppedRuns}
	for range sides {
		s.Programs = append(s.Programs, Program{Args: []string{"x"}})
	}
	for i := range sides[0] {
		for p := range sides {
			s.Runs[p] = append(s.Runs[p], &measure.Run{Measures: []measure.Measure{{Name: "step", Unit: "ms",
				Samples: []float64{sides[p][i]}}}})
			s.Order = append(s.Order, p)
		}
	}
	return s, Options{}
}

func TestJudge(t *testing.T) {
	a := []float64{10, 10.02, 9.98, 10.01, 9.99, 10, 10.03, 9.97}
	scaled := func(by, slope float64) (out []float64) {
		for i, x := range a {
			out = append(out, x*by*(1+slope*float64(i)))
		}
		return out
	}
	for _, test := range []struct {
		name  string
		sides [][]float64
		want  string // the verdict, then what is warned of
	}{
		{"same", [][]float64{a, a}, "same"},
		{"slower", [][]float64{a, scaled(1.05, 0)}, "slower"},
		{"drift falls on both", [][]float64{scaled(1, 0.01), scaled(1, 0.01)}, "undecided it affects both alike"},
		{"drift of one", [][]float64{scaled(1, 0.01)}, " drifted by +"},
		{"modes", [][]float64{{10, 12, 10.01, 12.01, 9.99, 11.99, 10, 12, 12.02, 10.01}},
			" two modes among the runs in step, at 10 and 12"},
	} {
		s, opt := session(test.sides...)
		r := Judge(s, opt, 0.02)
		got := ""
		if len(r.Changes) > 0 {
			got = string(r.Changes[0].Verdict)
		}
		verdict, warned, _ := strings.Cut(test.want, " ")
		if got != verdict || !strings.Contains(strings.Join(r.Warnings, "\n"), warned) || warned == "" &&
			len(r.Warnings) > 0 {
			t.Errorf("%s: %s, %q", test.name, got, r.Warnings)
		}
		if _, err := json.Marshal(r); err != nil {
			t.Errorf("%s: %v", test.name, err)
		}
	}
}

func TestPrecision(t *testing.T) {
	s, opt := session([]float64{10, 10.1, 9.9, 10, 10.05})
	if p, known := s.precision(opt); !known || p < 0.008 || p > 0.02 {
		t.Errorf("precision %v", p)
	}
	s, opt = session([]float64{10})
	if p, known := s.precision(opt); known {
		t.Errorf("one run is known to %v", p)
	}
	s, opt = session([]float64{10, 10.1, 10}, []float64{10, 10.1, 10})
	if p, known := s.precision(opt); !known || p <= 0 || math.IsInf(p, 0) {
		t.Errorf("precision %v", p)
	}
}
