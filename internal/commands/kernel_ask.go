package commands

import (
	"errors"
	"io"

	"lacuna/internal/kernelreport"
	"lacuna/internal/profile"
	"lacuna/internal/writers"
)

// calculate answers --what-if.
func (c kernelCall) calculate(env *Env, in []*profile.Report, opt kernelreport.Options) error {
	x, err := kernelreport.WhatIf(in, opt, *c.whatIf)
	if err != nil {
		return c.cannot("--what-if", in, err)
	}
	page := env.page()
	err = env.write(func(w io.Writer) error {
		if *c.format == "json" {
			return writers.CalculationsJSON(w, x)
		}
		return writers.CalculationsText(w, x, page)
	})
	for i := range x.Kernels {
		if err == nil && x.Kernels[i].Error != "" {
			return &statusError{status: No}
		}
	}
	return err
}

// list answers --source.
func (c kernelCall) list(env *Env, in []*profile.Report, opt kernelreport.Options) error {
	x, err := kernelreport.Source(in, opt, *c.source)
	if err != nil {
		return c.cannot("--source", in, err)
	}
	page := env.page()
	return env.write(func(w io.Writer) error {
		if *c.format == "json" {
			return writers.ListingsJSON(w, x)
		}
		return writers.ListingsText(w, x, page)
	})
}

// cannot tells apart what is not in a report and a value of a flag that is wrong.
func (c kernelCall) cannot(flag string, in []*profile.Report, err error) error {
	var none *kernelreport.NoMatchError
	if errors.As(err, &none) {
		return noLaunch(in[0].Path, err)
	}
	return errCall("%s %w", flag, err)
}
