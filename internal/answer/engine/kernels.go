package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"lacuna/internal/kernel/kernelpages"
	"lacuna/internal/kernel/kernelreport"
	"lacuna/internal/kernel/profile"
	"lacuna/internal/reader"
	"lacuna/internal/readers"
)

// Kernels is reports on single kernels, each with a launch at least. It may be asked by several goroutines.
type Kernels struct {
	reports []*profile.Report
	inside  func() (*kernelreport.Report, error) // of all kernels, made once
}

// OpenKernels reads kernel reports.
func OpenKernels(ctx context.Context, paths []string, progress Progress) (*Kernels, error) {
	var all []*profile.Report
	for _, path := range paths {
		p, err := openProfile(ctx, path, progress)
		if err != nil {
			return nil, err
		}
		if len(p.Launches) == 0 {
			return nil, fmt.Errorf("%s: holds no kernel launch%s; profile again: a program that ends early, "+
				"or an ncu --kernel-name or --launch-skip that matches nothing, leaves such a file", path, lostWords(p))
		}
		all = append(all, p)
	}
	return kernelsOf(all), nil
}

func openProfile(ctx context.Context, path string, progress Progress) (*profile.Report, error) {
	on := begin(progress, path)
	defer on.End()
	return reader.OpenProfile(ctx, path, readers.All, reader.Options{Progress: on.At, Notice: on.Notice})
}

// lostWords is the first thing that a report lost, in parentheses.
func lostWords(p *profile.Report) string {
	for _, l := range p.Losses.All() {
		return fmt.Sprintf(" (%s: %s)", l.Code, l.Example)
	}
	return ""
}

func kernelsOf(all []*profile.Report) *Kernels {
	return &Kernels{all, sync.OnceValues(func() (*kernelreport.Report, error) {
		return kernelreport.Build(all, kernelreport.Options{Launch: -1})
	})}
}

// Launches is every launch of the reports, in their order.
func (k *Kernels) Launches() (out []*profile.Launch) {
	for _, p := range k.reports {
		out = append(out, p.Launches...)
	}
	return out
}

// Select is the launches that opt leaves of each report.
func (k *Kernels) Select(opt kernelreport.Options) (*Kernels, error) {
	var some []*profile.Report
	for _, p := range k.reports {
		s, err := kernelreport.Pick(p, opt)
		if err != nil {
			return nil, noMatch(p, err)
		}
		some = append(some, s)
	}
	return kernelsOf(some), nil
}

// Report says why the kernels are slow and how much each fix would save.
func (k *Kernels) Report(opt kernelreport.Options) (*kernelreport.Report, error) {
	r, err := kernelreport.Build(k.reports, opt)
	return r, noMatch(k.reports[0], err)
}

// WhatIf calculates the occupancy with other resources, given as --what-if takes them.
func (k *Kernels) WhatIf(opt kernelreport.Options, resources string) (*kernelreport.Calculations, error) {
	x, err := kernelreport.WhatIf(k.reports, opt, resources)
	return x, noMatch(k.reports[0], err)
}

// Listing is what was counted of a source line and of its instructions.
func (k *Kernels) Listing(opt kernelreport.Options, line string) (*kernelreport.Listings, error) {
	x, err := kernelreport.Source(k.reports, opt, line)
	return x, noMatch(k.reports[0], err)
}

// WritePage writes a page of Nsight Compute's for each report.
func (k *Kernels) WritePage(w io.Writer, page string, opt kernelpages.Options) error {
	for i, p := range k.reports {
		if i > 0 {
			if _, err := io.WriteString(w, "\n"); err != nil {
				return err
			}
		}
		if err := kernelpages.Write(w, p, page, opt); err != nil {
			return err
		}
	}
	return nil
}

// noMatch makes a NoMatchError of what says that a selection leaves nothing.
func noMatch(p *profile.Report, err error) error {
	var none *kernelreport.NoMatchError
	if errors.As(err, &none) {
		return &NoMatchError{p.Path, err}
	}
	return err
}
