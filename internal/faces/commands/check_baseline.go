package commands

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"lacuna/internal/answer/engine"
	"lacuna/internal/runs/gate"
	"lacuna/internal/runs/measure"
)

// sides is the runs to compare with, the new runs, and what the first are in words. A baseline in files is read
// first: of a recording of several ranks that one is judged that the baseline is of.
func sides(ctx context.Context, config *gate.Config, store string, files []string, in *engine.Runs) (before,
	after []*measure.Run, what string, err error) {
	ofHistory := strings.HasPrefix(config.Baseline, historyPrefix)
	if !ofHistory {
		if before, what, err = baseline(ctx, config, store, nil, in); err != nil {
			return nil, nil, "", err
		}
	}
	if after, err = in.Read(ctx, files); err != nil || !ofHistory {
		return before, after, what, err
	}
	before, what, err = baseline(ctx, config, store, after, in)
	if err == nil {
		before, err = in.SameRank(before, what)
	}
	return before, after, what, err
}

// baseline is the runs to compare with and what they are in words; nil: none was named. store is where the history is.
func baseline(ctx context.Context, config *gate.Config, store string, like []*measure.Run,
	in *engine.Runs) ([]*measure.Run, string, error) {
	if config.Baseline == "" {
		return nil, "", nil
	}
	var b gate.Baseline = filesBaseline{in, config.Baseline}
	if program, ok := strings.CutPrefix(config.Baseline, historyPrefix); ok {
		b = historyBaseline{store, program}
	}
	runs, what, err := b.Runs(ctx, like)
	if err == nil && len(runs) == 0 {
		err = fmt.Errorf("%s: the baseline has no runs", config.Baseline)
	}
	return runs, what, err
}

// filesBaseline is runs in files.
type filesBaseline struct {
	in   *engine.Runs
	path string
}

func (b filesBaseline) Runs(ctx context.Context, _ []*measure.Run) ([]*measure.Run, string, error) {
	files, err := engine.RunFiles([]string{b.path})
	if err != nil {
		return nil, "", err
	}
	runs, err := b.in.Read(ctx, files)
	return runs, b.path, err
}

// save writes runs for a later baseline.
func (e *Env) save(path string, runs []*measure.Run) error {
	other := *e
	other.output = path
	if err := other.write(func(w io.Writer) error { return measure.Write(w, runs) }); err != nil {
		return err
	}
	steps := 0
	for _, r := range runs {
		if m := r.Find("step"); m != nil {
			steps += len(m.Samples)
		}
	}
	e.remark("%s: written as a baseline of %d runs", path, len(runs))
	if len(runs) == 1 && steps > 1 {
		e.remark("%s: one run does not show how runs differ; measure several", path)
	}
	return nil
}

// calibrate prints the limits learnt from runs of an unchanged program.
func (e *Env) calibrate(runs []*measure.Run, rules []gate.Rule, format string) error {
	if format != "text" && format != "json" {
		return errCall("--calibrate: cannot write %s; want text (lacuna.yaml) or json", format)
	}
	if d := measure.Differences(runs, runs); len(d) > 0 {
		return &statusError{status: NoVerdict, err: fmt.Errorf("--calibrate: the runs are from different machines: %s",
			strings.Join(d, "; "))}
	}
	if len(rules) == 0 {
		rules = gate.Defaults(runs)
	}
	c, err := gate.Calibrate(runs, rules)
	if err != nil {
		return fmt.Errorf("--calibrate: %w", err)
	}
	return e.write(func(w io.Writer) error {
		if format == "json" {
			enc := json.NewEncoder(w)
			enc.SetIndent("", "  ")
			return enc.Encode(c)
		}
		return writeText(w, c.YAML())
	})
}
