package commands

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"runtime/debug"
	"strings"
	"time"

	"github.com/mattn/go-runewidth"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"lacuna/internal/answer/engine"
	"lacuna/internal/capture/record"
	"lacuna/internal/faces/pages"
)

// A recordView is the flags of what prints the report of a recording.
type recordView struct {
	noReport *bool
	pattern  *string // --step-range
}

func viewFlags(flags *pflag.FlagSet) recordView {
	return recordView{
		noReport: flags.Bool("no-report", false, "only record; lacuna report FILE prints the report later"),
		pattern: flags.String("step-range", "",
			"steps are the ranges named `NAME`, or NAME* for a prefix (default: step, iter, iteration, batch and a "+
				"number)"),
	}
}

// programVersion is the version of this program, for the files that it writes.
func programVersion() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}

// recordProgress tells on a terminal where a recording stands, in lines of their own: the program writes there too.
// Often at first, then seldom: after 2, 5, 10, 20, 30 s and then each minute.
func (e *Env) recordProgress() func(record.Progress) {
	f, ok := terminal(e.Err)
	if !ok || e.quiet {
		return nil
	}
	next := 2 * time.Second
	return func(p record.Progress) {
		if p.Elapsed < next {
			return
		}
		for next <= p.Elapsed {
			next = afterProgress(next)
		}
		width := e.width
		if width == 0 {
			width, _, _ = term.GetSize(int(f.Fd()))
		}
		if width <= 0 {
			width = helpWidth
		}
		fmt.Fprintln(f, runewidth.Truncate("lacuna: "+p.String(), max(width-1, 10), "..."))
	}
}

// afterProgress is when progress is told next.
func afterProgress(at time.Duration) time.Duration {
	for _, s := range []time.Duration{2, 5, 10, 20, 30} {
		if at < s*time.Second {
			return s * time.Second
		}
	}
	return at.Truncate(time.Minute) + time.Minute
}

// ending tells what came of a recording and ends as the program did.
func (c *recordCall) ending(ctx context.Context, env *Env, r *record.Result) error {
	if r.Signal != "" && !r.Interrupted {
		env.remark("the program was ended by a signal: %s", r.Signal)
	}
	for _, text := range r.Remarks {
		env.remark("%s", text)
	}
	var failed error
	if r.Failed != nil && !exists(r.Spools) {
		failed = fmt.Errorf("record: %w; %s was removed, and the recording with it", r.Failed, r.Spools)
	} else if r.Failed != nil {
		failed = fmt.Errorf("record: %w; what was recorded is in %s: lacuna record pack %s -o FILE", r.Failed,
			r.Spools, pages.ShellWord(r.Spools))
	} else {
		env.remark("recorded %.1f s in %s (%s)", r.Elapsed.Seconds(), r.Path, record.Size(r.Bytes))
		if len(r.Contents.Agents) > 0 {
			c.report(ctx, env, []string{r.Path}, false)
		}
	}
	switch {
	case r.Status != Done:
		return &statusError{status: r.Status, err: failed}
	case failed != nil:
		return failed
	}
	return nil
}

// report prints the report of recordings to stderr, unless nobody wants it; latest: of what was recorded last. What
// goes wrong with it takes nothing from the recording.
func (c recordView) report(ctx context.Context, env *Env, paths []string, latest bool) {
	call := "lacuna report"
	for _, path := range paths {
		call += " " + pages.ShellWord(path)
	}
	if *c.noReport || env.quiet {
		env.remark("where the time goes: %s", call)
		return
	}
	at := *env
	at.Out, at.output, at.noPager = env.Err, "", true // nothing waits for a key at the end of a program
	if err := at.reportOn(ctx, paths, *c.pattern, latest); err != nil && !errors.Is(err, context.Canceled) {
		env.remark("no report: %v; again with %s", err, call)
	}
}

// reportOn prints the report of captures as lacuna report does; pattern: record's --step-range.
func (e *Env) reportOn(ctx context.Context, paths []string, pattern string, latest bool) error {
	steps, err := recordSteps("", pattern)
	if err != nil {
		return err
	}
	steps.Latest = latest
	view := reportFlags(pflag.NewFlagSet("report", pflag.ContinueOnError))
	r, err := e.openJob(paths, steps, engine.AllRanks).Report(ctx, engine.ReportOptions{Top: view.rows()})
	if err != nil {
		return err
	}
	return view.write(e, r, nextSteps(r, pattern == ""))
}

// recordSteps is the steps that record's --steps and --step-range mean to the report.
func recordSteps(steps, pattern string) (engine.StepOptions, error) {
	opt, err := stepOptions(steps, reportRange(pattern))
	opt.Asked = pattern
	return opt, err
}

// reportRange is the --step-range of report that means what record's means.
func reportRange(pattern string) string {
	if begin, ok := strings.CutSuffix(pattern, "*"); ok {
		return "/^" + regexp.QuoteMeta(begin) + "/"
	}
	return pattern
}
