package commands

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"lacuna/internal/base/unit"
	"lacuna/internal/capture/nvml"
	"lacuna/internal/faces/page"
	"lacuna/internal/faces/pages"
	"lacuna/internal/runs/bench"
	"lacuna/internal/runs/measure"
)

var benchCommand = Command{
	Name:  "bench",
	Args:  "-- CMD...",
	Title: "Measure a program's time, or compare two programs run in turn",
	Doc: `
One run of the program is one sample. Every run gives wall time, CPU time and
peak memory. --step-regex adds step times: it matches the lines of the output
that end a step. --metric-regex adds numbers that the program prints. Programs
can also write measures to the file in $LACUNA_METRICS (lacuna.metrics/1, with
helpers for Python, pytest and Go). Runs continue until the 95 % interval of the
median is within --precision to either side, or --runs or --budget is used up.

With --against, the two programs run in turn, so that drift of the machine
affects both. The verdict is that of lacuna diff. The program that is given with
--against is "before".

With an NVIDIA driver, clocks, power, temperature, throttling reasons and other
processes on the GPU are recorded with each run.

The program's output is passed on to stderr, unless -q. There is no shell; to
get one, run sh -c '...'. A program that fails stops the measurement, and lacuna
ends with its exit status.`,
	Examples: []string{
		"lacuna bench -- ./train --steps 50",
		"lacuna bench --against './train --old' --runs 12 -- ./train",
		`lacuna bench -q --step-regex 'step \d+' --save new.json -- ./train`,
		`lacuna bench --metric-regex '(?P<tok_per_s>[0-9.]+) tok/s' -- ./train`,
	},
	Complete:  map[string]func() []string{"format": benchFormats, "order": benchOrders},
	NoVerdict: "interrupted before the precision was reached, or the two are not comparable",
	Setup: func(flags *pflag.FlagSet) Run {
		flags.SetInterspersed(false) // what follows the program is the program's, with or without --
		call := benchCall{
			against: flags.String("against", "", "compare with `CMD2`, run in turn; quotes as in a shell"),
			precision: flags.String("precision", "1%",
				"stop when the 95 % interval is within `SHARE` to either side; 0: only at the limits"),
			runs:   flags.Int("runs", 100, "at most `N` runs of each program"),
			budget: flags.Duration("budget", 5*time.Minute, "start no run after `TIME`"),
			warmup: flags.Int("warmup", 1, "leave out the first `N` runs of each program"),
			order:  flags.String("order", "turns", "which of two programs goes first: `ORDER` is turns or random"),
			seed:   flags.Uint64("seed", 1, "seed `N` of --order random"),
			step:   flags.String("step-regex", "", "a line of the output that matches `REGEX` ends a step"),
			metrics: flags.StringArray("metric-regex", nil,
				"take a number from the output: the group of `REGEX`, (?P<NAME_ms>...) names it"),
			higher: flags.Bool("higher", false, "higher values of --metric-regex are better"),
			skip:   flags.Int("skip", 0, "leave out the first `N` steps and values of each run"),
			measure: flags.String("measure", "",
				"apply --precision to the measure `NAME` (default: step, else wall)"),
			effect: flags.String("min-effect", "2%", "ignore changes below `SHARE` of before"),
			format: flags.String("format", "text", "output `FORMAT`: text, markdown or json"),
			save: flags.String("save", "", "write the runs to `FILE` for check, diff and history; those of "+
				"--against go to a file beside it"),
		}
		return call.run
	},
}

func benchFormats() []string { return []string{"text", "markdown", "json"} }
func benchOrders() []string  { return []string{"turns", "random"} }

type benchCall struct {
	against, precision, order, step, measure, effect, format, save *string
	runs, warmup, skip                                             *int
	budget                                                         *time.Duration
	seed                                                           *uint64
	metrics                                                        *[]string
	higher                                                         *bool
}

func (c benchCall) run(ctx context.Context, env *Env, args []string) error {
	programs, opt, effect, err := c.parse(args)
	if err != nil {
		return err
	}
	warning := ""
	if library, err := nvml.Open(); err != nil {
		warning = err.Error()
	} else {
		defer library.Close()
		value, set := os.LookupEnv("CUDA_VISIBLE_DEVICES")
		opt.GPU, opt.Visible = library, nvml.Visible(library.Devices(), value, set)
	}
	if !env.quiet {
		opt.Output = func(text []byte) { env.Err.Write(text) }
		opt.Progress = env.benchProgress(programs)
	}
	session, err := bench.Run(ctx, programs, opt)
	if err != nil {
		return fmt.Errorf("%s: %w", programs[0].Args[0], err)
	}
	session.NoGPU = warning
	result := bench.Judge(session, opt, effect)
	if err := c.keep(env, session); err != nil {
		return err
	}
	if result.Failure != nil && session.Finished() == 0 && *c.format != "json" {
		err = env.write(func(io.Writer) error { return nil }) // an empty result
	} else {
		env.noPager = true // what ran long may run unattended: nothing waits for a key
		err = env.show(*c.format, pages.Bench(result), result)
	}
	if err != nil {
		return err
	}
	return c.ending(env, result)
}

// benchProgress tells where a measurement stands, at most once a second.
func (e *Env) benchProgress(programs []bench.Program) func(bench.Progress) {
	var last time.Time
	return func(p bench.Progress) {
		if time.Since(last) >= time.Second {
			e.tell("%s", benchStanding(p, programs))
			last = time.Now()
		}
	}
}

// benchStanding is where a measurement stands, before a run, in a line.
func benchStanding(p bench.Progress, programs []bench.Program) string {
	text := fmt.Sprintf("run %d of at most %d", p.Run+1, p.Of)
	if p.Run < 0 {
		text = "warm-up run"
	}
	if len(programs) == 2 {
		text += [...]string{" of before", " of after"}[p.Program]
	}
	text += fmt.Sprintf(", %.0f s spent", p.Spent.Seconds())
	if p.Precision > 0 {
		text += fmt.Sprintf(", known to %s %%", unit.Short(100*p.Precision))
	}
	return text
}

// ending is how the program ends after the result is written.
func (c benchCall) ending(env *Env, r *bench.Result) error {
	switch f := r.Failure; {
	case f != nil:
		how := fmt.Sprintf("exit status %d", f.ExitCode)
		if f.Signal != "" {
			how = f.Signal
		}
		env.tell("%s: run %d ended with %s", f.Command, f.Run, how)
		for _, line := range f.LastSaid {
			fmt.Fprintf(env.Err, "  | %s\n", page.Printable(line))
		}
		return &statusError{status: f.ExitCode}
	case r.Stopped == bench.StoppedInterrupted:
		return &statusError{status: NoVerdict, err: fmt.Errorf(
			"interrupted: the result covers the runs finished before")}
	case !r.Comparable:
		return &statusError{status: NoVerdict, err: fmt.Errorf("the two are not comparable: %s",
			strings.Join(r.WhyNot, "; "))}
	case c.missing(r):
		return fmt.Errorf("--measure %s: the program has no such measure (has %s)", *c.measure,
			strings.Join(measureNames(r), ", "))
	}
	return nil
}

func (c benchCall) missing(r *bench.Result) bool {
	for _, p := range r.Programs {
		for _, m := range p.Measures {
			if m.Name == *c.measure {
				return false
			}
		}
	}
	return *c.measure != ""
}

func measureNames(r *bench.Result) (out []string) {
	for _, m := range r.Programs[len(r.Programs)-1].Measures {
		out = append(out, m.Name)
	}
	return out
}

// keep writes the runs, each program's to a file of its own: a file is one side of a comparison.
func (c benchCall) keep(env *Env, s *bench.Session) error {
	if *c.save == "" {
		return nil
	}
	at := *env
	for i := range s.Runs {
		runs := s.Runs[len(s.Runs)-1-i]
		at.output = *c.save
		if i == 1 {
			end := filepath.Ext(*c.save)
			at.output = strings.TrimSuffix(*c.save, end) + "-against" + end
			env.remark("the runs of --against are in %s", at.output)
		}
		if len(runs) == 0 {
			env.remark("%s: not written: no run was finished", at.output)
			continue
		}
		if err := at.write(func(w io.Writer) error { return measure.Write(w, runs) }); err != nil {
			return err
		}
	}
	return nil
}

// parse checks the call.
func (c benchCall) parse(args []string) ([]bench.Program, bench.Options, float64, error) {
	opt := bench.Options{MaxRuns: *c.runs, Budget: *c.budget, Warmup: *c.warmup, Random: *c.order == "random",
		Seed: *c.seed, Measure: *c.measure}
	fail := func(err error) ([]bench.Program, bench.Options, float64, error) { return nil, opt, 0, err }
	if len(args) == 0 {
		return fail(errCall("bench: no program given; try lacuna bench -- python train.py"))
	}
	for _, n := range []struct {
		flag        string
		value, from int
	}{{"--runs", *c.runs, 1}, {"--warmup", *c.warmup, 0}, {"--skip", *c.skip, 0}} {
		if n.value < n.from || n.value > 1_000_000 {
			return fail(errCall("%s %d: want %d to 1000000", n.flag, n.value, n.from))
		}
	}
	if *c.budget <= 0 {
		return fail(errCall("--budget %v: want a time such as 5m or 30s", *c.budget))
	}
	for _, o := range []struct {
		flag, value string
		of          []string
	}{{"--format", *c.format, benchFormats()}, {"--order", *c.order, benchOrders()}} {
		if err := oneOf(o.flag, o.value, o.of); err != nil {
			return fail(err)
		}
	}
	var err error
	if opt.Precision, err = parseShare("--precision", *c.precision); err != nil {
		return fail(err)
	}
	effect, err := parseShare("--min-effect", *c.effect)
	if err != nil {
		return fail(err)
	}
	if opt.Marks, err = c.marks(); err != nil {
		return fail(err)
	}
	programs := []bench.Program{{Args: args}}
	if *c.against != "" {
		words, err := splitWords(*c.against)
		if err != nil {
			return fail(errCall("--against %s: %v", *c.against, err))
		}
		programs = []bench.Program{{Args: words}, {Args: args}}
	}
	return programs, opt, effect, nil
}

func (c benchCall) marks() (bench.Marks, error) {
	m := bench.Marks{Higher: *c.higher, Skip: *c.skip}
	var err error
	if *c.step != "" {
		if m.Step, err = regexp.Compile(*c.step); err != nil {
			return m, errCall("--step-regex %s: %v", *c.step, err)
		}
	}
	for _, text := range *c.metrics {
		re, err := regexp.Compile(text)
		if err != nil {
			return m, errCall("--metric-regex %s: %v", text, err)
		}
		m.Metrics = append(m.Metrics, re)
	}
	return m, nil
}
