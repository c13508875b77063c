package commands

import (
	"fmt"
	"math"

	"github.com/spf13/pflag"

	"lacuna/internal/answer/engine"
	"lacuna/internal/answer/report"
)

// servingView is what a user says of a server that no capture holds.
type servingView struct {
	model    *string
	tp       *int
	accepted *float64
}

func servingFlags(flags *pflag.FlagSet) *servingView {
	return &servingView{
		model: flags.String("model", "", "config.json of the served model, `FILE`: what a decode step must read at least"),
		tp:    flags.Int("tp", 0, "with --model: its weights are divided over `N` GPUs (default: as many as exchange data)"),
		accepted: flags.Float64("accepted", 0, "a round of speculative decoding gives `X` tokens on average, by the "+
			"server's metrics"),
	}
}

func (v *servingView) options() (opt report.ServingOptions, err error) {
	switch {
	case *v.tp < 0 || *v.tp > 0 && *v.model == "":
		return opt, errCall("report: --tp %d: want a number of GPUs, with --model", *v.tp)
	case *v.accepted < 0 || math.IsNaN(*v.accepted) || *v.accepted > 1000:
		return opt, errCall("report: --accepted %g: want tokens per round, as 2.7", *v.accepted)
	}
	opt.GPUs, opt.Accepted = *v.tp, *v.accepted
	if *v.model == "" {
		return opt, nil
	}
	opt.Model, err = engine.OpenModel(*v.model)
	if err != nil {
		return opt, fmt.Errorf("report: --model %s: %w", *v.model, err)
	}
	return opt, nil
}
