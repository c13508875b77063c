package engine

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"lacuna/internal/answer/diagnose"
	"lacuna/internal/answer/report"
	"lacuna/internal/kernel/kernelreport"
	"lacuna/internal/kernel/profile"
	"lacuna/internal/reader"
	"lacuna/internal/readers"
	"lacuna/internal/runs/compare"
	"lacuna/internal/runs/measure"
	"lacuna/internal/timeline/facts"
	"lacuna/internal/timeline/model"
)

// Runs reads the sides of one comparison: timelines, kernel reports, files of measures. Of files that hold several
// ranks it takes one, and of all files of the comparison the same one: it is asked for one side after the other. A
// capture is gone when what a comparison needs of it is known.
type Runs struct {
	opt   Options
	ranks *rankChoice
}

// OpenRuns begins a comparison. Options.Rank says which rank is compared; AllRanks: it is chosen.
func OpenRuns(opt Options) *Runs { return &Runs{opt, newRankChoice(opt.Rank)} }

// Said is which ranks were taken, in words; nothing if no file had several.
func (r *Runs) Said() []string { return r.ranks.said() }

// SameRank is those of a history's runs that are of no other rank than the one that was taken of a recording. where
// is the history.
func (r *Runs) SameRank(runs []*measure.Run, where string) ([]*measure.Run, error) {
	return r.ranks.sameIn(runs, where)
}

// Read is what was measured of the runs in files.
func (r *Runs) Read(ctx context.Context, paths []string) ([]*measure.Run, error) {
	var out []*measure.Run
	for _, path := range paths {
		runs, err := r.one(ctx, path)
		if err != nil {
			return nil, err
		}
		out = append(out, runs...)
	}
	return out, r.ranks.some(len(out))
}

func (r *Runs) one(ctx context.Context, path string) ([]*measure.Run, error) {
	runs, err := r.measured(path)
	if runs != nil || err != nil {
		return runs, err
	}
	in, kernels, err := r.open(ctx, path, report.MeasureNeeds)
	switch {
	case err != nil:
		return nil, err
	case kernels != nil:
		run, err := kernelreport.Measures(kernels)
		return []*measure.Run{run}, err
	}
	i, err := r.ranks.choose(in)
	if err != nil || i < 0 {
		return nil, err
	}
	run, err := in.measures(i)
	if err != nil {
		return nil, err
	}
	return []*measure.Run{run}, nil
}

// measured is the runs of a file of measures that are looked at; nil: it is none.
func (r *Runs) measured(path string) ([]*measure.Run, error) {
	runs, err := metricsFile(path)
	return slices.DeleteFunc(runs, func(x *measure.Run) bool { return !r.ranks.keep(x) }), err
}

// open reads a capture or a kernel report; the other is nil.
func (r *Runs) open(ctx context.Context, path string, need model.Parts) (*ranks, *profile.Report, error) {
	on := begin(r.opt.Progress, path)
	defer on.End()
	trace, kernels, err := reader.OpenEither(ctx, path, readers.All, reader.Options{
		Need: need, Progress: on.At, Notice: on.Notice,
	})
	if err != nil || kernels != nil {
		return nil, kernels, err
	}
	return &ranks{in: byRank(facts.With(trace, r.opt.Steps), r.opt.Steps)}, nil, nil
}

// Side reads the runs of one side of a difference: a file, a directory's files, or a glob; of kernel reports those
// kernels in whose names only occurs. Findings and kernels are of the first capture: they change with the program,
// not with the run.
func (r *Runs) Side(ctx context.Context, arg string, only *regexp.Regexp) ([]*compare.Capture, error) {
	files, err := RunFiles([]string{arg})
	if err != nil {
		return nil, err
	}
	var out []*compare.Capture
	for _, path := range files {
		some, err := r.captures(ctx, path, only, len(out) == 0)
		if err != nil {
			if len(files) > 1 && !strings.ContainsAny(arg, "*?[") {
				err = fmt.Errorf("%w; every file of the directory counts as a run: name only the runs, as in '%s'",
					err, filepath.Join(arg, "*.json.gz"))
			}
			return nil, err
		}
		out = append(out, some...)
	}
	return out, r.ranks.some(len(out))
}

// captures reads what a difference needs of a file; whole: with findings.
func (r *Runs) captures(
	ctx context.Context, path string, only *regexp.Regexp, whole bool,
) (out []*compare.Capture, err error) {
	runs, err := r.measured(path)
	if runs != nil || err != nil {
		for _, x := range runs {
			out = append(out, &compare.Capture{Run: x})
		}
		return out, err
	}
	in, kernels, err := r.open(ctx, path, diagnose.Needs|report.MeasureNeeds)
	switch {
	case err != nil:
		return nil, err
	case kernels != nil:
		return kernelCapture(kernels, only)
	}
	i, err := r.ranks.choose(in)
	if err != nil || i < 0 {
		return nil, err
	}
	c, err := in.capture(ctx, i, whole)
	if err != nil {
		return nil, err
	}
	return []*compare.Capture{c}, nil
}

// capture is what a difference needs of one rank; whole: with findings, which are judged in the light of the other
// ranks.
func (r *ranks) capture(ctx context.Context, place int, whole bool) (*compare.Capture, error) {
	f := r.in[place]
	run, err := r.measures(place)
	if err != nil {
		return nil, err
	}
	var rank *int32
	if n := f.Trace.Info.Rank; n >= 0 { // a copy: the trace goes
		rank = &n
	}
	if !whole {
		return &compare.Capture{Run: run, Rank: rank}, nil
	}
	answer, err := r.reportOn(ctx, place)
	if err != nil {
		return nil, err
	}
	steps, err := f.Steps()
	if err != nil {
		return nil, err
	}
	c := compare.Take(f, steps, answer, run)
	c.Rank = rank
	return c, nil
}

// kernelCapture is what a difference needs of a kernel report, of the kernels in whose names only occurs.
func kernelCapture(p *profile.Report, only *regexp.Regexp) ([]*compare.Capture, error) {
	some, err := kernelreport.Pick(p, kernelreport.Options{Kernel: only, Launch: -1})
	if err != nil {
		return nil, err
	}
	run, err := kernelreport.Measures(some)
	if err != nil {
		return nil, err
	}
	inside, err := kernelreport.Build([]*profile.Report{some}, kernelreport.Options{Launch: -1})
	if err != nil {
		return nil, err
	}
	return []*compare.Capture{{Run: run, Inside: inside}}, nil
}

// maxRuns bounds how many files one side of a comparison may name: a mistaken glob is refused, not read for hours.
const maxRuns = 1000

// RunFiles is the files that arguments name: a file, a directory's files, or a glob that the shell did not expand.
func RunFiles(args []string) ([]string, error) {
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
		return nil, fmt.Errorf("%s: names %d files, at most %d runs are compared", strings.Join(args, " "), len(out),
			maxRuns)
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
