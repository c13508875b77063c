package commands

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/spf13/pflag"

	"lacuna/internal/answer/engine"
	"lacuna/internal/capture/nsight"
	"lacuna/internal/faces/page"
	"lacuna/internal/faces/pages"
	"lacuna/internal/timeline/launchplan"
)

// A kernelFrom is the flags of kernel --from: which kernels of a timeline ncu is to profile.
type kernelFrom struct {
	from, pattern, with, reports *string
	dry                          *bool
}

func kernelFromFlags(flags *pflag.FlagSet) kernelFrom {
	return kernelFrom{
		from: flags.String("from", "", "run the command after -- under ncu and profile the hottest kernels of "+
			"`TRACE`, a timeline of the same program"),
		pattern: flags.String("step-range", "", "with --from, steps are the ranges named `NAME`, or that match "+
			"/REGEXP/"),
		reports: flags.String("reports", "", "with --from, write reports to `NAME`-1.ncu-rep and so on (default: "+
			"from the timeline's name)"),
		with: flags.String("with-args", "", "with --from, more `OPTIONS` for ncu"),
		dry:  flags.Bool("dry-run", false, "with --from, only print the ncu commands"),
	}
}

// unused refuses the flags that are for --from only.
func (k kernelFrom) unused() error {
	switch {
	case *k.dry:
		return errCall("kernel --dry-run: goes with --from TRACE: it prints the ncu commands that would be run")
	case given(*k.pattern, *k.reports, *k.with) > 0:
		return errCall("kernel: --step-range, --reports and --with-args go with --from TRACE")
	}
	return nil
}

// run profiles the hottest kernels of a timeline and joins what ncu says with it.
func (k kernelFrom) run(ctx context.Context, env *Env, c kernelCall, program []string) error {
	if len(program) == 0 {
		return errCall("kernel --from %s: no program given; try lacuna kernel --from %s -- python train.py", *k.from,
			*k.from)
	}
	if *c.page != "" || *c.whatIf != "" || *c.source != "" || *c.svg != "" || *c.launch >= 0 {
		return errCall("kernel --from: makes new reports; --page, --what-if, --source, --svg and --launch read " +
			"existing ones")
	}
	if err := oneOf("--format", *c.format, reportFormats()); err != nil {
		return err
	}
	more, err := withArgs(*k.with)
	if err != nil {
		return err
	}
	steps, err := stepOptions("", *k.pattern)
	if err != nil {
		return err
	}
	job := env.openJob([]string{*k.from}, steps, engine.AllRanks)
	plan, err := k.plan(ctx, c, job)
	if err != nil {
		return err
	}
	tool, err := env.findTool(ctx, "ncu", *k.dry)
	if err != nil {
		return err
	}
	runs := k.launches(plan, program, more)
	if *k.dry {
		return k.print(env, tool, plan, runs)
	}
	paths, ending, err := k.profile(env, tool, plan, runs)
	if err != nil {
		return err
	}
	if err := k.join(context.WithoutCancel(ctx), env, c, job, plan, paths); err != nil {
		return err
	}
	return env.ended(program[0], ending)
}

// plan chooses the launches.
func (k kernelFrom) plan(ctx context.Context, c kernelCall, job *engine.Job) (*launchplan.Plan, error) {
	wish := launchplan.Wish{Top: c.told()}
	if *c.kernel != "" {
		re, err := regexp.Compile(*c.kernel)
		if err != nil {
			return nil, errCall("--kernel %s: is not a regular expression: %w", *c.kernel, err)
		}
		wish.Keep = re.MatchString
	}
	plan, err := job.Launches(ctx, wish)
	var nothing *launchplan.NothingError
	if errors.As(err, &nothing) {
		return nil, &statusError{No, fmt.Errorf("%s: nothing to profile: %w", *k.from, err)}
	}
	return plan, err
}

// launches is the calls of ncu that a plan comes to.
func (k kernelFrom) launches(plan *launchplan.Plan, program, more []string) []nsight.Launches {
	name := *k.reports
	if name == "" {
		name = stem(*k.from) + "-kernels"
	}
	var out []nsight.Launches
	for i, r := range plan.Runs {
		out = append(out, nsight.Launches{Output: fmt.Sprintf("%s-%d", name, i+1), Program: program, Name: r.Name,
			NameBase: plan.Base, Skip: r.Skip, Count: r.Count,
			Range: r.Range, Threads: r.Threads, Clock: nsight.ClockBase, Extra: more})
	}
	return out
}

// stem is a timeline's name without its folder and endings.
func stem(path string) string {
	name := filepath.Base(path)
	for before := ""; before != name; {
		before = name
		for _, end := range []string{".gz", ".zst", ".json", ".sqlite", ".lacuna", ".txt", ".trace", ".pt"} {
			name = strings.TrimSuffix(name, end)
		}
	}
	if name == "" || name == "-" {
		return "timeline"
	}
	return name
}

// print is --dry-run: the commands, with what each is for.
func (k kernelFrom) print(env *Env, tool nsight.Tool, plan *launchplan.Plan, runs []nsight.Launches) error {
	var lines []string
	for i, run := range plan.Runs {
		for _, p := range run.Picks {
			lines = append(lines, "# "+pickWords(&plan.Picks[p]))
		}
		lines = append(lines, runs[i].Command(tool.Path).Words(pages.ShellWord))
	}
	for _, a := range plan.Assumes {
		lines = append(lines, "# assumed: "+a)
	}
	for _, l := range plan.Left {
		lines = append(lines, "# left out: "+l)
	}
	return env.write(func(w io.Writer) error {
		for _, l := range lines {
			if err := writeText(w, page.Printable(l)+"\n"); err != nil {
				return err
			}
		}
		return nil
	})
}

// pickWords tells of a kernel that is to be profiled.
func pickWords(p *launchplan.Pick) string {
	text := fmt.Sprintf("%s: %.3g ms per step (%.1f %%)", p.Name, p.MsPerStep, 100*p.ShareOfStep)
	if p.Grid != [3]int32{} {
		text += fmt.Sprintf(", grid %d x %d x %d, block %d x %d x %d", p.Grid[0], p.Grid[1], p.Grid[2], p.Block[0],
			p.Block[1], p.Block[2])
	}
	if p.Named {
		text += ", named by a finding"
	}
	return text
}

// profile runs ncu as often as the plan needs.
func (k kernelFrom) profile(env *Env, tool nsight.Tool, plan *launchplan.Plan, runs []nsight.Launches) (paths []string,
	last nsight.Ending, err error) {
	if err := nsight.CheckProgram(runs[0].Program); err != nil {
		return nil, last, err
	}
	for _, x := range runs {
		if err := freshName("--reports", x.Output, ".ncu-rep"); err != nil {
			return nil, last, err
		}
	}
	for _, a := range plan.Assumes {
		env.remark("assumed: %s", a)
	}
	for _, l := range plan.Left {
		env.remark("left out: %s", l)
	}
	for i, x := range runs {
		for _, p := range plan.Runs[i].Picks {
			env.remark("run %d of %d: %s", i+1, len(runs), pickWords(&plan.Picks[p]))
		}
		path, ending, err := env.runNcu(tool, x)
		if err != nil {
			var trouble *nsight.Trouble
			if len(paths) > 0 && errors.As(err, &trouble) && trouble.Code == nsight.TroubleNone {
				env.tell("%v", err) // the others are worth telling
				continue
			}
			return nil, ending, err
		}
		if paths = append(paths, path); ending.Status != 0 || ending.ByTool {
			last = ending
		}
	}
	return paths, last, nil
}

// join tells what the reports say, in ms of the timeline's step.
func (k kernelFrom) join(ctx context.Context, env *Env, c kernelCall, job *engine.Job, plan *launchplan.Plan,
	paths []string) error {
	in, err := engine.OpenKernels(ctx, paths, env)
	if err != nil {
		return err
	}
	var done []launchplan.Profiled
	for _, l := range in.Launches() {
		done = append(done, launchplan.Profiled{Name: l.Name, Mangled: l.Mangled, Grid: l.Grid, Block: l.Block})
	}
	for _, m := range plan.Check(done) {
		env.remark("%s", m.Why)
	}
	r, err := job.Report(ctx, engine.ReportOptions{Top: 20, Kernels: in})
	if err != nil {
		return err
	}
	var next []page.Advice
	for _, path := range paths {
		next = append(next, page.Advice{Command: "lacuna kernel " + pages.ShellWord(path),
			Why: "everything else that ncu counted, down to the source lines"})
	}
	env.noPager = true // nothing waits for a key at the end of a program
	return env.show(*c.format, pages.JoinedKernels(r, next, pages.Detail{Whole: *c.verbose}), r)
}
