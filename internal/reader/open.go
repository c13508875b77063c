package reader

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"unicode"

	"lacuna/internal/model"
)

// An UnknownError says that a file is of no format that can be read.
type UnknownError struct {
	Path string
	What string // what the file looks like, in words
	Try  string
}

func (e *UnknownError) Error() string {
	text := fmt.Sprintf("%s: is no profile that lacuna reads (%s)", e.Path, e.What)
	if e.Try != "" {
		text += "; " + e.Try
	}
	return text
}

// Open reads the capture at path with the format that recognises it.
func Open(ctx context.Context, path string, formats []*Format, opt Options) (*model.Trace, error) {
	src, err := open(ctx, path, opt)
	if err != nil {
		return nil, err
	}
	defer src.Close()
	var best *Format
	sure := 0
	for _, f := range formats {
		if n := f.Sniff(src.Head); n > sure {
			best, sure = f, n
		}
	}
	if best == nil {
		return nil, unknown(src, formats)
	}
	trace, err := best.Read(ctx, src, opt)
	if err != nil {
		return nil, err
	}
	trace.Info.Path, trace.Info.Format = path, best.Name
	if trace.Info.Bytes == 0 {
		trace.Info.Bytes = max(src.Size, src.Done())
	}
	return trace, nil
}

func unknown(src *Source, formats []*Format) error {
	var names []string
	for _, f := range formats {
		names = append(names, f.Title)
	}
	e := &UnknownError{Path: src.Path, What: "it begins with " + fmt.Sprintf("%.16q", src.Head), Try: "it reads: " + strings.Join(names, "; ")}
	trimmed := bytes.TrimLeftFunc(src.Head, unicode.IsSpace)
	switch {
	case len(src.Head) == 0:
		e.What = "it is empty"
	case len(trimmed) == 0:
		e.What = "it begins with nothing but blanks"
	case bytes.HasPrefix(src.Head, []byte("NVR\x00")):
		e.What, e.Try = "it is an Nsight Compute report", "lacuna kernel reads those"
	case trimmed[0] == '{' || trimmed[0] == '[':
		e.What = "it is JSON without trace events"
	}
	return e
}
