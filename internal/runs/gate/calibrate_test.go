package gate

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"lacuna/internal/runs/measure"
)

// scattered is runs of one unchanged program whose step varies by cv, with kernels that vary each in its own way.
func scattered(n int, cv float64, seed uint64, kernels int) []*measure.Run {
	r := rand.New(rand.NewPCG(seed, 1))
	var out []*measure.Run
	for i := range n {
		run := &measure.Run{Name: fmt.Sprint(i), Measures: []measure.Measure{{Name: "step", Unit: "ms",
			Samples: []float64{100 * math.Exp(cv*r.NormFloat64())}}}}
		for k := range kernels {
			level := math.Pow(10, -float64(k%4)) // 1 ms to 1 us, with a jitter of 0.3 us beside its share
			run.Measures = append(run.Measures, measure.Measure{Name: fmt.Sprintf("kernel:%d", k), Unit: "ms",
				Samples: []float64{level*math.Exp(cv/2*r.NormFloat64()) + 3e-4*r.Float64()}})
		}
		run.Sort()
		out = append(out, run)
	}
	return out
}

// Limits learnt from runs raise no alarm on these, are no wider than they scatter, and raise none on fresh runs.
func TestCalibrate(t *testing.T) {
	const cv = 0.004
	rules := func() []Rule { return []Rule{{Pattern: "step"}, {Pattern: "kernel:*"}} }
	c, err := Calibrate(scattered(10, cv, 3, 12), rules())
	if err != nil {
		t.Fatal(err)
	}
	step, kernels := c.Rules[0], c.Rules[1]
	if c.Splits != 252 || !c.All || step.Alarms+kernels.Alarms != 0 {
		t.Errorf("%+v", c)
	}
	if step.Change > 5*cv || step.WorstPct/100 > step.Change+step.Floor/90 || step.Noise < cv/2 || step.Noise > 2*cv {
		t.Errorf("step: %+v", step)
	}
	if kernels.Measures != 12 || kernels.Floor <= 0 || kernels.Floor > 0.02 {
		t.Errorf("kernels: %+v", kernels)
	}
	config, err := ParseConfig("learnt", []byte(c.YAML()))
	if err != nil {
		t.Fatalf("%v:\n%s", err, c.YAML())
	}
	alarms, slow := 0, 0
	for seed := range uint64(40) {
		before, after := scattered(6, cv, 100+seed, 12), scattered(6, cv, 200+seed, 12)
		r, err := Check(before, after, Options{Rules: config.Rules})
		if err != nil {
			t.Fatal(err)
		}
		if r.Verdict == Regression {
			alarms++
		}
		for _, run := range after {
			run.Find("step").Samples[0] *= 1.05
		}
		if r, _ = Check(before, after, Options{Rules: config.Rules}); r.Verdict == Regression {
			slow++
		}
	}
	if alarms > 1 || slow < 38 {
		t.Errorf("of 40 fresh suites %d raise a false alarm, %d of 40 with a step of 5 %% more are found", alarms, slow)
	}
	again, _ := Calibrate(scattered(10, cv, 3, 12), rules())
	if again.YAML() != c.YAML() {
		t.Error("the same runs teach other limits")
	}
}

func TestCalibrateEdges(t *testing.T) {
	if _, err := Calibrate(scattered(3, 0.01, 1, 0), []Rule{{Pattern: "step"}}); err == nil ||
		!strings.Contains(err.Error(), "too few") {
		t.Error(err)
	}
	if _, err := Calibrate(scattered(5, 0.01, 1, 0), []Rule{{Pattern: "nosuch"}}); err == nil {
		t.Error("a rule for nothing is taken")
	}
	c, err := Calibrate(scattered(16, 0.01, 1, 0), []Rule{{Pattern: "step"}})
	if err != nil || c.All || c.Splits != maxSplits {
		t.Errorf("%+v, %v", c, err)
	}
	c, err = Calibrate(scattered(4, 0, 1, 0), []Rule{{Pattern: "step"}}) // nothing scatters
	if err != nil || c.Rules[0].Alarms != 0 || c.Rules[0].Passes != c.Splits {
		t.Errorf("%+v, %v", c, err)
	}
	if _, err := ParseConfig("learnt", []byte(c.YAML())); err != nil {
		t.Errorf("%v:\n%s", err, c.YAML())
	}
	odd := scattered(4, 0.01, 1, 0)
	for _, r := range odd {
		r.Measures[0].Name = "kernel:a\"b<c>: #d\n"
	}
	c, err = Calibrate(odd, []Rule{{Pattern: odd[0].Measures[0].Name}})
	if err != nil {
		t.Fatal(err)
	}
	if config, err := ParseConfig("learnt", []byte(c.YAML())); err != nil ||
		config.Rules[0].Pattern != odd[0].Measures[0].Name {
		t.Errorf("%v:\n%s", err, c.YAML())
	}
}
