package diagnose

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"lacuna/internal/answer/report"
	"lacuna/internal/base/golden"
	"lacuna/internal/reader"
	"lacuna/internal/readers"
	"lacuna/internal/timeline/evtext"
	"lacuna/internal/timeline/facts"
)

// rounding is how far figures may be apart that are the same.
const rounding = 1e-6

// removing are changes that only take work or waiting away, or make it faster: no step can be longer with one.
var removing = []string{"drop-allocs", "drop-casts", "drop:.", "drop:gemm", "drop-range:.*", "cpu:2", "gpu:2",
	"scale:.=0.5"}

// TestFiguresThatCanBe: of the cases that rules, changes and the replay are tested with, no answer holds a figure that
// cannot be.
func TestFiguresThatCanBe(t *testing.T) {
	for _, shelf := range []string{"rules", "changes", "replay"} {
		files, err := filepath.Glob("../../timeline/" + shelf + "/testdata/*.txtar")
		if err != nil || len(files) == 0 {
			t.Fatalf("no cases of %s: %v", shelf, err)
		}
		for _, file := range files {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, part := range archive.Files {
				name, yes := strings.CutSuffix(part.Name, "/events")
				if !yes {
					continue
				}
				trace, err := evtext.Parse(string(part.Data))
				if err != nil {
					continue // a case of what cannot be read
				}
				possible(t, strings.TrimSuffix(filepath.Base(file), ".txtar")+" "+name, facts.Of(trace))
			}
		}
	}
}

// TestFiguresOfTheCorpusThatCanBe: nor does one of a real capture.
func TestFiguresOfTheCorpusThatCanBe(t *testing.T) {
	files := golden.CorpusFiles(t, "system", "nsys.sqlite.zst", "torch.json.gz")
	for _, path := range files {
		trace, err := reader.Open(context.Background(), path, readers.All, reader.Options{Need: Needs})
		if err != nil {
			t.Fatal(err)
		}
		possible(t, path, facts.Of(trace))
	}
}

// possible fails the test if a diagnosis, or a change of a program, promises what cannot be.
func possible(t *testing.T, name string, f *facts.Facts) {
	t.Helper()
	d, err := Of([]*facts.Facts{f}, 0)
	if err != nil {
		return // no steps
	}
	j, err := d.Judged(t.Context())
	if err != nil {
		return // the capture cannot be judged, which it says
	}
	for _, wrong := range impossible(j) {
		t.Errorf("%s: %s", name, wrong)
	}
	if d.k == nil {
		return
	}
	now := d.k.Now()
	for _, change := range removing {
		e := d.k.Program.Edit()
		if applied, err := apply(e, change); err != nil || !applied.Applied {
			continue
		}
		price := d.k.Unprofiled(e)
		step := price.Unprofiled
		if !(step.LowNs >= 0 && step.LowNs <= step.Ns && step.Ns <= step.HighNs && step.HighNs < math.Inf(1)) {
			t.Errorf("%s: a step of %v with %s", name, step, change)
		}
		if step.Ns > now.Ns*(1+longer)+float64(e.Rules.EventGapNs) {
			t.Errorf("%s: with %s a step takes %.0f ns, without %.0f", name, change, step.Ns, now.Ns)
		}
		pathNs := 0.0
		for _, ns := range pathOf(d.k, e) {
			pathNs += ns
		}
		if pathNs > step.Ns*(1+longer)+rounding {
			t.Errorf("%s: with %s, %.0f ns of a step of %.0f ns are on its path", name, change, pathNs, step.Ns)
		}
	}
}

// longer is the share by which a step may be longer although nothing was added: work takes turns otherwise.
const longer = 0.01

// impossible is what of a diagnosis cannot be.
func impossible(j *report.Judged) (wrong []string) {
	say := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	nowMs, bestMs := math.Inf(1), 0.0
	if j.Profiler != nil {
		nowMs = j.Profiler.UnprofiledStepMs
		if p := j.Profiler; !(0 <= p.LowMs && p.LowMs <= p.UnprofiledStepMs && p.UnprofiledStepMs <= p.HighMs) {
			say("without the profiler %v", *p)
		}
	}
	for _, f := range append(j.Findings, j.Negligible...) {
		for _, ms := range []float64{f.RecoverableMs, f.GainLowMs, f.GainHighMs, f.AfterOthersMs, f.PredictedMs,
			f.LowMs, f.HighMs, f.AtMostMs} {
			if math.IsNaN(ms) || math.IsInf(ms, 0) || ms < 0 {
				say("%s: a figure of %v ms: %+v", f.Rule, ms, f)
			}
		}
		if n := f.NoGain; n != nil && n.BoundMs > n.StepMs*(1+longer) && n.StepMs > 0 {
			say("%s: %v of %v ms bound the step", f.Rule, n.BoundMs, n.StepMs)
		}
		if f.Change == "" {
			continue
		}
		bestMs = max(bestMs, f.RecoverableMs)
		if f.GainHighMs > nowMs+rounding || f.PredictedMs > nowMs+rounding {
			say("%s: gains up to %v of %v ms, after which a step takes %v", f.Rule, f.GainHighMs, nowMs,
				f.PredictedMs)
		}
		if len(f.Before) == 0 && math.Abs(nowMs-f.RecoverableMs-f.PredictedMs) > rounding*nowMs {
			say("%s: gains %v of %v ms, after which a step takes %v", f.Rule, f.RecoverableMs, nowMs, f.PredictedMs)
		}
		if most := f.AtMostMs + rounding; f.AtMostMs > 0 && (f.RecoverableMs > most || f.AfterOthersMs > most &&
			len(f.Before) == 0 || f.GainHighMs > most*(1+otherRun)) {
			say("%s: gains %v ms (up to %v, behind others %v) of at most %v", f.Rule, f.RecoverableMs, f.GainHighMs,
				f.AfterOthersMs, f.AtMostMs)
		}
	}
	if a := j.AfterAll; a != nil && !(0 <= a.LowMs && a.LowMs <= a.StepMs && a.StepMs <= a.HighMs &&
		a.StepMs <= nowMs-bestMs+rounding) {
		say("all fixed, %+v of %v ms, and the best alone gains %v", *a, nowMs, bestMs)
	}
	return wrong
}
