// Package engine is the one door between the analysis and its faces: a face opens captures, asks, and prints the
// answer. It knows no terminal, no environment and no exit status.
//
// A Job is the captures of one job, opened once: steps and rank are chosen there and nowhere else. Its questions may
// come from several goroutines, and what was read and derived for one serves the next. Runs is what comparisons read,
// Kernels is reports on single kernels, and a Pool keeps Jobs for whoever opens many. Answers are everybody's: they
// are not to be changed.
package engine

import (
	"context"

	"lacuna/internal/reader"
	"lacuna/internal/readers"
	"lacuna/internal/timeline/facts"
	"lacuna/internal/timeline/model"
)

// AllRanks is the Options.Rank of all ranks.
const AllRanks = -1

// StepOptions says which steps are wanted. The zero value is: find them, and leave start-up out.
type StepOptions = facts.StepOptions

// Options says how captures are opened.
type Options struct {
	Steps    StepOptions // the steps that all answers are of
	Rank     int         // of several inputs, or ranks in one, only this one; AllRanks
	Progress Progress    // nil: nobody wants to know
	Data     []byte      // nil, or the bytes of the only capture: its path is then only what it is called
}

// Progress is told of every file that is read. It may be called by several goroutines, each for a file of its own.
type Progress interface {
	Begin(path string) Reading
}

// A Reading is one file that is being read.
type Reading interface {
	At(done, total int64) // bytes of the file as it lies; total 0: unknown
	Notice(text string)   // what takes long or is worth knowing before the end
	End()                 // the file was read, or could not be
}

// silent is a Reading that nobody looks at.
type silent struct{}

func (silent) At(int64, int64) {}
func (silent) Notice(string)   {}
func (silent) End()            {}

// begin says that a file is read from now on.
func begin(p Progress, path string) Reading {
	if p == nil {
		return silent{}
	}
	return p.Begin(path)
}

// openTrace reads a capture.
func (o Options) openTrace(ctx context.Context, path string, need model.Parts) (*model.Trace, error) {
	on := begin(o.Progress, path)
	defer on.End()
	return reader.Open(ctx, path, readers.All, reader.Options{
		Need: need, Progress: on.At, Notice: on.Notice, Data: o.Data,
	})
}
