package commands

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"

	"github.com/spf13/pflag"

	"lacuna/internal/kernelreport"
	"lacuna/internal/profile"
	"lacuna/internal/reader"
	"lacuna/internal/readers"
	"lacuna/internal/writers"
)

var kernelCommand = Command{
	Name:  "kernel",
	Args:  "REPORT...",
	Title: "Say why a kernel is slow, and what which repair would buy",
	Doc: `
REPORT is what Nsight Compute writes: a .ncu-rep file, or the CSV of ncu's raw
or details page. Nsight Compute need not be there.

Of each kernel it says what limits it, what to repair and how long it would then
take, with the source lines where the time goes. Launches of one function with
one grid and block are one kernel: what is printed is of the launch of median
time. What a report lacks is named, with the --section of ncu that collects it.`,
	Examples: []string{
		"lacuna kernel gemm.ncu-rep",
		"lacuna kernel gemm.ncu-rep --kernel naive --format json",
		"lacuna kernel gemm.ncu-rep --sort gain --top 1",
	},
	Complete: map[string]func() []string{"format": tableFormats, "sort": kernelOrders},
	No:       "no launch is what --kernel and --launch ask for",
	Setup: func(flags *pflag.FlagSet) Run {
		call := kernelCall{
			kernel: flags.String("kernel", "", "only kernels in whose name `REGEX` occurs"),
			launch: optionalInt(flags, "launch", "only launch `N` of the report, from 0"),
			sort:   flags.String("sort", kernelreport.SortTime, "`ORDER` of kernels: time, gain (what repairs save) or name"),
			top:    flags.Int("top", 0, "at most `N` kernels in detail (default 3, json all)"),
			format: flags.String("format", "text", "`FORMAT` is text, json, csv or markdown"),

			verbose: flags.BoolP("verbose", "v", false, "all that is known of every finding, and what the profiler's own rules said"),
		}
		return call.run
	},
}

// A kernelCall is the flags of kernel.
type kernelCall struct {
	kernel *string
	launch *int
	sort   *string
	top    *int
	format *string

	verbose *bool
}

func kernelOrders() []string {
	return []string{kernelreport.SortTime, kernelreport.SortGain, kernelreport.SortName}
}

func (c kernelCall) run(ctx context.Context, env *Env, args []string) error {
	opt, err := c.options()
	if err != nil {
		return err
	}
	if err := needReports("kernel", args); err != nil {
		return err
	}
	in, err := env.readProfiles(ctx, args)
	if err != nil {
		return err
	}
	r, err := kernelreport.Build(in, opt)
	if err != nil {
		return noLaunch(args[0], err)
	}
	return c.write(env, r)
}

// options checks the call before a file is read.
func (c kernelCall) options() (kernelreport.Options, error) {
	opt := kernelreport.Options{Launch: *c.launch, Sort: *c.sort}
	if *c.launch < -1 {
		return opt, errCall("kernel: --launch counts from 0")
	}
	if *c.top < 0 {
		return opt, errCall("--top %d: want a number of kernels", *c.top)
	}
	if *c.kernel != "" {
		re, err := regexp.Compile(*c.kernel)
		if err != nil {
			return opt, errCall("--kernel %s: is no regular expression: %w", *c.kernel, err)
		}
		opt.Kernel = re
	}
	if err := oneOf("--sort", *c.sort, kernelOrders()); err != nil {
		return opt, err
	}
	return opt, oneOf("--format", *c.format, tableFormats())
}

// needReports is needInputs for kernel reports.
func needReports(command string, args []string) error {
	if len(args) == 0 {
		return errCall("%s: no REPORT given; try lacuna %s report.ncu-rep, which ncu --set full --import-source yes -o report PROGRAM writes", command, command)
	}
	return needInputs(command, args)
}

// readProfile opens a kernel report and shows on stderr how far it is.
func (e *Env) readProfile(ctx context.Context, path string) (*profile.Report, error) {
	bar := e.newProgress(path)
	defer bar.stop()
	return reader.OpenProfile(ctx, path, readers.All, reader.Options{
		Progress: bar.set,
		Notice:   func(text string) { bar.above(e, path+": "+text) },
	})
}

func (e *Env) readProfiles(ctx context.Context, paths []string) ([]*profile.Report, error) {
	var out []*profile.Report
	for _, path := range paths {
		p, err := e.readProfile(ctx, path)
		if err != nil {
			return nil, err
		}
		if len(p.Launches) == 0 {
			return nil, fmt.Errorf("%s: the report holds no kernel launch (%d bytes read%s); profile again: a program that ends early, or --kernel-name and --launch-skip that match nothing, leave such files", path, p.Bytes, lostWords(p))
		}
		out = append(out, p)
	}
	return out, nil
}

// lostWords is what a report lost, in short, after a comma.
func lostWords(p *profile.Report) string {
	text := ""
	for _, l := range p.Losses.All() {
		text += fmt.Sprintf(", %s: %s", l.Code, l.Example)
	}
	return text
}

// noLaunch makes the answer "no" of a selection that leaves nothing.
func noLaunch(path string, err error) error {
	var none *kernelreport.NoMatchError
	if errors.As(err, &none) {
		return &statusError{No, fmt.Errorf("%s: %w", path, err)}
	}
	return err
}

// write prints the answer.
func (c kernelCall) write(env *Env, r *kernelreport.Report) error {
	page := env.page()
	return env.write(func(w io.Writer) error {
		switch *c.format {
		case "json":
			return writers.KernelJSON(w, r, *c.top)
		case "csv":
			return writers.KernelCSV(w, r, *c.top)
		case "markdown":
			return writers.KernelMarkdown(w, r, c.told())
		}
		return writers.KernelText(w, r, nil, page, writers.KernelDetail{Top: c.told(), Whole: *c.verbose})
	})
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
