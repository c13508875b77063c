package commands

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"lacuna/internal/diagnose"
	"lacuna/internal/facts"
	"lacuna/internal/nsight"
	"lacuna/internal/report"
	"lacuna/internal/writers"
)

// A withOptions is what record --with takes of the flags of record.
type withOptions struct {
	output   string // -o; "": from the program's name
	force    bool   // write over what is there
	graph    string // --cuda-graph: node, whole or ""
	memory   bool   // kinds with memory: device memory in use
	window   string // whole, profiler, steps or delay
	steps    string // A:B
	pattern  string // --step-range
	delay    time.Duration
	duration time.Duration
	kernel   string // --kernel, of ncu: a regular expression
	skip     int    // --launch-skip, of ncu
	count    int    // --launch-count, of ncu; 0: all
	args     string // --with-args
	dry      bool
	noReport bool
}

func withTools() []string { return []string{"nsys", "ncu"} }

// recordWith runs a program under NVIDIA's own profiler and tells what was recorded. lacuna ends as the program did.
func (e *Env) recordWith(ctx context.Context, name string, opt withOptions, program []string) error {
	if err := oneOf("--with", name, withTools()); err != nil {
		return err
	}
	if len(program) == 0 {
		return errCall("record --with %s: no program given; try lacuna record --with %s -- python train.py", name, name)
	}
	more, err := withArgs(opt.args)
	if err != nil {
		return err
	}
	if opt.output == "" {
		opt.output = defaultOutput(program)
	}
	if name == "ncu" {
		return e.recordNcu(ctx, opt, program, more)
	}
	return e.recordNsys(ctx, opt, program, more)
}

// defaultOutput is a name for what is recorded of a program, with the time: "train-20261121-171500".
func defaultOutput(program []string) string {
	name := filepath.Base(program[0])
	for _, a := range program[1:] { // python train.py is called train
		if strings.HasSuffix(a, ".py") {
			name = strings.TrimSuffix(filepath.Base(a), ".py")
			break
		}
	}
	return name + time.Now().Format("-20060102-150405")
}

// recordNsys records a timeline.
func (e *Env) recordNsys(ctx context.Context, opt withOptions, program, more []string) error {
	if opt.kernel != "" || opt.skip > 0 || opt.count > 0 {
		return errCall("record --with nsys: --kernel, --launch-skip and --launch-count are for --with ncu; nsys records every launch")
	}
	what, steps, err := opt.timeline(program, more)
	if err != nil {
		return err
	}
	if steps.Pin && what.Range == "" {
		e.remark("nsys cannot count ranges: the whole run is recorded, and steps %s of it are told", opt.steps)
	}
	tool, err := e.findTool(ctx, "nsys", opt.dry)
	if err != nil {
		return err
	}
	command := what.Command(tool.Path)
	if opt.dry {
		return e.write(func(w io.Writer) error { return writeText(w, command.Words(writers.ShellWord)+"\n") })
	}
	if err := nsight.CheckProgram(program); err != nil {
		return err
	}
	if !opt.force {
		if err := freshName("-o", what.Output, ".nsys-rep", ".sqlite", ".qdstrm"); err != nil {
			return err
		}
	}
	e.remark("records with %s", tool)
	ending, err := nsight.Run(command, e.streams())
	if err != nil {
		return err
	}
	ctx = context.WithoutCancel(ctx) // Ctrl-C ended the program; what was recorded is told all the same
	path, err := tool.Export(ctx, what.Output)
	var empty *nsight.EmptyError
	switch {
	case errors.As(err, &empty) && ending.Status != 0:
		e.tell("%v", err)
		return e.ended(program[0], ending)
	case err != nil:
		return err
	}
	e.remark("recorded: %s", path)
	if !opt.noReport {
		if err := e.tellTimeline(ctx, path, steps, opt.pattern); err != nil {
			return err
		}
	}
	return e.ended(program[0], ending)
}

// timeline is what nsys is to record, and which of its steps are told.
func (o withOptions) timeline(program, more []string) (nsight.Timeline, facts.StepOptions, error) {
	what := nsight.Timeline{Output: o.output, Program: program, Memory: o.memory, Delay: o.delay, Duration: o.duration, Extra: more}
	for _, end := range []string{".sqlite", ".nsys-rep"} {
		what.Output = strings.TrimSuffix(what.Output, end)
	}
	switch o.graph {
	case "", "node":
		what.Graph = o.graph
	case "whole", "graph":
		what.Graph = "graph"
	default:
		return what, facts.StepOptions{}, oneOf("--cuda-graph", o.graph, []string{"node", "whole"})
	}
	steps, err := stepOptions("", o.pattern)
	switch {
	case err != nil:
		return what, steps, err
	case o.window == "profiler":
		what.Profiler = true
	case o.window == "steps" || o.steps != "":
		if o.steps == "0:1" && o.pattern != "" && !strings.ContainsAny(o.pattern, "/*") {
			what.Range = o.pattern // the first range of that name: that much nsys can do
			break
		}
		steps, err = stepOptions(o.steps, o.pattern)
	}
	return what, steps, err
}

// tellTimeline prints the report of what was recorded.
func (e *Env) tellTimeline(ctx context.Context, path string, steps facts.StepOptions, pattern string) error {
	f, err := e.read(ctx, path, diagnose.Needs)
	if err != nil {
		return err
	}
	r, _, err := answer([]*facts.Facts{f}, report.Options{Steps: steps, Top: 5})
	if err != nil {
		return err
	}
	page := e.page()
	return writers.ReportText(e.Out, r, nextSteps(r, pattern == ""), page, writers.Detail{})
}

// recordNcu profiles kernels.
func (e *Env) recordNcu(ctx context.Context, opt withOptions, program, more []string) error {
	what, err := opt.launches(program, more)
	if err != nil {
		return err
	}
	tool, err := e.findTool(ctx, "ncu", opt.dry)
	if err != nil {
		return err
	}
	if opt.dry {
		return e.write(func(w io.Writer) error {
			return writeText(w, what.Command(tool.Path).Words(writers.ShellWord)+"\n")
		})
	}
	if err := nsight.CheckProgram(program); err != nil {
		return err
	}
	if !opt.force {
		if err := freshName("-o", what.Output, ".ncu-rep"); err != nil {
			return err
		}
	}
	e.remark("profiles with %s", tool)
	if what.Count == 0 {
		e.remark("every launch that matches is profiled, each run about 40 times; --launch-count bounds it, lacuna kernel --from TRACE chooses the hot ones")
	}
	path, ending, err := e.runNcu(tool, what)
	if err != nil {
		return err
	}
	e.remark("recorded: %s", path)
	if !opt.noReport {
		if err := e.tellKernels(context.WithoutCancel(ctx), path); err != nil {
			return err
		}
	}
	return e.ended(program[0], ending)
}

// launches is what ncu is to profile.
func (o withOptions) launches(program, more []string) (nsight.Launches, error) {
	what := nsight.Launches{Output: strings.TrimSuffix(o.output, ".ncu-rep"), Program: program, Name: o.kernel, Skip: o.skip, Count: o.count, Clock: nsight.ClockBase, Extra: more}
	switch {
	case o.window == "profiler":
		what.Extra = append([]string{"--profile-from-start", "off"}, what.Extra...)
	case o.delay > 0 || o.duration > 0:
		return what, errCall("record --with ncu: --delay and --duration are of a timeline; ncu counts launches: --launch-skip N --launch-count N")
	case o.steps != "" && (o.pattern == "" || strings.ContainsAny(o.pattern, "/*")):
		return what, errCall("record --with ncu --steps %s: ncu cannot count ranges; name the one to look into: --step-range step_12", o.steps)
	}
	if o.pattern != "" {
		what.Range = o.pattern
	}
	if o.kernel != "" {
		if _, err := regexp.Compile(o.kernel); err != nil {
			return what, errCall("--kernel %s: is no regular expression: %w", o.kernel, err)
		}
	}
	if o.skip < 0 || o.count < 0 {
		return what, errCall("record --with ncu: --launch-skip and --launch-count count from 0")
	}
	return what, nil
}

// tellKernels prints what lacuna kernel says of a report.
func (e *Env) tellKernels(ctx context.Context, path string) error {
	r, err := e.readKernels(ctx, []string{path})
	if err != nil {
		return err
	}
	page := e.page()
	if err := writers.KernelText(e.Out, r, kernelNext(r), page, writers.KernelDetail{Top: usualTop}); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}
