package kernel

import (
	"context"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"lacuna/internal/base/golden"
	"lacuna/internal/kernel/profile"
	"lacuna/internal/reader"
	"lacuna/internal/readers/ncu"
	"lacuna/internal/readers/ncucsv"
)

// corpusReports is every report of the corpus by its folder.
func corpusReports(t testing.TB) map[string][]*Kernel {
	t.Helper()
	golden.Corpus(t)
	all, err := readCorpus()
	if err != nil {
		t.Fatal(err)
	}
	if len(all) == 0 {
		t.Fatal("no reports in the corpus")
	}
	return all
}

var readCorpus = sync.OnceValues(func() (map[string][]*Kernel, error) { return readAll("report.ncu-rep*") })

// readAll reads the files of that name in every folder of kernel reports.
func readAll(name string) (map[string][]*Kernel, error) {
	out := make(map[string][]*Kernel)
	for _, folder := range []string{"kernel", "public/ncu"} {
		files, err := filepath.Glob(filepath.Join("../../../shared/corpus", folder, "*", name))
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			report, err := reader.OpenProfile(context.Background(), file,
				[]*reader.Format{&ncu.Format, &ncucsv.Format}, reader.Options{})
			if err != nil {
				return nil, err
			}
			var all []*Kernel
			for _, l := range report.Launches {
				all = append(all, Of(l))
			}
			out[filepath.Base(filepath.Dir(file))] = all
		}
	}
	return out, nil
}

// names of a map in order.
func names(m map[string][]*Kernel) []string {
	var out []string
	for name := range m {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// launch makes one of metrics, for tests by hand.
func launch(metrics map[string]float64) *Kernel {
	report := &profile.Report{}
	l := &profile.Launch{Report: report, Name: "k", Base: "k"}
	for name, v := range metrics {
		l.Metrics = append(l.Metrics, profile.Metric{Name: report.Names.ID(name),
			Value: profile.Value{Kind: profile.Double, Float: v}})
	}
	slices.SortFunc(l.Metrics, func(a, b profile.Metric) int { return int(a.Name) - int(b.Name) })
	report.Launches = []*profile.Launch{l}
	return Of(l)
}
