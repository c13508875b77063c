// Package cpusample samples where the threads of a program are on the CPU, and when they leave it, with Linux's
// perf_event_open: the software clock, which needs no counters of the processor. Stacks are followed by call frame
// information on x86-64, since most programs there, Python among them, are compiled without frame pointers; elsewhere
// by frame pointers.
//
// How a sample becomes rows of a spool:
//
//  1. One event a CPU, inherited by every thread and child, writes into one ring a CPU (kernel_linux.go).
//  2. A goroutine drains the rings on a timer, parses records (record.go), puts those of all CPUs in order of time,
//     follows the address spaces of the processes (space.go) and walks stacks (unwind.go, cfi.go). Context switches
//     are written at once.
//  3. Every resolveEvery another goroutine turns the addresses of new stacks into functions (symbols.go) and frames of
//     one tree (frames.go), and writes the samples that wait. It never holds up the draining.
//  4. Code that was made at run time and has no name yet is asked for again until the end: Python and other
//     just-in-time compilers name their code in /tmp/perf-PID.map (perfmap.go), some of them late.
//
// Memory is bounded: rings, stacks and frames each have a limit, and what goes over it is counted in Stats.
package cpusample

import (
	"context"
	"fmt"
	"sync"
	"time"

	"lacuna/internal/capture/spool"
)

// DefaultHz is how often a running thread is sampled, in 1/s of its CPU time. It is prime, so that samples do not
// fall in step with timers of 100, 250 or 1000 Hz or with a program's own steps. 10 s of a busy thread are 2000
// samples: a share of a half is then known to 1.1 points (one standard deviation, sqrt(p(1-p)/n)).
const DefaultHz = 199

const (
	resolveEvery = time.Second
	// settled is how long after its time stamp a record surely lies in its ring. The kernel writes it within
	// microseconds; a virtual machine's CPU that is taken away in between may take longer.
	settled = 20 * time.Millisecond
)

// Options say what to sample.
type Options struct {
	Pid      int           // of Start: the process; with its threads, its children and theirs
	Hz       int           // samples a second of CPU time, of each thread; 0: DefaultHz
	Switches bool          // context switches too
	Writer   *spool.Writer // gets rows of Frame, Sample, Switch and Task
}

// Stats say what was taken and what was not.
type Stats struct {
	Hz       int   `json:"hz"`
	Samples  int64 `json:"samples"`
	Switches int64 `json:"switches"`
	Lost     int64 `json:"lost"`      // records that the kernel dropped because a ring was full
	Broken   int64 `json:"broken"`    // records that could not be read
	Whole    int64 `json:"whole"`     // samples whose stack was followed to where the thread began
	OneFrame int64 `json:"one_frame"` // samples of user code of which no caller is known
	Cut      int64 `json:"cut"`       // samples whose stack is deeper than what is taken of it
	Astray   int64 `json:"astray"`    // samples whose stack ends at code whose caller cannot be found
	Unnamed  int64 `json:"unnamed"`   // frames whose function has no name: library+0xoffset
	// samples whose stack was left out or shortened, since the limits of memory were reached
	Over     int64 `json:"over"`
	Throttle int64 `json:"throttle"` // times that the kernel slowed sampling down
	CPUs     int   `json:"cpus"`
	Kernel   bool  `json:"kernel"` // time within the kernel is sampled too
	OwnCPUNs int64 `json:"own_cpu_ns"`
	// Notes are sentences: what is off, or limits what the numbers say, and what to do.
	Notes []string `json:"notes,omitempty"`
}

// A Session samples until Stop.
type Session struct {
	kernel  kernel
	sampler *sampler
	stop    chan struct{}
	done    sync.WaitGroup
	once    sync.Once
	stats   Stats
	ownNs   [2]int64 // CPU time of the two goroutines
	notes   []string
}

// kernel is what a session needs of the system: real, or of a test.
type kernel interface {
	// drain gives every record that lies in the rings. The record is the callee's until it returns.
	drain(visit func(cpu int, record []byte)) (broken int64)
	// attachMissing samples threads of the process that neither were attached nor are in inherited.
	attachMissing(inherited map[uint32]bool) error
	// nowNs is CLOCK_MONOTONIC.
	nowNs() uint64
	// threadCPUNs is the CPU time of the calling thread.
	threadCPUNs() int64
	pause()
	close()
}

// Start samples a process that runs, its threads, its children and whatever they start. When ctx ends sampling ends;
// Stop is called all the same. An error is an *Error, which says what forbids it and what to do.
func Start(ctx context.Context, o Options) (*Session, error) {
	if o.Pid <= 0 {
		return nil, fmt.Errorf("sampling process %d: is not a process", o.Pid)
	}
	opened, err := attach(o.Pid, o)
	if err != nil {
		return nil, err
	}
	return begin(ctx, opened, o, o.Pid), nil
}

// Launch samples a program from its first instruction on: start starts it (exec.Cmd.Start), as a child of this
// process, and returns. It is called on a thread that ends with it, so it must not ask for a signal at that thread's
// end (syscall.SysProcAttr.Pdeathsig). An *Error says that sampling is not possible; then start has not been called.
// Any other error is start's.
func Launch(ctx context.Context, o Options, start func() error) (*Session, error) {
	opened, err := launch(o, start)
	if err != nil {
		return nil, err
	}
	return begin(ctx, opened, o, 0), nil
}

// opened is a kernel that samples, and what is to be said of it.
type opened struct {
	kernel kernel
	dumps  bool  // samples have registers and stack
	stats  Stats // Hz, CPUs, Kernel, Notes
}

func begin(ctx context.Context, from opened, o Options, pid int) *Session {
	s := &Session{kernel: from.kernel, stop: make(chan struct{}), stats: from.stats}
	s.sampler = newSampler(o.Writer, newSymbols("/proc"))
	if from.dumps {
		s.sampler.unwind = newUnwinder("/proc")
	}
	if pid > 0 {
		s.sampler.known(pid)
	}
	resolve := make(chan bool)
	s.done.Add(2)
	go s.drainLoop(ctx, pid > 0, resolve)
	go s.resolveLoop(resolve)
	return s
}

// Stop ends sampling, writes what is left and says what was taken. Calling it again gives the same answer.
func (s *Session) Stop() Stats {
	s.once.Do(func() {
		close(s.stop)
		s.done.Wait()
		s.kernel.close()
		s.stats.OwnCPUNs = s.ownNs[0] + s.ownNs[1]
		s.sampler.account(&s.stats)
		s.stats.Notes = append(s.stats.Notes, s.notes...)
		s.stats.Notes = append(s.stats.Notes, s.stats.remarks()...)
	})
	return s.stats
}

// drainLoop drains the rings until the end, then once more.
func (s *Session) drainLoop(ctx context.Context, attached bool, resolve chan<- bool) {
	defer s.done.Done()
	defer close(resolve)
	defer s.measure(&s.ownNs[0])()
	ticker := time.NewTicker(drainEvery(s.stats.Hz))
	defer ticker.Stop()
	next := time.Now().Add(resolveEvery)
	for live := true; live; {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			live = false
		case <-s.stop:
			live = false
		}
		if !live {
			s.kernel.pause()
		}
		s.drain(live)
		if attached && live {
			attached = false
			if err := s.kernel.attachMissing(s.sampler.inherited()); err != nil {
				s.notes = append(s.notes, err.Error())
			}
		}
		if now := time.Now(); now.After(next) {
			next = now.Add(resolveEvery)
			select {
			case resolve <- true:
			default: // it still works on the last
			}
		}
	}
}

// drainEvery is how often rings are drained: after 6 samples of a busy CPU, of which a ring holds 15 with their dumps.
func drainEvery(hz int) time.Duration {
	return min(max(6*time.Second/time.Duration(hz), 2*time.Millisecond), 50*time.Millisecond)
}

// drain takes what lies in the rings; all of it, or, as long as more may come, what no earlier record can follow.
func (s *Session) drain(live bool) {
	until := s.kernel.nowNs() - uint64(settled)
	if !live {
		until = ^uint64(0)
	}
	broken := s.kernel.drain(s.sampler.take)
	s.sampler.turn(until, broken)
}

// measure keeps the calling goroutine on its thread until what it returns is called, which says how much CPU time it
// took.
func (s *Session) measure(ns *int64) func() {
	unlock := lockThread()
	from := s.kernel.threadCPUNs()
	return func() {
		*ns = s.kernel.threadCPUNs() - from
		unlock()
	}
}

// resolveLoop names stacks whenever it is told to, and once at the end.
func (s *Session) resolveLoop(resolve <-chan bool) {
	defer s.done.Done()
	defer s.measure(&s.ownNs[1])()
	for range resolve {
		s.sampler.resolve(false)
	}
	s.sampler.resolve(true)
}

// remarks says in sentences what a reader of the samples must know.
func (s *Stats) remarks() (out []string) {
	share := func(n int64) string {
		return fmt.Sprintf("%d of %d samples (%.0f%%)", n, s.Samples, 100*float64(n)/float64(s.Samples))
	}
	if s.Samples > 0 && s.OneFrame*20 > s.Samples {
		out = append(out, share(s.OneFrame)+" have one frame only: that code has neither frame pointers nor call "+
			"frame information, so its callers are unknown")
	}
	if s.Samples > 0 && s.Cut*20 > s.Samples {
		out = append(out, share(s.Cut)+" have deeper stacks than the limit, and lack their outermost frames")
	}
	if s.Samples > 0 && (s.Astray-s.OneFrame)*20 > s.Samples {
		out = append(out, share(s.Astray)+" have stacks that end at code without frame pointers and call frame "+
			"information, and lack their outermost frames")
	}
	if s.Lost > 0 {
		out = append(out, fmt.Sprintf("%d records were dropped by the kernel because they were not read in time; "+
			"sample less often, or without context switches", s.Lost))
	}
	if s.Over > 0 {
		out = append(out, fmt.Sprintf("%d samples have a shortened stack: the program has more different stacks "+
			"than are kept", s.Over))
	}
	return out
}
