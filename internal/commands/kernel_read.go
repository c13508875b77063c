package commands

import (
	"context"
	"errors"
	"fmt"

	"lacuna/internal/kernelreport"
	"lacuna/internal/profile"
	"lacuna/internal/reader"
	"lacuna/internal/readers"
)

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

// readProfiles opens kernel reports; one without a launch is none.
func (e *Env) readProfiles(ctx context.Context, paths []string) ([]*profile.Report, error) {
	var out []*profile.Report
	for _, path := range paths {
		p, err := e.readProfile(ctx, path)
		if err != nil {
			return nil, err
		}
		if len(p.Launches) == 0 {
			return nil, fmt.Errorf("%s: holds no kernel launch%s; profile again: a program that ends early, or an ncu --kernel-name or --launch-skip that matches nothing, leaves such a file", path, lostWords(p))
		}
		out = append(out, p)
	}
	return out, nil
}

// lostWords is the first thing that a report lost, in parentheses.
func lostWords(p *profile.Report) string {
	for _, l := range p.Losses.All() {
		return fmt.Sprintf(" (%s: %s)", l.Code, l.Example)
	}
	return ""
}

// noLaunch makes the answer "no" of a selection that leaves nothing.
func noLaunch(path string, err error) error {
	var none *kernelreport.NoMatchError
	if errors.As(err, &none) {
		return &statusError{No, fmt.Errorf("%s: %w", path, err)}
	}
	return err
}
