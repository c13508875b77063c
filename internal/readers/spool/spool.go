// Package spool reads the captures of lacuna record: the spools that the agent and the recorder write, one or many,
// plain or packed as one file. The files themselves are internal/capture/spool's; here is what their rows mean.
package spool

import (
	"bytes"
	"context"
	"fmt"

	raw "lacuna/internal/capture/spool"
	"lacuna/internal/reader"
	"lacuna/internal/timeline/model"
)

// Format recognises and reads captures of lacuna record.
var Format = reader.Format{
	Name:  "spool",
	Title: "lacuna record's capture or spool",
	Doc: `
What lacuna record writes: a .lacuna file, or the .spool files that it is packed from, also while the program still
runs, after it was killed, and several in one file as cat makes it. Kernels, copies, memsets, synchronisation, events,
CUDA graphs, runtime and driver calls, memory, NVTX, threads, counters of NVML, CPU samples with call chains, context
switches, CUPTI's overhead.

NVTX's payloads of NCCL's calls say how large the messages of its kernels are, and of which communicator and peer.

The rank of a process comes from its launcher's variables (RANK, OMPI_COMM_WORLD_RANK, PMI_RANK, SLURM_PROCID), else
from the NCCL communicator that the processes created together. A file with several ranks is split.

A driver call inside a runtime call of the same correlation ID is left out: it is the same call. Damaged parts are
skipped and counted.`,
	Clock: clock,
	Files: "*.lacuna, *.spool, *.spool.zst",
	Maker: "lacuna record",
	Tool:  &model.Tool{Name: "lacuna record", CallNs: 2_300, OtherNs: 700, NodeNs: 200, Spread: 0.5, MinShare: 0.07},
	Measured: `H200, 2026-11-21: three launch-bound loops in one process each, recorded or not in turn, 2.9, 1.3 and
2.9 µs per launch; with processes held side by side 2.5, 3.2 and 2.0, and on other machines 3.0, 4.0 and 2.3; a decode of
312 graph nodes, 0.21 and 0.14 µs per node. The first were chosen by, the others came later (docs/capture.md). Other
calls: one callback.`,
	Fills: []reader.Fill{
		{Parts: model.PartsGPU | model.PartLaunchConfig | model.PartCalls | model.PartSyncs | model.PartRanges |
			model.PartPayloads | model.PartMemory | model.PartCounters | model.PartOverheads},
		{Parts: model.PartSamples, With: "--sample"},
		{Parts: model.PartSched, With: "--sample"},
	},
	Sniff: sniff,
	Read:  read,
}

const clock = "ns since the first process began or its first event, on CLOCK_REALTIME; CUPTI's and " +
	"CLOCK_MONOTONIC's times by pairs taken every few seconds"

func sniff(head []byte) int {
	switch {
	case bytes.HasPrefix(head, []byte(raw.Magic)):
		return 100
	case bytes.Contains(head, []byte(raw.Magic)):
		return 20 // its beginning may be damaged
	}
	return 0
}

// A reading is one Read.
type reading struct {
	ctx   context.Context
	opt   reader.Options
	trace *model.Trace

	streams []*stream
	names   map[model.StringID]kernelName // by the text in the file
	room    int                           // bytes of demangled names that may still be made
	passed  map[string]int64              // rows of tables that the model has no place for, by table
	nested  []uint32                      // rows of Calls that are inside another call and the same, in order
	people  people

	trackUUIDs []string // of Tracks
	scratch    []uint32
}

func read(ctx context.Context, src *reader.Source, opt reader.Options) (*model.Trace, error) {
	r := &reading{
		ctx: ctx, opt: opt, trace: &model.Trace{Loaded: opt.Need}, names: make(map[model.StringID]kernelName),
		room:   1 << 20,
		passed: make(map[string]int64), people: newPeople(),
	}
	if opt.Need == 0 {
		r.trace.Loaded = model.PartsAll
	}
	s := raw.NewScanner(src.Stream())
	for s.Next() {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if opt.Progress != nil {
			opt.Progress(src.Done(), src.Size)
		}
		r.chunk(s.Chunk())
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if len(r.streams) == 0 {
		l := s.Lost()
		return nil, fmt.Errorf("%s: is a damaged capture of lacuna record: of %d bytes none are a whole chunk; the "+
			"spools of the processes may still lie beside it",
			src.Path, l.Bytes+l.Cut)
	}
	r.finish(s.Lost())
	return r.trace, nil
}

// chunk takes what a chunk says.
func (r *reading) chunk(c *raw.Chunk) {
	if n := len(r.streams); n == 0 || r.streams[n-1].from != c.Process {
		r.begin(c.Process)
	}
	s := r.streams[len(r.streams)-1]
	switch c.Type {
	case raw.TypeBegin, raw.TypeSchema:
	case raw.TypeTexts:
		if !c.Texts(func(id raw.Text, text []byte) { s.texts.set(uint32(id), r.trace.Strings.InternBytes(text)) }) {
			r.trace.Losses.Add(model.LossBadEvent, 1, "a list of texts breaks off")
		}
	case raw.TypeNote:
		s.note(c)
	default:
		if c.Table == nil {
			r.passed[fmt.Sprintf("table %d", c.Type)] += int64(c.Count)
			return
		}
		if s.rows == nil {
			r.beginRows(s)
		}
		r.trace.Info.Events += int64(c.Count)
		r.table(s, c)
	}
}

// table reads the rows of a table that is wanted. A table is known by its name: numbers are the stream's.
func (r *reading) table(s *stream, c *raw.Chunk) {
	const calls = model.PartCalls | model.PartSyncs // an event without a time of its own takes its call's
	// what says which rank a process is, whatever is read: all commands must find the same ranks in a file
	switch c.Table.Name {
	case "nvtx":
		r.members(s, c)
	case "kernel", "graph_run":
		s.kernels += int64(c.Count)
	}
	for _, t := range []struct {
		name  string
		parts model.Parts
		read  func(*stream, *raw.Chunk)
	}{
		{"kernel", model.PartKernels | model.PartLaunchConfig, r.kernels},
		{"call", calls, r.calls},
		{"copy", model.PartCopies, r.copies},
		{"set", model.PartCopies, r.sets},
		{"sync", model.PartSyncs, r.syncs},
		{"event", model.PartSyncs, r.events},
		{"graph_run", model.PartGraphs, r.graphRuns},
		{"graph", model.PartGraphs, r.graphEvents},
		{"overhead", model.PartOverheads, r.overheads},
		{"memory", model.PartMemory, r.deviceAllocs},
		{"nvtx", model.PartRanges | model.PartPayloads, r.nvtx},
		{"counter", model.PartCounters, r.counters},
		{"sample", model.PartSamples, r.samples},
		{"switch", model.PartSched, r.switches},
		{"frame", model.PartSamples, r.frames},
		{"track", model.PartCounters, r.tracks},
		{"stream", 0, func(s *stream, c *raw.Chunk) {
			s.cudaStreams = append(s.cudaStreams,
				raw.Rows[raw.Stream](c)...)
		}},
		{"context", 0, func(s *stream, c *raw.Chunk) { s.contexts = append(s.contexts, raw.Rows[raw.Context](c)...) }},
		{"device", 0, func(s *stream, c *raw.Chunk) { s.devices = append(s.devices, raw.Rows[raw.Device](c)...) }},
		{"domain", 0, func(s *stream, c *raw.Chunk) { s.domains = append(s.domains, raw.Rows[raw.Domain](c)...) }},
		{"thread", 0, func(s *stream, c *raw.Chunk) { s.named = append(s.named, raw.Rows[raw.Thread](c)...) }},
		{"clock", 0, func(s *stream, c *raw.Chunk) { s.clocks = append(s.clocks, raw.Rows[raw.Clock](c)...) }},
		{"window", 0, func(s *stream, c *raw.Chunk) { s.windows = append(s.windows, raw.Rows[raw.Window](c)...) }},
		{"account", 0, func(s *stream, c *raw.Chunk) { s.count(raw.Rows[raw.Account](c)) }},
		{"task", 0, r.tasks},
		{"category", 0, func(*stream, *raw.Chunk) {}}, // the model keeps their numbers
	} {
		if t.name != c.Table.Name {
			continue
		}
		if t.parts == 0 || r.opt.Wants(t.parts) {
			t.read(s, c)
		} else if t.name != "frame" && t.name != "track" { // parts of events
			r.trace.Losses.LeavePart(t.parts, int64(c.Count))
		}
		return
	}
	r.passed[c.Table.Name] += int64(c.Count)
}
