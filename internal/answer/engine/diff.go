package engine

import (
	"context"
	"fmt"
	"regexp"

	"lacuna/internal/answer/report"
	"lacuna/internal/runs/compare"
	"lacuna/internal/runs/measure"
)

// DiffOptions says how two sides are compared.
type DiffOptions struct {
	Open      Options
	Compare   compare.Options
	Kernel    [2]*regexp.Regexp // of kernel reports before and after, only kernels in whose names it occurs; nil: all
	Predicted *report.WhatIf    // what is to be held against what was achieved; nil: nothing
}

// Diff says what changed between two sets of runs, each a file, a directory or a glob. Where the two are not
// comparable the difference says so (Comparable); that they have nothing in common is an error.
func Diff(ctx context.Context, before, after string, opt DiffOptions) (*compare.Difference, error) {
	runs, sides, err := readSides(ctx, before, after, opt)
	if err != nil {
		return nil, err
	}
	note := ""
	if opt.Open.Steps.Kind == "" && !opt.Open.Steps.Pin {
		if kind, bucket, ok := sameKind(sides[0], sides[1]); ok {
			note = kindNote(sides[0], sides[1], kind, bucket)
			opt.Open.Steps.Kind, opt.Open.Steps.Bucket = kind, bucket
			if runs, sides, err = readSides(ctx, before, after, opt); err != nil {
				return nil, err
			}
		}
	}
	d := compare.Diff(sides[0], sides[1], opt.Compare)
	d.Warnings = append(d.Warnings, runs.Said()...)
	if note != "" {
		d.Warnings = append(d.Warnings, note)
	}
	if opt.Predicted != nil {
		if err := d.Hold(opt.Predicted); err != nil {
			return nil, &PredictedError{err}
		}
	}
	if d.Nothing() {
		return nil, &NothingInCommonError{before, after, measured(sides[0]), measured(sides[1])}
	}
	return d, nil
}

// readSides reads the runs of both sides.
func readSides(
	ctx context.Context, before, after string, opt DiffOptions,
) (runs *Runs, sides [2][]*compare.Capture, err error) {
	runs = OpenRuns(opt.Open)
	for i, arg := range []string{before, after} {
		if sides[i], err = runs.Side(ctx, arg, opt.Kernel[i]); err != nil {
			return nil, sides, err
		}
	}
	return runs, sides, nil
}

// NotComparable says why the two sides of a difference cannot be held against each other; nil: they can.
func NotComparable(before, after string, d *compare.Difference) error {
	if d.Comparable {
		return nil
	}
	return &NotComparableError{before, after, d.WhyNot}
}

// measured says what one side has.
func measured(side []*compare.Capture) string {
	var runs []*measure.Run
	for _, c := range side {
		runs = append(runs, c.Run)
	}
	switch names := measure.Names(runs); len(names) {
	case 0:
		return "nothing"
	case 1:
		return names[0]
	default:
		return fmt.Sprintf("%s and %d more", names[0], len(names)-1)
	}
}
