package commands

import (
	"context"
	"errors"
	"io"
	"strconv"
	"time"

	"github.com/spf13/pflag"

	"lacuna/internal/capture/record"
)

var recordStartCommand = &Command{
	Name:  "start",
	Title: "Start recording in a program started with --armed, or resume",
	Doc: `
Without --pid or --all, it controls the one recorded program that runs here. If
there are several, it lists them.`,
	Examples: []string{
		"lacuna record start --pid 4711",
		"lacuna record start --pid 4711 --duration 30s",
	},
	No: "no program was reached",
	Setup: func(flags *pflag.FlagSet) Run {
		c := &recordStart{
			recordPrograms: programFlags(flags),
			duration:       flags.Duration("duration", 0, "record for `TIME`, then let the program run on"),
		}
		return c.run
	},
}

// A recordStart is the flags of record start.
type recordStart struct {
	recordPrograms
	duration *time.Duration
}

func (c *recordStart) run(ctx context.Context, env *Env, _ []string) error {
	if *c.duration < 0 {
		return errCall("--duration %v: want a time such as 30s", *c.duration)
	}
	request := "start"
	if *c.duration > 0 {
		request += " " + strconv.FormatFloat(c.duration.Seconds(), 'f', -1, 64)
	}
	said, err := c.ask(ctx, env, "start", request)
	if err != nil {
		return err
	}
	began := 0
	for _, s := range said {
		if s.State == record.StateRecording {
			began++
		}
	}
	if err := env.write(func(w io.Writer) error { return writeStatus(w, said) }); err != nil {
		return err
	}
	if began > 0 {
		env.remark("lacuna record stop packs it and prints the report")
	} else {
		return &statusError{status: No, err: errors.New("record start: no program started to record its GPU work")}
	}
	return nil
}
