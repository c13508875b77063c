package record

import (
	"context"
	"errors"
	"fmt"
	"os"

	"lacuna/internal/capture/cpusample"
)

// start starts the program and samples its CPUs if that was asked for. What it returns ends the sampling, and says
// for the note of the machine what was sampled or why not. A kernel that forbids sampling takes nothing else away.
func (s *session) start(ctx context.Context) (stop func() string, err error) {
	begin := func() error { return startProgram(s.program) }
	if s.o.SampleHz == 0 {
		return func() string { return "" }, begin()
	}
	sampling, err := cpusample.Launch(context.WithoutCancel(ctx),
		cpusample.Options{Hz: s.o.SampleHz, Switches: true, Writer: s.recorder.w}, begin)
	var forbidden *cpusample.Error
	if errors.As(err, &forbidden) {
		s.o.Notice(fmt.Sprintf("the CPUs are not sampled: %v", forbidden))
		if os.Getenv(pythonPerf) == "" { // nothing for nothing
			s.program.Env = environment(s.program.Env).without(pythonPerf)
		}
		return func() string { return forbidden.Error() }, begin()
	}
	if err != nil {
		return nil, err
	}
	return func() string {
		stats := sampling.Stop()
		s.remarks = append(s.remarks, stats.Notes...)
		return fmt.Sprintf("%d Hz", stats.Hz)
	}, nil
}
