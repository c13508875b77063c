package commands

import (
	"errors"

	"lacuna/internal/answer/engine"
	"lacuna/internal/faces/pages"
	"lacuna/internal/kernel/kernelreport"
)

// calculate answers --what-if.
func (c kernelCall) calculate(env *Env, in *engine.Kernels, opt kernelreport.Options) error {
	x, err := in.WhatIf(opt, *c.whatIf)
	if err != nil {
		return c.cannot("--what-if", err)
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
func (c kernelCall) list(env *Env, in *engine.Kernels, opt kernelreport.Options) error {
	x, err := in.Listing(opt, *c.source)
	if err != nil {
		return c.cannot("--source", err)
	}
	return env.show(*c.format, pages.Listings(x), x)
}

// cannot tells apart what is not in a report and a value of a flag that is wrong.
func (c kernelCall) cannot(flag string, err error) error {
	var none *engine.NoMatchError
	if errors.As(err, &none) {
		return noLaunch(err)
	}
	return errCall("%s %w", flag, err)
}
