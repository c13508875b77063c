package report

import (
	"math"
	"path/filepath"
	"slices"
	"testing"

	"lacuna/internal/base/golden"
	"lacuna/internal/reader"
	"lacuna/internal/readers"
	"lacuna/internal/timeline/facts"
	"lacuna/internal/timeline/model"
)

// TestRhythmAgreesWithMarkers hides all ranges of captures that have step markers: the rhythm of the launches must
// give steps of the same length, or none. Its first steps are as long as the markers' within the spread of short loops.
func TestRhythmAgreesWithMarkers(t *testing.T) {
	agreesWithMarkers(t, func(string) bool { return true }, facts.StepsPeriodicity)
}

// TestRangesAgreeWithMarkers hides the step markers alone: what the program and its framework mark besides must give
// steps of the same length, or none.
func TestRangesAgreeWithMarkers(t *testing.T) {
	agreesWithMarkers(t, func(name string) bool {
		return facts.IsStepName(name) || facts.IsProfilerStep(name)
	}, facts.StepsPeriodicity, facts.StepsAnnotation, facts.StepsNVTX)
}

func agreesWithMarkers(t *testing.T, hidden func(name string) bool, sources ...facts.StepSource) {
	t.Helper()
	var files []string
	for _, name := range []string{"nsys.sqlite.zst", "torch.json.gz"} {
		some, _ := filepath.Glob(filepath.Join(golden.Corpus(t), "system/*/*", name))
		files = append(files, some...)
	}
	if len(files) == 0 {
		t.Fatal("no captures in the corpus")
	}
	const tolerance = 0.06 // recompute has 2 steps, which the rhythm cuts elsewhere
	agree, none := 0, 0
	for _, file := range files {
		f := open(t, file)
		want, err := f.Steps()
		if err != nil || !want.Device {
			t.Errorf("%s: no device steps by its markers: %v", file, err)
			continue
		}
		wantNs := want.Window().LenNs() / int64(len(want.Steady()))
		f = open(t, file)
		hideRanges(f.Trace, hidden)
		got, err := f.Steps()
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		if got.Source == facts.StepsNone {
			none++
			continue
		}
		gotNs := got.Window().LenNs() / int64(len(got.Steady()))
		if off := float64(gotNs-wantNs) / float64(wantNs); !slices.Contains(sources, got.Source) ||
			math.Abs(off) > tolerance {
			t.Errorf("%s: %s gives steps of %d ns, the markers of %d ns (%+.1f %%)", file, got.Source, gotNs, wantNs,
				100*off)
			continue
		}
		agree++
	}
	t.Logf("%d of %d captures: the same steps; %d: none", agree, len(files), none)
	if agree < len(files)*2/3 {
		t.Errorf("only %d of %d captures have the steps of their markers", agree, len(files))
	}
}

func open(t *testing.T, file string) *facts.Facts {
	t.Helper()
	trace, err := reader.Open(t.Context(), file, readers.All, reader.Options{Need: Needs})
	if err != nil {
		t.Fatal(err)
	}
	return facts.Of(trace)
}

// hideRanges makes ranges what nobody looks at: the framework's own.
func hideRanges(trace *model.Trace, hidden func(name string) bool) {
	plain := trace.Strings.Intern("aten::something")
	for i, id := range trace.Ranges.Name {
		if hidden(trace.Strings.Text(id)) {
			trace.Ranges.Name[i], trace.Ranges.Kind[i] = plain, model.RangeAnnotation
		}
	}
}
