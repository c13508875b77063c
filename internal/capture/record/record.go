// Package record runs a program with the capture agent in it, watches it from beside, and packs what was written into
// one file. The agent (lacuna/agent) is in every process of the program that uses CUDA or NVTX and writes a spool
// each; this package writes one more: clocks, threads, the state of the GPUs, samples of the CPUs.
package record

import (
	"fmt"
	"io"
	"time"

	"lacuna/internal/base/unit"
	"lacuna/internal/capture/nvml"
)

// Options is how a program is recorded.
type Options struct {
	Args    []string // the program and its arguments, run as they are, without a shell
	Library string   // the agent's library; absolute
	Version string   // of lacuna, for the spool

	// Output is the file that the recording is packed into. It must not be there yet, unless Overwrite. Unnamed:
	// nobody asked for this very name, so that another is taken if it is there.
	Output    string
	Overwrite bool
	Unnamed   bool
	// SpoolDir is the folder in which the folder for spools is made; "": that of Output.
	SpoolDir string

	Window      Window
	Kinds       string // with commas, as LACUNA_KINDS; "": the agent's default
	CUPTI       string // path of libcupti; "": the agent searches
	Yield       bool   // leave CUPTI to others
	WholeGraphs bool   // record CUDA graphs as a whole, not node by node
	Flush       time.Duration
	MemoryMB    int // most MB of buffers in each process
	SampleHz    int // samples of the CPUs a second; 0: none

	GPU      nvml.Library // nil: no state of GPUs is recorded
	NoGPU    string       // why GPU is nil; "": because nobody asked for it
	Visible  []int        // the GPUs whose state is recorded, as GPU counts them
	Interval time.Duration

	In       io.Reader // the program's stdin, stdout and stderr: files are handed to it as they are
	Out, Err io.Writer
	// Notice is told what the user should know at once, from any goroutine.
	Notice func(text string)
	// Progress is told once a second where the recording stands; nil: nobody asks.
	Progress func(Progress)
}

// RecorderSpool is the name of the recorder's own spool, beside those of the program's processes.
const RecorderSpool = "recorder.spool"

// A Window says when recording is on.
type Window struct {
	Kind     Kind
	Delay    time.Duration // of Delayed, after the start of each process
	Duration time.Duration // of Whole, Delayed and Armed; 0: to the end
	// of Steps: the name of the ranges that are steps, or with * how they begin; "": the usual names
	Range      string
	From, Upto int // of Steps: from the From-th step, counted from 0, up to and without the Upto-th
}

// ends says whether recording is over some time before the program is.
func (w Window) ends() bool { return w.Kind == Steps || w.Kind != Armed && w.Duration > 0 }

// Kind is what opens and closes a window. The values are the agent's.
type Kind string

// The kinds of windows.
const (
	Whole    Kind = "whole"    // the whole run
	Armed    Kind = "armed"    // when lacuna record start asks for it
	Profiler Kind = "profiler" // between cudaProfilerStart and cudaProfilerStop
	Delayed  Kind = "delay"
	Steps    Kind = "steps" // certain NVTX ranges
)

// Progress is where a recording stands.
type Progress struct {
	Elapsed   time.Duration
	Processes int   // that have recorded something
	Records   int64 // rows that the agents have taken
	Dropped   int64
	Bytes     int64 // on disk, before packing
	Recording bool  // some process records right now
}

// String is the progress in a line, the most important first: a narrow terminal cuts it.
func (p Progress) String() string {
	doing := "recording"
	if !p.Recording {
		doing = "not recording now"
	}
	if p.Processes == 0 {
		return fmt.Sprintf("%.0f s: nothing recorded yet", p.Elapsed.Seconds())
	}
	dropped := "none dropped"
	if p.Dropped > 0 {
		dropped = unit.FormatCount(p.Dropped) + " dropped"
	}
	return fmt.Sprintf("%.0f s: %s, %s, %s, %s, %s", p.Elapsed.Seconds(), doing, unit.FormatCount(p.Records)+" events",
		dropped, Size(p.Bytes), count(p.Processes, "process", "processes"))
}

// A Result is what came of it.
type Result struct {
	// Status is the program's exit status, as a shell has it: 128 and the signal's number if one ended it.
	Status      int
	Signal      string // the signal that ended it, in words; "": none
	Interrupted bool   // recording was stopped by Ctrl-C, SIGTERM or SIGHUP
	Elapsed     time.Duration

	Path  string // the packed file
	Bytes int64  // of it
	// Spools is the folder that still holds the spools, because they could not be packed; "": it is gone.
	Spools string
	// Failed is why there is no packed file; nil: there is one.
	Failed error

	Contents Contents
	// Remarks is what the user should know of the recording, most important first, each with what to do.
	Remarks []string
}

// A StartError says that the program could not be started. Its status is a shell's: 127 not found, 126 cannot be run.
type StartError struct {
	Status int
	Err    error
}

func (e *StartError) Error() string { return e.Err.Error() }
func (e *StartError) Unwrap() error { return e.Err }
