package commands

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"lacuna/internal/facts"
	"lacuna/internal/kernelreport"
	"lacuna/internal/measure"
	"lacuna/internal/reader"
	"lacuna/internal/readers"
	"lacuna/internal/report"
)

// maxRuns bounds how many files one side of a comparison may name: a mistaken glob is told, not read for hours.
const maxRuns = 1000

// runFiles is the files that arguments name: a file, a directory's files, or a glob that the shell did not expand.
func runFiles(args []string) ([]string, error) {
	var out []string
	for _, a := range args {
		found := []string{a}
		st, err := os.Stat(a)
		switch {
		case a == "-":
		case err == nil && st.IsDir():
			if found, err = filesIn(a); err != nil {
				return nil, err
			}
			if len(found) == 0 {
				return nil, fmt.Errorf("%s: the directory has no files", a)
			}
		case err != nil && strings.ContainsAny(a, "*?["):
			if found, err = filepath.Glob(a); err != nil || len(found) == 0 {
				return nil, fmt.Errorf("%s: matches no file", a)
			}
			slices.Sort(found)
		}
		out = append(out, found...)
	}
	if len(out) > maxRuns {
		return nil, fmt.Errorf("%s: names %d files, at most %d runs are compared", strings.Join(args, " "), len(out), maxRuns)
	}
	return out, nil
}

// filesIn is the files of a directory, without those that are hidden.
func filesIn(dir string) (out []string, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if e.Type()&fs.ModeDir == 0 && !strings.HasPrefix(e.Name(), ".") {
			out = append(out, filepath.Join(dir, e.Name()))
		}
	}
	return out, nil
}

// readRuns reads what was measured of the runs in files: timelines, kernel reports, files of measures.
func (e *Env) readRuns(ctx context.Context, paths []string, opt facts.StepOptions, ranks *rankChoice) ([]*measure.Run, error) {
	var out []*measure.Run
	for _, path := range paths {
		runs, err := e.readRun(ctx, path, opt, ranks)
		if err != nil {
			return nil, err
		}
		out = append(out, runs...)
	}
	return out, ranks.some(len(out))
}

func (e *Env) readRun(ctx context.Context, path string, opt facts.StepOptions, ranks *rankChoice) ([]*measure.Run, error) {
	runs, err := metricsFile(path)
	if runs != nil || err != nil {
		return slices.DeleteFunc(runs, func(r *measure.Run) bool { return !ranks.keep(r) }), err
	}
	bar := e.newProgress(path)
	defer bar.stop()
	trace, kernels, err := reader.OpenEither(ctx, path, readers.All, reader.Options{
		Need:     report.MeasureNeeds,
		Progress: bar.set,
		Notice:   func(text string) { bar.above(e, path+": "+text) },
	})
	switch {
	case err != nil:
		return nil, err
	case kernels != nil:
		run, err := kernelreport.Measures(kernels)
		return []*measure.Run{run}, err
	}
	in := byRank(facts.With(trace, opt), opt)
	i, err := ranks.choose(in)
	if err != nil || i < 0 {
		return nil, err
	}
	run, err := measuresOf(in, i)
	if err != nil {
		return nil, err
	}
	return []*measure.Run{run}, nil
}

// measuresOf is what was measured of one of the ranks of a file; the run says which, if there are several.
func measuresOf(in []*facts.Facts, i int) (*measure.Run, error) {
	run, err := report.Measures(in[i])
	if err != nil {
		return nil, fmt.Errorf("%s: %w", facts.InputName(in[i], in), err)
	}
	if len(in) > 1 {
		run.Labels = append(run.Labels, measure.Pair{Name: rankLabel, Value: fmt.Sprint(in[i].Trace.Info.Rank)})
		run.Sort()
	}
	return run, nil
}

// metricsFile reads a file of measures; nil: it is none.
func metricsFile(path string) ([]*measure.Run, error) {
	if path == "-" {
		return nil, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, nil // the reader of captures says it
	}
	defer f.Close()
	head := make([]byte, 4096)
	n, _ := io.ReadFull(f, head)
	if !measure.IsMetrics(head[:n]) {
		return nil, nil
	}
	runs, err := measure.Read(io.MultiReader(bytes.NewReader(head[:n]), f))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	for i, r := range runs {
		switch {
		case r.Name != "":
		case len(runs) == 1:
			r.Name = path
		default:
			r.Name = fmt.Sprintf("%s[%d]", path, i)
		}
	}
	return runs, nil
}
