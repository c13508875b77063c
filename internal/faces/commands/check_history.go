package commands

import (
	"context"

	"lacuna/internal/runs/gate"
	"lacuna/internal/runs/history"
	"lacuna/internal/runs/measure"
)

// historyPrefix begins a baseline that is a history's: history:PROGRAM, or history: alone.
const historyPrefix = "history:"

// historyBaseline is the accepted runs of a program on machines of the new runs' kind.
type historyBaseline struct{ store, program string }

var (
	_ gate.Baseline = historyBaseline{}
	_ gate.Baseline = filesBaseline{}
)

func (b historyBaseline) Runs(ctx context.Context, like []*measure.Run) ([]*measure.Run, string, error) {
	s, err := openHistory(ctx, b.store)
	if err != nil {
		return nil, "", err
	}
	defer s.Close()
	f := history.Filter{Program: b.program}
	if len(like) > 0 && like[0].Machine.GPU != "" {
		f.Machine = history.MachineKind(like[0].Machine)
	}
	if f.Program == "" && len(like) > 0 {
		f.Program = like[0].Program
	}
	if len(like) > 0 {
		f.Tool = firstOf(like[0].Tool, history.NoTool)
	}
	series, err := s.Choose(ctx, f)
	if err != nil {
		return nil, "", err
	}
	runs, err := s.Baseline(ctx, series, history.Window)
	return runs, "the history of " + series.String(), err
}
