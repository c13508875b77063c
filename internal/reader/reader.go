// Package reader opens a capture: it finds out which format a file has, unpacks it and
// lets that format's reader fill a model.Trace. It knows no format itself.
package reader

import (
	"context"

	"lacuna/internal/kernel/profile"
	"lacuna/internal/timeline/model"
)

// A Format is one kind of capture file. Each folder of readers has one, named Format.
type Format struct {
	Name  string // "kineto"
	Title string // "PyTorch profiler trace (Kineto JSON)"
	Doc   string // for docs/formats: what is read, what is not, which versions
	Clock string // which clock its stamps come from
	Files string // usual names: "*.json, *.json.gz"
	Maker string // who writes such files, in words: "Nsight Systems"; "": any format may become one of these

	// Tool is what recording costs, as it was measured; nil: no tool of its own records a timeline in this format. Open
	// puts it into the trace: what only the file says, its cores and graphs, is Read's to find.
	Tool     *model.Tool
	Measured string // how the costs of Tool were measured, in sentences
	Fills    []Fill // what a file may hold, with what it takes; nil: counters of single kernels

	// Sniff says how sure it is, from 0 (no) to 100, that a file beginning with head is of this
	// format. head is unpacked and has up to 64 KiB.
	Sniff func(head []byte) int

	// Read fills a trace from src. It reads at least opt.Need and may read more; it says what
	// it read in Trace.Loaded. It returns an error only if nothing of use could be read: anything
	// less is a Loss or a warning. It stops soon after ctx ends. nil: the format has no timeline.
	Read func(ctx context.Context, src *Source, opt Options) (*model.Trace, error)

	// Profile is Read of a format that holds counters of single kernels. nil: it holds none.
	// Options.Need does not concern it.
	Profile func(ctx context.Context, src *Source, opt Options) (*profile.Report, error)
}

// A Fill is parts of a capture that a format has, if it was recorded with an option.
type Fill struct {
	Parts model.Parts
	With  string // "--trace=mpi"; "": always
}

// Options says what to read and who wants to know how far it is.
type Options struct {
	Need model.Parts // 0: everything
	// nil, or called now and then from one goroutine; bytes of the file as it lies (total 0: unknown)
	Progress func(done, total int64)
	Data     []byte            // nil, or the file's bytes: the path is then only what they are called
	TempDir  string            // where unpacked copies go; "": the system's
	Notice   func(text string) // nil, or told what takes long or is worth knowing before the end
}

// Wants says whether any of p is asked for.
func (o Options) Wants(p model.Parts) bool { return o.Need == 0 || o.Need&p != 0 }
