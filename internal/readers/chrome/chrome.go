// Package chrome reads timelines that `lacuna export --to chrome` made for viewers: the capture lies in them, packed.
package chrome

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"lacuna/internal/reader"
	"lacuna/internal/timeline/evtext"
	"lacuna/internal/timeline/model"
)

// Format reads lacuna's own timelines.
var Format = reader.Format{
	Name:  "chrome",
	Title: "timeline that lacuna exported (trace events in JSON)",
	Doc: `JSON of trace events as ` + "`lacuna export --to chrome`" + ` writes it for ui.perfetto.dev. The boxes there are
not what is read: the capture that they were made of lies in otherData, in lacuna's text form (zstd, base64), and
comes back whole. What somebody changed in the events does not come back. Timelines of earlier versions hold no
capture and are refused. The text form may have 256 MiB at most.`,
	Clock: "nanoseconds since the epoch of the capture that was exported",
	Files: "*.json, *.json.gz",
	Fills: []reader.Fill{{Parts: model.PartsAll}},
	Sniff: sniff,
	Read:  read,
}

const (
	producer = `"otherData":{"producer":"lacuna"`
	capture  = `,"capture":"`
)

func sniff(head []byte) int {
	if at := bytes.Index(head, []byte(producer)); at > 0 && bytes.HasPrefix(bytes.TrimSpace(head[:at]), []byte("{")) &&
		!bytes.Contains(head[:at], []byte(`"traceEvents"`)) {
		return 100
	}
	return 0
}

func read(ctx context.Context, src *reader.Source, opt reader.Options) (*model.Trace, error) {
	in := bufio.NewReaderSize(&progress{ctx: ctx, src: src, opt: opt}, 1<<16)
	if err := skipTo(in, producer+capture); err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, fmt.Errorf("%s: is a timeline that an earlier lacuna exported for viewers, without the capture; "+
			"give lacuna the capture that it was made from", src.Path)
	}
	text, err := evtext.Unpack(&word{in})
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.Is(err, evtext.ErrTooLong):
		return nil, fmt.Errorf("%s: the capture in it is %w; give lacuna the capture that it was made from", src.Path, err)
	case err != nil:
		return nil, fmt.Errorf("%s: the capture in it is damaged: %w", src.Path, err)
	}
	t, err := evtext.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("%s: the capture in it is damaged: %w", src.Path, err)
	}
	t.Loaded = model.PartsAll
	if !opt.Wants(model.PartPython) { // a tool's cost for each frame counts where frames are loaded
		t.PyCalls, t.Loaded = model.PyCalls{}, model.PartsAll&^model.PartPython
	}
	return t, nil
}

// maxHead bounds what stands before the capture.
const maxHead = 1 << 10

// skipTo reads up to the end of a text, which begins within maxHead bytes.
func skipTo(in *bufio.Reader, text string) error {
	head, err := in.Peek(maxHead)
	if at := bytes.Index(head, []byte(text)); at >= 0 {
		_, err := in.Discard(at + len(text))
		return err
	}
	if err == nil || errors.Is(err, io.EOF) {
		err = errors.New("not there")
	}
	return err
}

// A word is the bytes before the next quote.
type word struct{ in *bufio.Reader }

func (w *word) Read(p []byte) (int, error) {
	if _, err := w.in.Peek(1); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF // the file ends within the word
		}
		return 0, err
	}
	have, _ := w.in.Peek(min(len(p), w.in.Buffered()))
	end := bytes.IndexByte(have, '"')
	if end == 0 {
		return 0, io.EOF
	}
	if end < 0 {
		end = len(have)
	}
	n := copy(p, have[:end])
	_, err := w.in.Discard(n)
	return n, err
}

// A progress is the bytes of a file, which says how far it is and stops when it is no longer wanted.
type progress struct {
	ctx context.Context
	src *reader.Source
	opt reader.Options
}

func (r *progress) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	if r.opt.Progress != nil {
		r.opt.Progress(r.src.Done(), r.src.Size)
	}
	return r.src.Stream().Read(p)
}
