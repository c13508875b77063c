package replay

import (
	"context"
	"math"
	"testing"

	"lacuna/internal/base/golden"
	"lacuna/internal/reader"
	"lacuna/internal/readers"
	"lacuna/internal/timeline/facts"
)

// TestSelfError replays every capture of the corpus by the rules alone. A replay that does not
// reproduce what was measured predicts nothing; one that keeps residuals reproduces it by construction.
func TestSelfError(t *testing.T) {
	files := golden.CorpusFiles(t, "system", "nsys.sqlite.zst", "torch.json.gz")
	over1 := 0
	for _, path := range files {
		trace, err := reader.Open(context.Background(), path, readers.All, reader.Options{})
		if err != nil {
			t.Fatal(err)
		}
		f := facts.Of(trace)
		steps, err := f.Steps()
		if err != nil {
			t.Fatal(err)
		}
		e := NewPricer(Build(f, steps)).SelfError
		if math.Abs(e) > 0.03 {
			t.Errorf("%s: self-error %.2f %%, at most 3 %% wanted", path, 100*e)
		}
		if math.Abs(e) > 0.01 {
			over1++
			t.Logf("%s: self-error %.2f %%", path, 100*e)
		}
	}
	if over1*10 > len(files) {
		t.Errorf("%d of %d captures have a self-error over 1 %%, at most one in ten wanted", over1, len(files))
	}
}
