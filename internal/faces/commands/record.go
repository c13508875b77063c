package commands

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"lacuna/agent"
	"lacuna/internal/capture/instrument"
	"lacuna/internal/capture/nvml"
	"lacuna/internal/capture/record"
)

var recordCommand = Command{
	Name:  "record",
	Args:  "-- CMD...",
	Title: "Run a program, record its GPU work, and report where the time goes",
	Doc: `
Records kernels, copies, CUDA calls, synchronisations, CUDA graphs and NVTX
ranges of CMD and of every process that it starts, and the state of the GPUs.
The program needs no change, and the machine needs neither Nsight nor root. It
needs CUPTI, which comes with CUDA and with PyTorch, and a C compiler if this
build has no agent built in. The recording goes to FILE (-o; default
NAME-DATE-TIME.lacuna; %h, %p and %q{VAR} stand for the host name, the process
ID and the environment variable VAR). Then the report is printed to stderr,
unless -q: stdout is the program's. There is no shell; to get one, run sh -c.

Ctrl-C stops recording and saves, whatever the program does; Ctrl-C again kills
it. The exit status is the program's.

The subcommands control programs that are being recorded. To record a program
of the same name, put it after --: lacuna record -- start.

With --with, nsys or ncu records instead, with the options that match the flags.
With --print torch|nvtx SCRIPT nothing is recorded: it prints a patch that makes
the steps of the script's loop visible.

docs/capture.md covers torchrun, containers, Slurm and production jobs.`,
	Examples: []string{
		"lacuna record -- ./train",
		"lacuna record --steps 10:20 -- ./train --epochs 1",
		"lacuna record --armed -- ./train",
		"lacuna record status",
		"lacuna record --with nsys --dry-run -- python train.py",
		"lacuna record --print nvtx train.py",
	},
	Complete: map[string]func() []string{"cuda-graph": graphLevels, "window": windowNames, "with": withTools,
		"print": instrument.Kinds},
	No:  "start or stop reached no program",
	Sub: []*Command{recordStartCommand, recordStopCommand, recordStatusCommand, recordPackCommand},
	Setup: func(flags *pflag.FlagSet) Run {
		flags.SetInterspersed(false) // what follows the program is the program's, with or without --
		c := &recordCall{
			flags:    flags,
			force:    forceFlag(flags),
			delay:    flags.Duration("delay", 0, "start recording `TIME` (30s, 5m) after each process has started"),
			duration: flags.Duration("duration", 0, "record for `TIME`, then let the program run on"),
			steps: flags.String("steps", "", "record only steps `A:B`: positions from 0, B excluded, of the "+
				"NVTX ranges that --step-range names"),
			window: flags.String("window", "whole",
				"record `WHEN`: whole (always), or profiler (from cudaProfilerStart to cudaProfilerStop)"),
			armed: flags.Bool("armed", false, "record nothing until lacuna record start"),
			graph: flags.String("cuda-graph", "node",
				"record CUDA graphs at `LEVEL`: node (each kernel), or whole (each graph launch as one, at "+
					"lower cost)"),
			kinds: flags.String("kinds", "", "record only these `KINDS`, with commas, or all except those with - "+
				"before them (default: all): "+strings.Join(recordKinds(), ", ")+
				"; these only if named, because they slow every CUDA call: "+strings.Join(recordSlowKinds(), ", ")),
			sample: flags.Int("sample", 0, "also sample the CPUs, `HZ` times per second (199), with Python "+
				"functions from Python 3.12 on"),
			noGPU: flags.Bool("no-gpu-metrics", false,
				"do not record clocks, power, temperature and utilization of the GPUs"),
			interval: flags.Duration("interval", 100*time.Millisecond, "record the state of the GPUs every `TIME`"),
			memory:   flags.Int("memory", 0, "use at most `MB` of buffers per process (default 256)"),
			flush: flags.Int("flush-ms", 0, "write to disk every `MS` milliseconds; a SIGKILL loses at most "+
				"that much (default 500)"),
			spoolDir: flags.String("spool-dir", "",
				"keep spools in `DIR` until they are packed (default: beside FILE)"),
			cupti:      flags.String("cupti", "", "use the libcupti at `PATH` instead of searching for one"),
			yield:      flags.Bool("yield", false, "leave CUPTI to another tool in the program, and record the rest"),
			recordView: viewFlags(flags),
		}
		flags.Lookup("sample").NoOptDefVal = "199"
		c.other = recordOtherFlags(flags)
		return c.run
	},
}

func graphLevels() []string { return []string{"node", "whole"} }
func windowNames() []string { return []string{string(record.Whole), string(record.Profiler)} }

// forceFlag declares --force, of what writes a recording.
func forceFlag(flags *pflag.FlagSet) *bool {
	return flags.BoolP("force", "f", false, "overwrite FILE if it exists")
}

// recordKinds is what the agent can record (LACUNA_KINDS in agent/agent.h).
func recordKinds() []string {
	return []string{"kernel", "copy", "set", "runtime", "driver", "sync", "event", "memory", "overhead", "jit", "graph"}
}

// recordSlowKinds is CUPTI's own records of what the agent has from callbacks, or does without.
func recordSlowKinds() []string { return []string{"api_records", "sync_records", "event_records"} }

// recordParts can only be left out, for finding what costs.
func recordParts() []string {
	return []string{"context", "device", "stream", "module", "made", "tid"}
}

type recordCall struct {
	recordView
	flags                                        *pflag.FlagSet
	force, armed, noGPU, yield                   *bool
	delay, duration, interval                    *time.Duration
	steps, window, graph, kinds, spoolDir, cupti *string
	sample, memory, flush                        *int
	other                                        recordOther
}

func (c *recordCall) run(ctx context.Context, env *Env, args []string) error {
	if done, err := c.other.run(ctx, env, c, args); done {
		return err
	}
	if len(args) == 0 {
		return errCall("record: no program given; try lacuna record -- python train.py")
	}
	o, err := c.options(env, args)
	if err != nil {
		return err
	}
	slow := time.AfterFunc(time.Second, func() {
		env.remark(
			"preparing the capture agent; this takes seconds, only the first time")
	})
	library, err := agent.Library(ctx, "")
	slow.Stop()
	if err != nil {
		return fmt.Errorf("record: %w", err)
	}
	if library.How == agent.Compiled {
		env.remark("built the capture agent with %s; it is kept for the next time", library.Compiler)
	}
	o.Library = library.Path
	c.gpus(&o)
	if o.GPU != nil {
		defer o.GPU.Close()
	}
	if o.Window.Kind == record.Armed {
		env.remark("armed: nothing is recorded until, in another terminal, lacuna record start")
	}
	result, err := record.Run(ctx, o)
	if err != nil {
		var start *record.StartError
		if errors.As(err, &start) {
			return &statusError{status: start.Status, err: fmt.Errorf("record: %w%s", err, c.subHint(env, args[0]))}
		}
		return fmt.Errorf("record: %w", err)
	}
	if ctx.Err() != nil { // Ctrl-C was for the program; the report comes all the same
		ctx = context.WithoutCancel(ctx)
	}
	return c.ending(ctx, env, result)
}

// subHint is the subcommand that a program which cannot be started may be a misspelling of.
func (c *recordCall) subHint(env *Env, program string) string {
	if near, ok := nearest(program, named(env.shelf, "record").subNames()); ok && c.flags.ArgsLenAtDash() < 0 {
		return fmt.Sprintf("; did you mean lacuna record %s?", near)
	}
	return ""
}

// options checks the call.
func (c *recordCall) options(env *Env, args []string) (record.Options, error) {
	o := record.Options{
		Args: args, Version: programVersion(), Overwrite: *c.force, SpoolDir: *c.spoolDir,
		Kinds: *c.kinds, CUPTI: *c.cupti, Yield: *c.yield, WholeGraphs: *c.graph == "whole",
		Flush: time.Duration(*c.flush) * time.Millisecond, MemoryMB: *c.memory, SampleHz: *c.sample,
		Interval: *c.interval,
		In:       env.In, Out: env.Out, Err: env.Err,
		Notice: func(text string) { env.remark("%s", text) }, Progress: env.recordProgress(),
	}
	if _, err := strconv.Atoi(args[0]); err == nil && c.flags.Changed("sample") {
		return o, errCall("record: %s is not a program; to give --sample a number, write --sample=%s", args[0], args[0])
	}
	if err := c.limits(); err != nil {
		return o, err
	}
	var err error
	if o.Window, err = c.when(); err != nil {
		return o, err
	}
	if o.Kinds, err = c.checkKinds(); err != nil {
		return o, err
	}
	if o.CUPTI, err = absolute(o.CUPTI); err != nil {
		return o, errCall("--cupti %s: %w", *c.cupti, err)
	}
	o.Output, o.Unnamed, err = c.output(env, args)
	return o, err
}

// limits checks the values of flags that are numbers or words.
func (c *recordCall) limits() error {
	for _, n := range []struct {
		flag            string
		value, from, to int
	}{{"--memory", *c.memory, 8, 1 << 20}, {"--flush-ms", *c.flush, 10, 60_000}, {"--sample", *c.sample, 1, 10_000}} {
		if c.flags.Changed(strings.TrimPrefix(n.flag, "--")) && (n.value < n.from || n.value > n.to) {
			return errCall("%s %d: want %d to %d", n.flag, n.value, n.from, n.to)
		}
	}
	if *c.interval < 10*time.Millisecond || *c.interval > time.Hour {
		return errCall("--interval %v: want 10ms to 1h", *c.interval)
	}
	if *c.delay < 0 || *c.duration < 0 {
		return errCall("--delay and --duration: want a time such as 30s or 5m")
	}
	if err := oneOf("--cuda-graph", *c.graph, graphLevels()); err != nil {
		return err
	}
	return oneOf("--window", *c.window, windowNames())
}

// when is the window that the flags ask for: one kind at most.
func (c *recordCall) when() (record.Window, error) {
	w := record.Window{Kind: record.Kind(*c.window), Delay: *c.delay, Duration: *c.duration, Range: *c.pattern}
	var asked []string
	for _, x := range []struct {
		flag string
		kind record.Kind
		set  bool
	}{
		{"--armed", record.Armed, *c.armed}, {"--steps", record.Steps, *c.steps != ""},
		{"--delay", record.Delayed, *c.delay > 0}, {"--window profiler", record.Profiler, w.Kind == record.Profiler},
	} {
		if x.set {
			asked, w.Kind = append(asked, x.flag), x.kind
		}
	}
	if len(asked) > 1 {
		return w, errCall("record: %s exclude each other; give one", strings.Join(asked, " and "))
	}
	if *c.duration > 0 && (w.Kind == record.Steps || w.Kind == record.Profiler) {
		return w, errCall("record: --duration does not go with %s, which sets the end of recording itself", asked[0])
	}
	if w.Kind != record.Steps {
		return w, nil
	}
	from, upto, _ := strings.Cut(*c.steps, ":")
	var err1, err2 error
	w.From, err1 = strconv.Atoi(from)
	w.Upto, err2 = strconv.Atoi(upto)
	if err1 != nil || err2 != nil || w.From < 0 || w.Upto <= w.From || w.Upto > 1<<30 {
		return w, errCall("--steps %s: want two positions A:B, from 0, B excluded, such as 10:20", *c.steps)
	}
	return w, nil
}

func (c *recordCall) checkKinds() (string, error) {
	if *c.kinds == "" {
		return "", nil
	}
	kinds := strings.Split(strings.ReplaceAll(*c.kinds, " ", ""), ",")
	for _, k := range kinds {
		name, without := strings.CutPrefix(k, "-")
		known := slices.Concat(recordKinds(), recordSlowKinds())
		if without {
			known = slices.Concat(recordKinds(), recordParts())
		}
		if err := oneOf("--kinds", name, known); err != nil {
			return "", err
		}
	}
	return strings.Join(kinds, ","), nil
}

// output is the file that the recording goes to, and whether its name is ours.
func (c *recordCall) output(env *Env, args []string) (path string, unnamed bool, err error) {
	if env.output == "" {
		return record.DefaultName(args, os.Getenv, time.Now()), true, nil
	}
	path, err = env.recordingOutput()
	return path, false, err
}

// recordingOutput is the file of -o, for a recording.
func (e *Env) recordingOutput() (string, error) {
	if e.output == "-" {
		return "", errCall("-o -: a recording is binary; name a file")
	}
	path, err := record.Expand(e.output, os.Getenv)
	if err != nil {
		return "", errCall("-o %s: %w", e.output, err)
	}
	return path, nil
}

// gpus opens the library that tells the state of the GPUs, if it is asked for and there.
func (c *recordCall) gpus(o *record.Options) {
	if *c.noGPU {
		return
	}
	library, err := nvml.Open()
	if err != nil {
		o.NoGPU = err.Error()
		return
	}
	value, set := os.LookupEnv("CUDA_VISIBLE_DEVICES")
	o.GPU, o.Visible = library, nvml.Visible(library.Devices(), value, set)
}

// absolute is a path that still holds when the program changes its folder; it must be there.
func absolute(path string) (string, error) {
	if path == "" {
		return "", nil
	}
	if _, err := os.Stat(path); err != nil {
		return "", errors.Unwrap(err)
	}
	return filepath.Abs(path)
}
