package measure

import (
	"bytes"
	"reflect"
	"strings"
	"testing"

	"lacuna/internal/base/stat"
)

func TestReadBackWhatIsWritten(t *testing.T) {
	run := &Run{Name: "a", Program: "train.py", Started: 1_763_700_000,
		Machine: Machine{Host: "h", GPU: "NVIDIA H200", GPUs: 1, Driver: "580", CUDA: "13.0",
			Libraries: []Pair{{"torch", "2.11"}}},
		Conditions: []Condition{{"sm_mhz", 1900, 1980, 1980, ""}, {"throttle", 0, 0, 0, "power cap"}},
		Labels:     []Pair{{"commit", "abc"}},
		Measures: []Measure{{"peak_memory", "bytes", Lower, []float64{1 << 30}},
			{"step", "ms", Lower, []float64{4.1, 4.2}}}}
	var text bytes.Buffer
	if err := Write(&text, []*Run{run}); err != nil {
		t.Fatal(err)
	}
	got, err := Read(&text)
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 1 || !reflect.DeepEqual(got[0], run) {
		t.Errorf("got %+v, want %+v", got[0], run)
	}
}

func TestRead(t *testing.T) {
	for _, test := range []struct{ name, text, want string }{
		{"not JSON", "step 4.1", "no lacuna.metrics/1 file"},
		{"another schema", `{"schema":"lacuna.metrics/9","runs":[]}`, `schema is "lacuna.metrics/9"`},
		{"no runs", `{"schema":"lacuna.metrics/1"}`, "it has no runs"},
		{"no values", `{"schema":"lacuna.metrics/1","runs":[{"measures":{"step":{"unit":"ms"}}}]}`,
			"measure step: it has no values"},
		{"no number", `{"schema":"lacuna.metrics/1","runs":[{"measures":{"step":{"values":[1,null]}}}]}`,
			"values has a null"},
		{"odd direction", `{"schema":"lacuna.metrics/1","runs":[{"measures":{"step":{"better":"up","values":[1]}}}]}`,
			`better is "up"`},
		{"odd time", `{"schema":"lacuna.metrics/1","runs":[{"started":"noon","measures":{"step":{"values":[1]}}}]}`,
			`started is "noon"`},
		{"least there can be", `{"schema":"lacuna.metrics/1","future":1,"labels":{"commit":"c"},"machine":{"gpu":"G"},"runs":[{"measures":{"step":{"values":[1]}}}]}`, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			runs, err := Read(strings.NewReader(test.text))
			if test.want == "" {
				if err != nil || len(runs) != 1 || runs[0].Machine.GPU != "G" || find(runs[0].Labels, "commit") != "c" {
					t.Errorf("%+v, %v", runs, err)
				}
			} else if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want %q", err, test.want)
			}
		})
	}
}

func TestDifferences(t *testing.T) {
	run := func(gpu, driver, torch, tool string) *Run {
		return &Run{Tool: tool, Machine: Machine{GPU: gpu, Driver: driver, Libraries: []Pair{{"torch", torch}}}}
	}
	a := run("H200", "580", "2.11", "")
	for _, test := range []struct {
		before, after []*Run
		want          string
	}{
		{[]*Run{a}, []*Run{a}, ""},
		{[]*Run{a}, []*Run{run("H200", "", "2.11", "")}, ""},
		{[]*Run{a}, []*Run{run("H100", "580", "2.11", "")}, "GPU: before H200, after H100"},
		{[]*Run{a}, []*Run{run("H200", "590", "2.12", "nsys")},
			"driver: before 580, after 590; torch: before 2.11, after 2.12"},
		{[]*Run{a, run("H100", "580", "2.11", "")}, []*Run{a, run("H100", "580", "2.11", "")},
			"GPU differs within both sides: H100 and 1 more"},
	} {
		if got := strings.Join(Differences(test.before, test.after), "; "); got != test.want {
			t.Errorf("%q, want %q", got, test.want)
		}
	}
}

func TestToolsDiffer(t *testing.T) {
	a, b := []*Run{{Tool: "nsys"}}, []*Run{{}}
	if got := ToolsDiffer(a, a) + ToolsDiffer(b, b); got != "" {
		t.Error(got)
	}
	if got, want := ToolsDiffer(a, b), "profiler: before nsys, after none"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestCompare(t *testing.T) {
	run := func(ms float64) *Run { return &Run{Measures: []Measure{{"step", "ms", Lower, []float64{ms}}}} }
	before, after := []*Run{run(10), run(10.01), run(9.99), {}}, []*Run{run(8), run(8.01), run(7.99)}
	e := Compare(before, after, "step", stat.Question{MinEffect: 0.02})
	if e.Verdict != stat.Lower || e.RunsBefore != 3 {
		t.Errorf("%+v", e)
	}
	if got := Names(append(before, after...)); !reflect.DeepEqual(got, []string{"step"}) {
		t.Errorf("names %q", got)
	}
}
