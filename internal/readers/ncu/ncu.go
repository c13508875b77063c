// Package ncu reads reports of Nsight Compute: .ncu-rep files.
package ncu

import (
	"bytes"
	"context"
	"fmt"

	"lacuna/internal/kernel/profile"
	"lacuna/internal/reader"
)

// Format reads the profiler's own report files.
var Format = reader.Format{
	Name:  "ncu",
	Title: "Nsight Compute report",
	Doc: `Read: the session (system, versions, command line, device attributes), processes, every kernel result with its
launch, all metrics with their instances, section definitions, rule results with estimated speedups and markers, open
NVTX ranges, and modules: cubin, source texts, load addresses. Made from reports of versions 2020.3 to 2025.3.

Not read: range, command list and graph results (counted as losses; profile kernels with --graph-profiling node or
without --replay-mode range), call stacks of the host, and how sections are collected. Fields that are not known are
skipped and counted. A report that was cut off is read up to its last whole result.

Units are not in the file: they follow from the metrics' names. SASS text is not either: it is in the cubin.`,
	Clock:   "seconds of the system clock, per result; nanoseconds for metrics that were sampled over time",
	Files:   "*.ncu-rep, *.ncu-rep.zst, *.ncu-rep.gz",
	Maker:   "Nsight Compute",
	Sniff:   sniff,
	Profile: read,
}

func sniff(head []byte) int {
	if bytes.HasPrefix(head, []byte(magic)) {
		return 100
	}
	return 0
}

func read(ctx context.Context, src *reader.Source, opt reader.Options) (*profile.Report, error) {
	f := newFiller(src.Path)
	in := &input{stream: src.Stream(), plain: src.Size}
	progress := func() {
		if opt.Progress != nil {
			opt.Progress(src.Done(), src.Size)
		}
	}
	if err := f.file(ctx, in, progress); err != nil {
		return nil, err
	}
	if f.report.Bytes = in.at; len(f.report.Launches) == 0 && f.broken {
		return nil, fmt.Errorf("%s: holds no complete kernel result (%s); try profiling again: the file may be cut "+
			"off or damaged",
			src.Path, f.firstLoss())
	}
	f.finish()
	return f.report, nil
}
