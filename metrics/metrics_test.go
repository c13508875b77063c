package metrics

import (
	"math"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"lacuna/internal/runs/measure"
)

// What is written is what lacuna reads.
func TestWrite(t *testing.T) {
	r := New()
	r.Label("commit", "abc")
	r.GPU("NVIDIA H200", 2)
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() {
			end := r.Step()
			time.Sleep(2 * time.Millisecond)
			end()
			end() // the second does nothing
		})
	}
	all.Wait()
	if err := r.Add("tokens_per_s", "/s", Higher, 5, 6); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "m.json")
	t.Setenv(Variable, path)
	if err := r.Write(""); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	runs, err := measure.Read(f)
	if err != nil {
		t.Fatal(err)
	}
	got := runs[0]
	step, tokens := got.Find("step"), got.Find("tokens_per_s")
	if len(runs) != 1 || step == nil || len(step.Samples) != 3 || step.Samples[0] < 2 || step.Unit != "ms" {
		t.Errorf("step %+v", step)
	}
	if tokens == nil || tokens.Better != measure.Higher || len(tokens.Samples) != 2 {
		t.Errorf("tokens %+v", tokens)
	}
	if got.Machine.GPU != "NVIDIA H200" || got.Machine.GPUs != 2 || got.Started == 0 || len(got.Labels) != 1 ||
		got.Machine.Libraries[0].Name != "go" {
		t.Errorf("%+v", got)
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), ".*")); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestAddRefuses(t *testing.T) {
	r := New()
	for _, err := range []error{r.Add("", "ms", Lower, 1), r.Add("x", "ms", "more", 1),
		r.Add("x", "ms", Lower, math.NaN())} {
		if err == nil {
			t.Error("no error")
		}
	}
	if err := r.Add("x", "ms", Lower, 1); err != nil {
		t.Error(err)
	}
	if err := r.Add("x", "s", Lower, 1); err == nil {
		t.Error("another unit was taken")
	}
	t.Setenv(Variable, "")
	if err := r.Write(""); err != nil {
		t.Errorf("without a file: %v", err)
	}
	if err := r.Write(filepath.Join(t.TempDir(), "no", "such")); err == nil {
		t.Error("a folder that is not there was written to")
	}
}
