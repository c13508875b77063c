// Package kineto reads what PyTorch's profiler writes: Chrome trace events in JSON, as
// libkineto makes them, from PyTorch 1.8 on; CUDA, ROCm and CPU only.
//
// A capture is read in one pass over its stream:
//
//  1. outer.go reads the keys before traceEvents, one by one.
//  2. blocks.go cuts the events into blocks of some MB where an event seems to begin.
//  3. Parsers (event.go, emit*.go) turn blocks into parts, side by side.
//  4. The merger takes the parts in the order of the file. It takes one as it is if the one
//     before it ended between two events; else the cut was wrong, and the rest of the one
//     before is joined with what follows and parsed again. So a wrong cut costs time only.
//  5. outer.go reads the keys behind the events, and finish.go what only the whole shows.
package kineto

import (
	"bytes"
	"context"
	"fmt"
	"io"

	"lacuna/internal/reader"
	"lacuna/internal/timeline/model"
)

// Format reads traces of the PyTorch profiler.
var Format = reader.Format{
	Name:  "kineto",
	Title: "PyTorch profiler trace (Kineto JSON)",
	Doc:   doc,
	Clock: "decimal microseconds, kept as ns: Unix time until early 2024, since then counted from baseTimeNanoseconds",
	Files: "*.json, *.json.gz, *.json.zst",
	Maker: "PyTorch profiler",
	Tool: &model.Tool{Name: "torch.profiler", CallNs: 1_500, OtherNs: 750, OpNs: 500, InputNs: 500, FrameNs: 300,
		NodeNs: 150, Spread: 0.35, MinShare: 0.07},
	Measured: `One host (H200, 16 cores, PyTorch 2.11): twelve loops timed with and without it, leave-one-out error
5.7 % of the step in launch-bound loops. A Python function: 0.26 µs more than without stacks, a built-in one 0.15,
one of a network's modules 0.42 (PyTorch 2.11, another H200). The nodes of a graph: 0.993 ms traced, 0.942 not, for
312.`,
	Fills: []reader.Fill{
		{Parts: model.PartsGPU | model.PartLaunchConfig | model.PartCalls | model.PartOps | model.PartRanges |
			model.PartOverheads},
		{Parts: model.PartSyncs, With: "_ExperimentalConfig(enable_cuda_sync_events=True)"},
		{Parts: model.PartOpArgs, With: "record_shapes=True"},
		{Parts: model.PartPython, With: "with_stack=True"},
		{Parts: model.PartMemory, With: "profile_memory=True"},
		{Parts: model.PartCounters, With: "CUPTI's range profiler"},
	},
	Sniff: sniff,
	Read:  read,
}

const doc = `Chrome trace events in JSON as libkineto writes them, from PyTorch 1.8 on, for CUDA,
ROCm and the CPU alone: one object with traceEvents anywhere in it, or a bare array of events.
Read: GPU kernels, copies and memsets with launch configuration and collective data; CUDA and HIP
calls; synchronisation records; operators with shapes, sequence numbers and links from forward to
backward; Python calls; annotations on host and device; memory events; CUPTI range metrics; the
profiler's own overhead. Not read: work of MTIA and other accelerators (counted as
foreign-accelerator), event indices and record function IDs.`

// sniff looks for the keys that Kineto begins with, or an array of events.
func sniff(head []byte) int {
	i := skipSpace(head, 0)
	if i == len(head) {
		return 0
	}
	inner := head[i+1:]
	switch head[i] {
	case '{':
		if bytes.Contains(inner, []byte(`"traceEvents"`)) {
			return 90
		}
		for _, key := range []string{`"schemaVersion"`, `"deviceProperties"`, `"computeProperties"`,
			`"distributedInfo"`, `"baseTimeNanoseconds"`} {
			if bytes.Contains(inner, []byte(key)) {
				return 60
			}
		}
		if at := skipSpace(inner, 0); len(head) >= 60<<10 && at < len(inner) && inner[at] == '"' {
			return 20 // traceEvents may come behind more metadata than could be looked at
		}
	case '[':
		at := skipSpace(inner, 0)
		if at < len(inner) && inner[at] == '{' && bytes.Contains(inner, []byte(`"ph"`)) {
			return 80
		}
	}
	return 0
}

// read fills a trace from src.
func read(ctx context.Context, src *reader.Source, opt reader.Options) (*model.Trace, error) {
	return readStream(ctx, stream{src.Stream(), src.Path, src.Size, src.Done}, opt, blockBytes)
}

// A stream is what is needed of a reader.Source.
type stream struct {
	io.Reader
	path string
	size int64        // of the file as it lies; 0: unknown
	done func() int64 // how much of that was read
}

// readStream fills a trace from a stream, in blocks of blockBytes.
func readStream(ctx context.Context, in stream, opt reader.Options, blockBytes int) (*model.Trace, error) {
	m := newMerger(newWant(opt))
	t := m.trace
	t.Info.Rank = -1
	if t.Loaded = opt.Need; opt.Need == 0 {
		t.Loaded = model.PartsAll
	}
	o := newOuter(in, m, blockBytes)
	defer func() { o.stop() }()
	if err := o.file(ctx); err != nil {
		return nil, err
	}
	if !o.met {
		what := "a JSON object without traceEvents"
		if o.array {
			what = "a JSON array without events"
		}
		return nil, &reader.UnknownError{Path: in.path, What: what,
			Try: "it reads what torch.profiler's export_chrome_trace writes"}
	}
	m.identify(in.path)
	if err := o.surplus(ctx); err != nil {
		return nil, err
	}
	if o.cut != "" {
		lost := "" // one cut is one loss, however many bytes of its event are there
		if o.lostBytes > 0 {
			lost = fmt.Sprintf("; %d bytes behind the last whole event", o.lostBytes)
		}
		t.Losses.Add(model.LossTruncated, 1, fmt.Sprintf("byte %d: %s%s", o.cutAt, o.cut, lost))
		t.Warnings = append(t.Warnings, fmt.Sprintf("the file is cut off at byte %d: %s; what came before it was read",
			o.cutAt, o.cut))
	}
	return m.finish(), nil
}
