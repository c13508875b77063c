package commands

import (
	"context"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"

	"github.com/spf13/pflag"

	"lacuna/internal/answer/engine"
	"lacuna/internal/faces/pages"
	"lacuna/internal/faces/writers"
	"lacuna/internal/kernel/cubin"
	"lacuna/internal/kernel/kernelpages"
	"lacuna/internal/kernel/kernelreport"
)

var kernelCommand = Command{
	Name:  "kernel",
	Args:  "REPORT... | --from TRACE -- CMD...",
	Title: "Find why a kernel is slow and what a fix would gain",
	Doc: `
REPORT is written by Nsight Compute: a .ncu-rep file, or the CSV of ncu's raw
or details page. Nsight Compute itself is not needed.

For each kernel it shows the bottleneck, the fixes, the predicted time with each
fix, and the source lines where the time goes. Launches of one function with one
grid and block count as one kernel; figures are of the launch of median time.
If a report lacks data, the --section of ncu that collects it is named.

A terminal shows the verdict on one screen, a pipe or a file everything; -v
shows more.

--page prints the pages of ncu itself, cell by cell. --what-if calculates the
occupancy with other resources.

--from makes the reports. It chooses the hottest kernels of a timeline, those
that findings name first, and one launch of each in a warm step. It runs the
program under ncu and shows what each fix would save per step.

To make a report: ncu --set full --import-source yes -o report PROGRAM`,
	Examples: []string{
		"lacuna kernel gemm.ncu-rep",
		"lacuna kernel gemm.ncu-rep --kernel naive --format json",
		"lacuna kernel gemm.ncu-rep --svg roofline.svg --top 1",
		"lacuna kernel gemm.ncu-rep --what-if regs=64,smem=32k,block=256",
		"lacuna kernel gemm.ncu-rep --kernel naive --source 1261",
		"lacuna kernel gemm.ncu-rep --page raw --format csv",
		"lacuna kernel --from run.sqlite --top 2 --dry-run -- python train.py",
	},
	Complete: map[string]func() []string{"format": tableFormats, "sort": kernelOrders, "page": kernelpages.Names,
		"units": pageUnits, "view": pageViews},
	No: "no launch or source line matches",
	Setup: func(flags *pflag.FlagSet) Run {
		call := kernelCall{
			kernel: flags.String("kernel", "", "only kernels whose names match `REGEX`"),
			launch: optionalInt(flags, "launch", "only launch `N` of the report, from 0"),
			sort: flags.String("sort", kernelreport.SortTime,
				"`ORDER` of kernels: time, gain (time saved by fixes) or name"),
			top:    flags.Int("top", 0, "at most `N` kernels in detail (default 3, json and csv all)"),
			format: flags.String("format", "text", "output `FORMAT`: text, json, csv or markdown"),
			verbose: flags.BoolP("verbose", "v", false,
				"show every finding in full, and the findings of ncu's own rules"),
			svg: flags.String("svg", "", "also draw the roofline into `FILE`"),
			source: flags.String("source", "", "show the counters of source `LINE`, a number or FILE:NUMBER, and "+
				"of its instructions"),
			whatIf: flags.String("what-if", "", "show the occupancy with other `RESOURCES`: "+
				"regs=64,smem=32k,block=256"),
			page:  flags.String("page", "", "print this `PAGE` of ncu instead: raw, details, session or source"),
			units: flags.String("units", "auto", "`UNITS` of --page: auto or base"),
			view:  flags.String("view", "", "`VIEW` of --page source: sass, cuda or cuda,sass"),
			short: shortFlag(flags, "verbose", "top"),
			from:  kernelFromFlags(flags),
		}
		return call.run
	},
}

// A kernelCall is the flags of kernel.
type kernelCall struct {
	kernel  *string
	launch  *int
	sort    *string
	top     *int
	format  *string
	verbose *bool
	svg     *string
	source  *string
	whatIf  *string
	short   func(env *Env, format string) bool

	page, units, view *string

	from kernelFrom
}

func kernelOrders() []string {
	return []string{kernelreport.SortTime, kernelreport.SortGain, kernelreport.SortName}
}

func pageUnits() []string { return []string{"auto", "base"} }

// pageViews is every view that a page has.
func pageViews() []string {
	for _, p := range kernelpages.All {
		if len(p.Views) > 0 {
			return p.Views
		}
	}
	return nil
}

func (c kernelCall) run(ctx context.Context, env *Env, args []string) error {
	opt, err := c.options()
	if err != nil {
		return err
	}
	if *c.from.from != "" {
		return c.from.run(ctx, env, c, args)
	}
	if err := c.from.unused(); err != nil {
		return err
	}
	args, err = reportFiles("kernel", args)
	if err != nil {
		return err
	}
	in, err := engine.OpenKernels(ctx, args, env)
	if err != nil {
		return err
	}
	switch {
	case *c.page != "":
		return c.writePages(env, in, opt)
	case *c.whatIf != "":
		return c.calculate(env, in, opt)
	case *c.source != "":
		return c.list(env, in, opt)
	}
	r, err := in.Report(opt)
	if err != nil {
		return noLaunch(err)
	}
	if err := c.write(env, r); err != nil || *c.svg == "" {
		return err
	}
	return c.draw(env, r)
}

// options checks the call before a file is read.
func (c kernelCall) options() (kernelreport.Options, error) {
	opt := kernelreport.Options{Launch: *c.launch, Sort: *c.sort}
	switch {
	case *c.launch < -1:
		return opt, errCall("kernel: --launch %d: want 0 or more", *c.launch)
	case *c.top < 0:
		return opt, errCall("--top %d: want a number of kernels", *c.top)
	case *c.page == "" && *c.view != "":
		return opt, errCall("--view %s: goes with --page source", *c.view)
	case *c.page == "" && *c.units != "auto":
		return opt, errCall("--units %s: goes with --page raw or --page details", *c.units)
	case given(*c.page, *c.whatIf, *c.source) > 1 || *c.svg != "" && given(*c.page, *c.whatIf, *c.source) > 0:
		return opt, errCall("kernel: --page, --what-if, --source and --svg exclude each other; give one")
	}
	if *c.kernel != "" {
		re, err := regexp.Compile(*c.kernel)
		if err != nil {
			return opt, errCall("--kernel %s: is not a regular expression: %w", *c.kernel, err)
		}
		opt.Kernel = re
	}
	formats := tableFormats()
	if given(*c.whatIf, *c.source) > 0 {
		formats = []string{"text", "json"}
	}
	if *c.page != "" {
		if err := c.checkPage(); err != nil {
			return opt, err
		}
		formats = []string{"text", "csv"}
	}
	if err := oneOf("--sort", *c.sort, kernelOrders()); err != nil {
		return opt, err
	}
	return opt, oneOf("--format", *c.format, formats)
}

// given is how many of these flags have a value.
func given(values ...string) (n int) {
	for _, v := range values {
		if v != "" {
			n++
		}
	}
	return n
}

func (c kernelCall) checkPage() error {
	if err := oneOf("--page", *c.page, kernelpages.Names()); err != nil {
		return err
	}
	if err := oneOf("--units", *c.units, pageUnits()); err != nil {
		return err
	}
	views := kernelpages.Find(*c.page).Views
	switch {
	case *c.view == "":
	case len(views) == 0:
		return errCall("--view %s: page %s has no views", *c.view, *c.page)
	default:
		return oneOf("--view", *c.view, views)
	}
	return nil
}

// writePages prints a page of each report, as ncu does.
func (c kernelCall) writePages(env *Env, in *engine.Kernels, opt kernelreport.Options) error {
	some, err := in.Select(opt)
	if err != nil {
		return noLaunch(err)
	}
	options := kernelpages.Options{Units: *c.units, View: *c.view, Format: *c.format, Width: env.layout().Width}
	if *c.page == "source" && *c.view != "cuda" {
		tool, err := cubin.FindDisassembler()
		if options.Disassembler = tool; err != nil {
			env.remark("%v", err)
		}
	}
	return env.write(func(w io.Writer) error { return some.WritePage(w, *c.page, options) })
}

// write prints the answer.
func (c kernelCall) write(env *Env, r *kernelreport.Report) error {
	switch *c.format {
	case "json":
		return env.write(func(w io.Writer) error { return writers.KernelJSON(w, r, *c.top) })
	case "csv":
		return env.write(func(w io.Writer) error { return writers.KernelCSV(w, r, *c.top) })
	}
	detail := pages.KernelDetail{Top: c.told(), Whole: *c.verbose, Short: c.short(env, *c.format)}
	return env.show(*c.format, pages.Kernel(r, kernelNext(r), detail), r)
}

// usualTop is how many kernels are told in detail unless --top says otherwise: each fills a screen.
const usualTop = 3

// told is how many kernels are told in detail.
func (c kernelCall) told() int {
	if *c.top > 0 {
		return *c.top
	}
	return usualTop
}

// draw writes the roofline of --svg.
func (c kernelCall) draw(env *Env, r *kernelreport.Report) error {
	var text strings.Builder
	drawn, err := pages.RooflineSVG(&text, r, *c.top)
	if err != nil {
		return err
	}
	if !drawn {
		return &statusError{No, fmt.Errorf("--svg %s: not drawn: no kernel here has counts of floating-point work "+
			"and bytes; collect them with ncu --set full", *c.svg)}
	}
	return writeTo(*c.svg, func() (*os.File, error) { return os.Create(*c.svg) },
		func(w io.Writer) error { return writeText(w, text.String()) })
}
