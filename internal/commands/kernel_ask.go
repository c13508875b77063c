package commands

import (
	"errors"

	"lacuna/internal/kernelreport"
	"lacuna/internal/pages"
	"lacuna/internal/profile"
)

// calculate answers --what-if.
func (c kernelCall) calculate(env *Env, in []*profile.Report, opt kernelreport.Options) error {
	x, err := kernelreport.WhatIf(in, opt, *c.whatIf)
	if err != nil {
		return c.cannot("--what-if", in, err)
	}
	err = env.show(*c.format, pages.Calculations(x), x)
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
	return env.show(*c.format, pages.Listings(x), x)
}

// cannot tells apart what is not in a report and a value of a flag that is wrong.
func (c kernelCall) cannot(flag string, in []*profile.Report, err error) error {
	var none *kernelreport.NoMatchError
	if errors.As(err, &none) {
		return noLaunch(in[0].Path, err)
	}
	return errCall("%s %w", flag, err)
}
