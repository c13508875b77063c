package commands

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"lacuna/internal/answer/engine"
	"lacuna/internal/capture/nsight"
	"lacuna/internal/faces/page"
	"lacuna/internal/faces/pages"
	"lacuna/internal/kernel/kernelreport"
)

// A recordOther is the flags of record that do something else than run a program with our agent.
type recordOther struct {
	with, print, args, kernel, function *string
	dry, whole                          *bool
	skip, count, line                   *int
}

func recordOtherFlags(flags *pflag.FlagSet) recordOther {
	return recordOther{
		with: flags.String("with", "", "record with NVIDIA's `TOOL` instead, nsys or ncu (single kernels), and "+
			"print the report"),
		args:   flags.String("with-args", "", "--with: more `OPTIONS` for the tool"),
		dry:    flags.Bool("dry-run", false, "--with: only print the command"),
		kernel: flags.String("kernel", "", "--with ncu: only kernels whose function matches `REGEX`"),
		skip:   flags.Int("launch-skip", 0, "--with ncu: skip the first `N` launches that match"),
		count:  flags.Int("launch-count", 0, "--with ncu: profile `N` launches (default: all)"),
		print: flags.String("print", "", "record nothing; print a patch that makes the steps of a script "+
			"visible: `KIND` is torch or nvtx"),
		line:     flags.Int("line", 0, "--print: the loop that begins at line `N`"),
		function: flags.String("function", "", "--print: a loop in the function `NAME`"),
		whole:    flags.Bool("whole", false, "--print: the whole changed script, not the patch"),
	}
}

func withTools() []string { return []string{"nsys", "ncu"} }

// withFlags is the flags of record that mean something to a tool, besides --with.
func withFlags(tool string) string {
	if tool == "ncu" {
		return "kernel launch-skip launch-count step-range window with-args dry-run no-report force"
	}
	return "steps step-range delay duration window cuda-graph kinds with-args dry-run no-report force"
}

// printFlags is those that mean something to --print, besides itself.
const printFlags = "line function whole"

// run does what --with and --print ask for; false: neither is given.
func (o recordOther) run(ctx context.Context, env *Env, c *recordCall, args []string) (bool, error) {
	switch {
	case given(*o.with, *o.print) > 1:
		return true, errCall("record: --with and --print exclude each other; give one")
	case *o.print != "":
		return true, o.runPrint(env, c, args)
	case *o.with != "":
		return true, o.runWith(ctx, env, c, args)
	case *o.dry || *o.kernel != "" || *o.args != "" || *o.skip != 0 || *o.count != 0:
		return true, errCall("record: --dry-run, --with-args, --kernel, --launch-skip and --launch-count go with " +
			"--with nsys or --with ncu")
	case *o.line != 0 || *o.function != "" || *o.whole:
		return true, errCall("record: --line, --function and --whole go with --print torch or --print nvtx")
	}
	return false, nil
}

// takesOnly refuses flags that are given and are not among those that this use of record takes: --with ncu.
func (c *recordCall) takesOnly(env *Env, use, flags string) (err error) {
	taken := strings.Fields(flags)
	c.flags.Visit(func(f *pflag.Flag) {
		if !slices.Contains(taken, f.Name) && !strings.HasPrefix(use, "--"+f.Name+" ") &&
			env.root.PersistentFlags().Lookup(f.Name) == nil && err == nil {
			err = errCall("record %s: takes no --%s; it takes --%s", use, f.Name, strings.Join(taken, " --"))
		}
	})
	return err
}

// runWith makes of record's flags what its tool can do of them.
func (o recordOther) runWith(ctx context.Context, env *Env, c *recordCall, program []string) error {
	if err := oneOf("--with", *o.with, withTools()); err != nil {
		return err
	}
	if len(program) == 0 {
		return errCall("record --with %s: no program given; try lacuna record --with %s -- python train.py", *o.with,
			*o.with)
	}
	if err := c.takesOnly(env, "--with "+*o.with, withFlags(*o.with)); err != nil {
		return err
	}
	if *c.kinds != "" && *c.kinds != "memory" {
		return errCall("record --with nsys --kinds %s: nsys records kernels, copies, CUDA calls and "+
			"synchronisations, and cannot leave any out; it can add device memory: --kinds memory", *c.kinds)
	}
	if err := c.limits(); err != nil {
		return err
	}
	if _, err := c.when(); err != nil {
		return err
	}
	path, _, err := c.output(env, program)
	if err != nil {
		return err
	}
	more, err := withArgs(*o.args)
	if err != nil {
		return err
	}
	opt := withOptions{output: strings.TrimSuffix(path, ".lacuna"), force: *c.force, memory: *c.kinds == "memory",
		window: *c.window, steps: *c.steps,
		pattern: *c.pattern, delay: *c.delay, duration: *c.duration, kernel: *o.kernel, skip: *o.skip, count: *o.count,
		dry: *o.dry, noReport: *c.noReport || env.quiet}
	if c.flags.Changed("cuda-graph") {
		opt.graph = *c.graph
	}
	at := *env
	at.output = "" // it is the recording's
	if *o.with == "ncu" {
		return at.recordNcu(ctx, opt, program, more)
	}
	return at.recordNsys(ctx, opt, program, more)
}

// A withOptions is what record --with takes of the flags of record.
type withOptions struct {
	output   string // without its ending
	force    bool   // write over what is there
	graph    string // --cuda-graph: node, whole or ""
	memory   bool   // device memory in use
	window   string // whole or profiler
	steps    string // A:B
	pattern  string // --step-range
	delay    time.Duration
	duration time.Duration
	kernel   string // --kernel, of ncu: a regular expression
	skip     int    // --launch-skip, of ncu
	count    int    // --launch-count, of ncu; 0: all
	dry      bool
	noReport bool
}

// recordNsys records a timeline.
func (e *Env) recordNsys(ctx context.Context, opt withOptions, program, more []string) error {
	what, steps, err := opt.timeline(program, more)
	if err != nil {
		return err
	}
	if steps.Pin && what.Range == "" {
		e.remark("nsys cannot count ranges: the whole run is recorded, and the report covers steps %s", opt.steps)
	}
	tool, err := e.findTool(ctx, "nsys", opt.dry)
	if err != nil {
		return err
	}
	command := what.Command(tool.Path)
	if opt.dry {
		return e.write(func(w io.Writer) error { return writeText(w, command.Words(pages.ShellWord)+"\n") })
	}
	if err := nsight.CheckProgram(program); err != nil {
		return err
	}
	if !opt.force {
		if err := freshName("-o", what.Output, ".nsys-rep", ".sqlite", ".qdstrm"); err != nil {
			return err
		}
	}
	e.remark("recording with %s", tool)
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
func (o withOptions) timeline(program, more []string) (nsight.Timeline, engine.StepOptions, error) {
	what := nsight.Timeline{Output: o.output, Program: program, Memory: o.memory, Delay: o.delay, Duration: o.duration,
		Extra: more}
	for _, end := range []string{".sqlite", ".nsys-rep"} {
		what.Output = strings.TrimSuffix(what.Output, end)
	}
	if what.Graph = o.graph; o.graph == "whole" {
		what.Graph = "graph" // nsys' word for it
	}
	steps, err := recordSteps("", o.pattern)
	switch {
	case err != nil:
		return what, steps, err
	case o.window == "profiler":
		what.Profiler = true
	case o.steps != "":
		if o.steps == "0:1" && o.pattern != "" && !strings.ContainsAny(o.pattern, "/*") {
			what.Range = o.pattern // the first range of that name: that much nsys can do
			break
		}
		steps, err = recordSteps(o.steps, o.pattern)
	}
	return what, steps, err
}

// tellTimeline prints the report of what was recorded to stderr: stdout is the program's.
func (e *Env) tellTimeline(ctx context.Context, path string, steps engine.StepOptions, pattern string) error {
	r, err := e.openJob([]string{path}, steps, engine.AllRanks).Report(ctx, engine.ReportOptions{Top: 5})
	if err != nil {
		return err
	}
	return page.WriteText(e.Err, pages.Report(r, nextSteps(r, pattern == ""), pages.Detail{}), e.layout())
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
			return writeText(w, what.Command(tool.Path).Words(pages.ShellWord)+"\n")
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
	e.remark("profiling with %s", tool)
	if what.Count == 0 {
		e.remark("every launch that matches is profiled, and each is run about 40 times; limit them with " +
			"--launch-count, or let lacuna kernel --from TRACE choose the hot ones")
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
	what := nsight.Launches{Output: strings.TrimSuffix(o.output, ".ncu-rep"), Program: program, Name: o.kernel,
		Skip: o.skip, Count: o.count, Clock: nsight.ClockBase, Extra: more}
	switch {
	case strings.HasSuffix(o.pattern, "*"):
		return what, errCall("record --with ncu --step-range %s: ncu takes one range by its full name, such as "+
			"--step-range step_12", o.pattern)
	case o.window == "profiler":
		what.Extra = append([]string{"--profile-from-start", "off"}, what.Extra...)
	}
	what.Range = o.pattern
	if o.kernel != "" {
		if _, err := regexp.Compile(o.kernel); err != nil {
			return what, errCall("--kernel %s: is not a regular expression: %w", o.kernel, err)
		}
	}
	if o.skip < 0 || o.count < 0 {
		return what, errCall("record --with ncu: --launch-skip and --launch-count want 0 or more")
	}
	return what, nil
}

// tellKernels prints what lacuna kernel says of a report, to stderr as the report of a timeline.
func (e *Env) tellKernels(ctx context.Context, path string) error {
	in, err := engine.OpenKernels(ctx, []string{path}, e)
	if err != nil {
		return err
	}
	r, err := in.Report(kernelreport.Options{Launch: -1})
	if err != nil {
		return err
	}
	if err := page.WriteText(e.Err, pages.Kernel(r, kernelNext(r), pages.KernelDetail{Top: usualTop}),
		e.layout()); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}
