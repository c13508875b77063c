package diagnose

import (
	"context"
	"math"
	"path/filepath"
	"testing"

	"lacuna/internal/answer/report"
	"lacuna/internal/base/golden"
	"lacuna/internal/reader"
	"lacuna/internal/readers"
	"lacuna/internal/timeline/facts"
	"lacuna/internal/timeline/model"
)

// A recording is a capture of lacuna record of a program with a known fault.
type recording struct {
	name, path string
	steps      int     // that the program ran while recorded
	stepMs     float64 // mean of them, by the program's own clock
	fault      string  // its planted fault; "": it has none
	nsys       string  // the same program by Nsight Systems, in the corpus
}

// recordings are described in readers/spool/testdata/README.md.
func recordings() []recording {
	const spool = "../../readers/spool/testdata/"
	return []recording{
		{"tiny_kernels slow", spool + "tiny_kernels_slow.lacuna", 5, 5.335, "launch_bound", "tiny_kernels/slow"},
		{"tiny_kernels fixed", spool + "tiny_kernels_fixed.lacuna", 5, 1.094, "", "tiny_kernels/fixed"},
		{"data_loading slow", "../../faces/commands/demo/data_loading.lacuna", 6, 105.069, "input_pipeline",
			"data_loading/slow"},
		{"host_sync slow", spool + "host_sync_slow.lacuna", 8, 14.976, "host_sync", "host_sync/slow"},
	}
}

// reported is a capture's report with findings.
func reported(t *testing.T, path string) (*report.Report, *facts.Facts) {
	t.Helper()
	trace, err := reader.Open(context.Background(), path, readers.All, reader.Options{Need: Needs})
	if err != nil {
		t.Fatal(err)
	}
	if err := model.Check(trace); err != nil {
		t.Fatal(err)
	}
	f := facts.Of(trace)
	return reportOn(t, []*facts.Facts{f}, 0, nil), f
}

// TestRecorded: the steps of a recording are as many and as long as the program's own clock says, the parts of a step
// make the whole, and its fault is found first, or nothing.
func TestRecorded(t *testing.T) {
	for _, x := range recordings() {
		t.Run(x.name, func(t *testing.T) {
			r, f := reported(t, x.path)
			steps, err := f.Steps()
			// the last marker only closes a step
			if err != nil || steps.Source != facts.StepsNVTX || len(steps.All) != x.steps-1 {
				t.Fatalf("%d steps by %s, want %d: %v", len(steps.All), steps.Source, x.steps-1, err)
			}
			off := r.Steps.MeanMs/x.stepMs - 1
			// a short loop's own clock contains filling and draining the queue
			if short := x.stepMs < 1.5; math.Abs(off) > 0.05 && !short || off > 0 && short || off < -0.1 {
				t.Errorf("a step of %.3f ms, %+.1f %% from the program's own clock", r.Steps.MeanMs, 100*off)
			}
			b := r.Budget
			if sum := b.Compute + b.CommExposed + b.Copy + b.Idle; math.Abs(sum-r.Steps.MeanMs) > 1e-6 {
				t.Errorf("the parts of a step are %.6f ms, the step %.6f ms", sum, r.Steps.MeanMs)
			}
			idle := 0.0
			for _, ms := range b.IdleByHost {
				idle += ms
			}
			if math.Abs(idle-b.Idle) > 1e-6 {
				t.Errorf("idle by what the host does is %.6f ms of %.6f ms", idle, b.Idle)
			}
			switch {
			case x.fault == "" && len(r.Findings) > 0:
				t.Errorf("healthy, and found: %+v", r.Findings[0])
			case x.fault != "" && (len(r.Findings) == 0 || r.Findings[0].Rule != x.fault):
				t.Errorf("%s is not the first of %d findings", x.fault, len(r.Findings))
			}
		})
	}
}

// TestRecordedAsByNsight: lacuna record and Nsight Systems lead to the same findings, and to the same gain in all.
// They are two runs of the program, each slowed in its own way: gains are within a quarter of each other.
func TestRecordedAsByNsight(t *testing.T) {
	corpus := golden.Corpus(t)
	for _, x := range recordings() {
		t.Run(x.name, func(t *testing.T) {
			ours, _ := reported(t, x.path)
			theirs, _ := reported(t, filepath.Join(corpus, "system", x.nsys, "nsys.sqlite.zst"))
			if len(ours.Findings) != len(theirs.Findings) {
				t.Fatalf("%d findings, of Nsight Systems %d", len(ours.Findings), len(theirs.Findings))
			}
			gain, theirGain := 0.0, 0.0
			for i, finding := range ours.Findings {
				if other := theirs.Findings[i].Rule; finding.Rule != other && i < 2 {
					t.Errorf("finding %d is %s, of Nsight Systems %s", i+1, finding.Rule, other)
				}
				// Together: which of two findings a shared gain counts for depends on little.
				gain, theirGain = gain+finding.RecoverableMs, theirGain+theirs.Findings[i].RecoverableMs
			}
			if math.Abs(gain-theirGain) > 0.25*theirGain {
				t.Errorf("findings promise %.3f ms, of Nsight Systems %.3f ms", gain, theirGain)
			}
			if a, b := ours.AfterAll, theirs.AfterAll; x.fault != "" &&
				(a == nil || b == nil || a.BoundBy != b.BoundBy || math.Abs(a.StepMs-b.StepMs) > 0.25*b.StepMs) {
				t.Errorf("after all %+v, of Nsight Systems %+v", a, b)
			}
		})
	}
}
