package ncucsv

import (
	"context"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"lacuna/internal/base/golden"
	"lacuna/internal/kernel/profile"
	"lacuna/internal/reader"
)

// pages is every page of that name in the corpus.
func pages(t *testing.T, name string) []string {
	t.Helper()
	var all []string
	for _, glob := range []string{"kernel/*/" + name + "*", "public/ncu/*/" + name + "*"} {
		found, err := filepath.Glob(filepath.Join(golden.Corpus(t), glob))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, found...)
	}
	if len(all) == 0 {
		t.Fatalf("no %s in the corpus", name)
	}
	return all
}

func openFile(t *testing.T, path string) *profile.Report {
	t.Helper()
	r, err := reader.OpenProfile(context.Background(), path, []*reader.Format{&Format}, reader.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range r.Losses.All() {
		if l.Code != lossUnknownLabel {
			t.Errorf("%s lost %s %d: %s", path, l.Code, l.Count, l.Example)
		}
	}
	return r
}

// The page in default units, scaled back, says what the page in base units says, to the digits that it prints.
func TestUnitsAgree(t *testing.T) {
	values, off := 0, 0
	for _, path := range pages(t, "raw.csv") {
		scaled, plain := openFile(t, path), openFile(t, strings.Replace(path, "raw.csv", "raw_base.csv", 1))
		if len(scaled.Launches) != len(plain.Launches) {
			t.Fatalf("%s: %d launches and %d", path, len(scaled.Launches), len(plain.Launches))
		}
		for i, a := range scaled.Launches {
			b := plain.Launches[i]
			if len(a.Metrics) != len(b.Metrics) {
				t.Errorf("%s: %d metrics and %d", path, len(a.Metrics), len(b.Metrics))
			}
			for j := range a.Metrics {
				name := scaled.Names.Text(a.Metrics[j].Name)
				x, isNumber := a.Metrics[j].Value.Number()
				m := b.Metric(name)
				if m == nil || !isNumber || math.IsNaN(x) {
					continue
				}
				y, _ := m.Value.Number()
				values++
				// six decimals of the largest prefix in the column: a small value beside a large one is rounded to
				// nothing
				if math.Abs(x-y) > 0.01+1e-3*math.Abs(y) && x != 0 {
					off++
					if off < 10 {
						t.Logf("%s: %s is %g, in base units %g", path, name, x, y)
					}
				}
			}
		}
	}
	if values < 50_000 || off*1000 > values {
		t.Errorf("%d of %d values differ", off, values)
	}
	t.Logf("%d of %d values differ by more than 0.1 %%", off, values)
}

// The details page names metrics by labels: they have the values of the raw page, to two decimals of what is printed.
func TestDetailsAgree(t *testing.T) {
	values, off, labels := 0, 0, int64(0)
	for _, path := range pages(t, "details.csv") {
		if strings.Contains(path, "memset") {
			continue // ncu printed nothing: no section was collected
		}
		raws, err := filepath.Glob(filepath.Join(filepath.Dir(path), "raw_base.csv*"))
		if err != nil || len(raws) != 1 {
			t.Fatalf("%s: raw pages beside it: %v %v", path, raws, err)
		}
		details, raw := openFile(t, path), openFile(t, raws[0])
		labels += details.Losses.Count(lossUnknownLabel)
		if len(details.Launches) != len(raw.Launches) {
			t.Fatalf("%s: %d launches and %d", path, len(details.Launches), len(raw.Launches))
		}
		for i, a := range details.Launches {
			for j := range a.Metrics {
				name := details.Names.Text(a.Metrics[j].Name)
				m := raw.Launches[i].Metric(name)
				x, isNumber := a.Metrics[j].Value.Number()
				if !isNumber {
					continue
				}
				if values++; m == nil {
					t.Errorf("%s: %s is not in the raw page", path, name)
					continue
				}
				y, _ := m.Value.Number()
				if math.Abs(x-y) > 0.011+0.006*math.Abs(y) {
					off++
					t.Errorf("%s: %s is %g, in the raw page %g", path, name, x, y)
				}
			}
		}
	}
	t.Logf("%d of %d values differ; %d values under labels with two meanings", off, values, labels)
	if values < 5_000 || labels*20 > int64(values) {
		t.Errorf("%d values, %d under labels that are not known", values, labels)
	}
}
