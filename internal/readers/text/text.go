// Package text reads captures in lacuna's own text form, as `lacuna export --to text` writes them
// and as people write them by hand.
package text

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"lacuna/internal/reader"
	"lacuna/internal/timeline/evtext"
	"lacuna/internal/timeline/model"
)

// Format reads the text form.
var Format = reader.Format{
	Name:  "text",
	Title: "lacuna's text form",
	Doc: `Lines as evtext writes them, with all that the model holds; the first line says so.
The whole file is held in memory, so it may have 256 MiB at most.`,
	Clock: "nanoseconds since the epoch that the file states",
	Files: "*.txt, *.txt.gz",
	Fills: []reader.Fill{{Parts: model.PartsAll}},
	Sniff: sniff,
	Read:  read,
}

func sniff(head []byte) int {
	if evtext.IsText(head) {
		return 100
	}
	return 0
}

func read(ctx context.Context, src *reader.Source, opt reader.Options) (*model.Trace, error) {
	var text bytes.Buffer
	if src.Size > 0 && src.Size <= evtext.MaxBytes {
		text.Grow(int(src.Size))
	}
	for {
		n, err := io.CopyN(&text, src.Stream(), 1<<20)
		if opt.Progress != nil {
			opt.Progress(src.Done(), src.Size)
		}
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case text.Len() > evtext.MaxBytes:
			return nil, fmt.Errorf("%s: is over %d MiB of text; give lacuna the capture that it was made from",
				src.Path, evtext.MaxBytes>>20)
		case errors.Is(err, io.EOF) || err == nil && n == 0:
			return parse(src.Path, text.String(), opt)
		case err != nil:
			return nil, fmt.Errorf("%s: %w", src.Path, err)
		}
	}
}

func parse(path, text string, opt reader.Options) (*model.Trace, error) {
	t, err := evtext.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	t.Loaded = model.PartsAll
	if !opt.Wants(model.PartPython) { // a tool's cost for each frame counts where frames are loaded
		t.PyCalls, t.Loaded = model.PyCalls{}, model.PartsAll&^model.PartPython
	}
	return t, nil
}
