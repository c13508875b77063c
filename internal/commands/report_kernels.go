package commands

import (
	"context"

	"lacuna/internal/diagnose"
	"lacuna/internal/facts"
	"lacuna/internal/kernelreport"
	"lacuna/internal/report"
)

// readKernels is what kernel reports say of their kernels; nil: there are none.
func (e *Env) readKernels(ctx context.Context, paths []string) (*kernelreport.Report, error) {
	if len(paths) == 0 {
		return nil, nil
	}
	in, err := e.readProfiles(ctx, paths)
	if err != nil {
		return nil, err
	}
	return kernelreport.Build(in, kernelreport.Options{Launch: -1})
}

// joinKernels puts what kernel reports say into the report of the capture f.
func joinKernels(d *diagnose.Diagnosis, r *report.Report, f *facts.Facts, inside *kernelreport.Report) error {
	if inside == nil {
		return nil
	}
	steps, err := f.Steps()
	if err != nil {
		return err
	}
	d.AddKernels(r, f, steps, inside)
	return nil
}
