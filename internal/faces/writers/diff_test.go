package writers

import (
	"bytes"
	"testing"

	"lacuna/internal/base/golden"
	"lacuna/internal/faces/pages/samples"
)

func TestDiffCSV(t *testing.T) {
	var out bytes.Buffer
	if err := DiffCSV(&out, samples.Diff()); err != nil {
		t.Fatal(err)
	}
	golden.File(t, "testdata/diff.csv", out.String())
}
