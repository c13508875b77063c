package reader

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"unicode"

	"lacuna/internal/kernel/profile"
	"lacuna/internal/runs/measure"
	"lacuna/internal/timeline/model"
)

// An UnknownError says that a file is of no format that can be read.
type UnknownError struct {
	Path string
	What string // what the file looks like, in words
	Try  string
}

func (e *UnknownError) Error() string {
	text := fmt.Sprintf("%s: is not a profile that lacuna reads (%s)", e.Path, e.What)
	if e.Try != "" {
		text += "; " + e.Try
	}
	return text
}

// Open reads the capture at path with the format that recognises it.
func Open(ctx context.Context, path string, formats []*Format, opt Options) (*model.Trace, error) {
	src, f, err := recognise(ctx, path, formats, opt)
	if err != nil {
		return nil, err
	}
	defer src.Close()
	if f.Read == nil {
		return nil, fmt.Errorf("%s: is a report on single kernels without a timeline (%s); try lacuna kernel %[1]s",
			path, f.Title)
	}
	return f.trace(ctx, src, opt)
}

// OpenProfile reads the kernel report at path with the format that recognises it.
func OpenProfile(ctx context.Context, path string, formats []*Format, opt Options) (*profile.Report, error) {
	src, f, err := recognise(ctx, path, formats, opt)
	if err != nil {
		return nil, err
	}
	defer src.Close()
	if f.Profile == nil {
		return nil, fmt.Errorf("%s: is a timeline without kernel counters (%s); lacuna report %[1]s shows where its "+
			"time goes, lacuna kernel --from %[1]s -- PROGRAM runs ncu for its hottest kernels", path, f.Title)
	}
	return f.report(ctx, src, opt)
}

// OpenEither reads what is at path: a capture or a kernel report. The other is nil.
func OpenEither(ctx context.Context, path string, formats []*Format, opt Options) (*model.Trace, *profile.Report,
	error) {
	src, f, err := recognise(ctx, path, formats, opt)
	if err != nil {
		return nil, nil, err
	}
	defer src.Close()
	if f.Read == nil {
		report, err := f.report(ctx, src, opt)
		return nil, report, err
	}
	trace, err := f.trace(ctx, src, opt)
	return trace, nil, err
}

func (f *Format) trace(ctx context.Context, src *Source, opt Options) (*model.Trace, error) {
	trace, err := f.Read(ctx, src, opt)
	if err != nil {
		return nil, err
	}
	trace.Info.Path, trace.Info.Format = src.Path, f.Name
	if f.Tool != nil {
		trace.Info.Tool = *f.Tool
	}
	if trace.Info.Bytes == 0 {
		trace.Info.Bytes = max(src.Size, src.Done())
	}
	return trace, nil
}

func (f *Format) report(ctx context.Context, src *Source, opt Options) (*profile.Report, error) {
	report, err := f.Profile(ctx, src, opt)
	if err != nil {
		return nil, err
	}
	report.Path, report.Format = src.Path, f.Name
	if report.Bytes == 0 {
		report.Bytes = max(src.Size, src.Done())
	}
	return report, nil
}

// recognise opens path and finds its format.
func recognise(ctx context.Context, path string, formats []*Format, opt Options) (*Source, *Format, error) {
	src, err := open(ctx, path, opt)
	if err != nil {
		return nil, nil, err
	}
	var best *Format
	sure := 0
	for _, f := range formats {
		if n := f.Sniff(src.Head); n > sure {
			best, sure = f, n
		}
	}
	if best == nil {
		src.Close()
		return nil, nil, unknown(src, formats)
	}
	return src, best, nil
}

func unknown(src *Source, formats []*Format) error {
	var names []string
	for _, f := range formats {
		names = append(names, f.Title)
	}
	e := &UnknownError{Path: src.Path, What: "it begins with " + fmt.Sprintf("%.16q", src.Head), Try: "it reads: " +
		strings.Join(names, "; ")}
	trimmed := bytes.TrimLeftFunc(src.Head, unicode.IsSpace)
	switch {
	case len(src.Head) == 0:
		e.What = "it is empty"
	case len(trimmed) == 0:
		e.What = "it begins with nothing but blanks"
	case measure.IsMetrics(src.Head):
		e.What, e.Try = "it has measures of runs and no timeline", "lacuna diff and lacuna check compare such files"
	case trimmed[0] == '{' || trimmed[0] == '[':
		e.What = "it is JSON without trace events"
	}
	return e
}
