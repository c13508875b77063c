// Package bench runs a program again and again without a profiler, or two in turn, until it is known well enough
// how long it takes. It is the clock for "did it get faster", where profiles only explain.
package bench

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"time"

	"lacuna/internal/capture/nvml"
	"lacuna/internal/runs/measure"
)

// A Program is what is run: a name and its arguments, no shell.
type Program struct {
	Args []string
}

// Options says how to measure. Zero values are usual but for the limits, which must be set.
type Options struct {
	Precision float64       // stop when the 95 % interval is this share to either side; 0: never before the limits
	MaxRuns   int           // of each program, warm-up left out
	Budget    time.Duration // no run begins after it
	Warmup    int           // runs of each program that are left out
	Random    bool          // which of two programs goes first is drawn anew each round, else they take turns
	Seed      uint64        // of these draws
	Measure   string        // what the precision is asked of; "": step if the programs tell steps, else wall
	Marks     Marks
	GPU       nvml.Library // whose state is taken beside each run; nil: none
	Visible   []int        // the GPUs that the programs see
	Output    func([]byte) // gets what the programs write; nil: it is kept back
	Progress  func(Progress)
}

// Marks are what to look for in what a program writes.
type Marks struct {
	Step    *regexp.Regexp // a line that matches ends a step
	Metrics []*regexp.Regexp
	Higher  bool // of Metrics, higher is better
	Skip    int  // how many steps and values at the start of each run are left out
}

// A Progress is where a session stands, before each run.
type Progress struct {
	Run, Of   int // of each program; a negative Run is a warm-up
	Program   int
	Spent     time.Duration
	Precision float64 // reached so far; 0: not known
}

// minRuns is how many runs of each program are made before the interval is believed: fewer may lie close
// together by chance.
const minRuns = 5

// Why a session stopped.
const (
	StoppedPrecision   = "precision"
	StoppedRuns        = "runs"
	StoppedBudget      = "budget"
	StoppedInterrupted = "interrupted"
	StoppedFailed      = "failed"
)

// A Session is what was run.
type Session struct {
	Programs []Program
	Runs     [][]*measure.Run // of each program, in the order in which they ran, warm-ups left out
	Order    []int            // which program each run in turn was of
	Warmups  int              // of each program
	Spent    time.Duration
	Stopped  string
	Failure  *Failure // if Stopped is StoppedFailed
	Warnings []string
	NoGPU    string // why the GPUs' state was not taken; "": it was
}

// A Failure is a run that ended badly.
type Failure struct {
	Program  int
	Run      int // from 1, warm-ups counted
	ExitCode int // as a shell says it: 128 and the signal's number for a program that a signal ended
	Signal   string
	LastSaid []string // the last lines that it wrote
}

func (f *Failure) Error() string {
	return fmt.Sprintf("run %d ended with exit status %d", f.Run, f.ExitCode)
}

// Run measures programs, one or two. A program that cannot be started at all is an error; one that fails, or a
// context that ends, stops the session, which then has the runs made until then.
func Run(ctx context.Context, programs []Program, opt Options) (*Session, error) {
	s := &Session{Programs: programs, Runs: make([][]*measure.Run, len(programs))}
	began := time.Now()
	rng := rand.New(rand.NewPCG(opt.Seed, 0))
	defer func() { s.Spent = time.Since(began) }()
	for round := -opt.Warmup; ; round++ {
		if s.Stopped = s.enough(opt, round, time.Since(began)); s.Stopped != "" {
			return s, nil
		}
		for _, p := range turn(len(programs), round, opt, rng) {
			if opt.Progress != nil {
				reached, _ := s.precision(opt)
				opt.Progress(Progress{Run: round, Of: opt.MaxRuns, Program: p, Spent: time.Since(began),
					Precision: reached})
			}
			run, err := s.once(ctx, p, opt)
			var failure *Failure
			switch {
			case ctx.Err() != nil:
				s.Stopped = StoppedInterrupted
				return s, nil
			case errors.As(err, &failure):
				failure.Program, failure.Run = p, round+opt.Warmup+1
				s.Stopped, s.Failure = StoppedFailed, failure
				return s, nil
			case err != nil:
				return s, err
			}
			if round < 0 {
				s.Warmups = round + opt.Warmup + 1
				continue
			}
			s.Runs[p] = append(s.Runs[p], run)
			s.Order = append(s.Order, p)
		}
	}
}

// turn is which programs run in a round, in which order: of two, each goes first every other time, so that
// neither always follows the other and a steady drift falls on both alike.
func turn(programs, round int, opt Options, rng *rand.Rand) []int {
	if programs == 1 {
		return []int{0}
	}
	second := round&1 != 0
	if opt.Random {
		second = rng.IntN(2) == 1
	}
	if second {
		return []int{1, 0}
	}
	return []int{0, 1}
}

// enough says why no further round is needed; "": it is.
func (s *Session) enough(opt Options, round int, spent time.Duration) string {
	reached, known := s.precision(opt)
	switch {
	case round >= minRuns && opt.Precision > 0 && known && reached <= opt.Precision:
		return StoppedPrecision
	case round >= opt.MaxRuns:
		return StoppedRuns
	case round > 0 && spent >= opt.Budget:
		return StoppedBudget
	}
	return ""
}

// Finished is how many runs were made, warm-ups left out.
func (s *Session) Finished() int { return len(s.Order) }

// warn keeps a warning, once.
func (s *Session) warn(text string) {
	for _, w := range s.Warnings {
		if w == text {
			return
		}
	}
	s.Warnings = append(s.Warnings, text)
}
