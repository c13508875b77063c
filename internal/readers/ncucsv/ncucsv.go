// Package ncucsv reads what ncu --csv prints: the raw page and the details page, as files and as logs hold them.
package ncucsv

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"lacuna/internal/kernel/profile"
	"lacuna/internal/reader"
	"lacuna/internal/timeline/model"
)

// Format reads the pages that the profiler prints as CSV.
var Format = reader.Format{
	Name:  "ncu-csv",
	Title: "Nsight Compute page (ncu --csv)",
	Doc: `
Read: the raw page (ncu --page raw --csv, default and base units) and the details page (ncu --csv, also of a few
--metrics), of a report that was imported or as printed while profiling: lines before, between and after the table are
passed over. Values are scaled back to base units. Labels of the details page are taken for the metrics that they
stand for in reports of versions 2020.3 to 2025.3.

A page has less than the report that it was printed from: values are rounded (six decimals in the raw page's default
units, two in the details page), and there are no instances, no source and no session beyond the columns. The report
file itself (-o NAME, then NAME.ncu-rep) says more.`,
	Clock:   "none: pages do not say when a kernel ran",
	Files:   "*.csv, *.log, *.txt",
	Maker:   "Nsight Compute",
	Sniff:   sniff,
	Profile: read,
}

func sniff(head []byte) int {
	if isUTF16(head) {
		head, _ = io.ReadAll(newUTF16(bytes.NewReader(head)))
	}
	for line := range bytes.Lines(head) {
		if isHeader(line) {
			return 90
		}
	}
	if bytes.Contains(head, []byte("==PROF== Profiling ")) {
		return 40 // what the profiler says while it works; the table may come later
	}
	return 0
}

// mark can stand before a text in UTF-8.
const mark = "\xef\xbb\xbf"

// isHeader says whether a line has the names of columns: as printed, or as other programs save it again.
func isHeader(line []byte) bool {
	line = bytes.TrimPrefix(line, []byte(mark))
	return bytes.HasPrefix(line, []byte(`"ID","Process ID",`)) || bytes.HasPrefix(line, []byte(`ID,Process ID,`))
}

// maxBytes bounds the text, since what is read of it is kept in up to twenty times the memory: cells have a few
// bytes. A thousand launches with full sets have 20 MB.
const maxBytes = 48 << 20

// Memory for launches, which rows of a few bytes can claim, is bounded by the bytes read.
const (
	launchBytes   = 1024
	memoryPerByte = 16
	memoryFree    = 4 << 20
)

// What a page can lose.
const (
	lossBadRow model.LossCode = "bad-row" // a row of the table that is not whole
	// a label of the details page that stands for no known metric
	lossUnknownLabel model.LossCode = "unknown-label"
	lossInstances    model.LossCode = "instances-not-read" // --print-metric-instances
	lossTooMany      model.LossCode = "too-many-parts"     // more launches than a page of that size can mean
)

func read(ctx context.Context, src *reader.Source, opt reader.Options) (*profile.Report, error) {
	p := newPage(src.Path)
	stream, head := src.Stream(), src.Head
	if isUTF16(head) {
		stream = newUTF16(stream)
		head, _ = io.ReadAll(newUTF16(bytes.NewReader(head)))
	}
	p.commaDecimal = commaDecimal(head)
	lines := newScanner(stream)
	for n := 0; ; n++ {
		if n%256 == 0 {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			if opt.Progress != nil {
				opt.Progress(src.Done(), src.Size)
			}
		}
		line, err := lines.next()
		if err == nil {
			p.bytes = lines.bytes
			p.line(line)
			continue
		}
		p.end(lines, err)
		break
	}
	if len(p.report.Launches) == 0 {
		return nil, fmt.Errorf("%s: has no rows of a page of ncu --csv (%d lines were read%s); print one with ncu "+
			"--import REPORT --page raw --csv",
			src.Path, lines.count, p.firstLoss())
	}
	p.report.Bytes = lines.bytes
	p.finish()
	return p.report, nil
}

// end notes why reading ended, if not at the end of the file.
func (p *page) end(lines *scanner, err error) {
	switch {
	case errors.Is(err, io.EOF):
		if lines.open {
			p.report.Losses.Add(model.LossTruncated, 1,
				fmt.Sprintf("line %d: the file ends within quotes", lines.count))
			p.warn("the page is cut off in line %d: what came after is not in it", lines.count)
		}
	case errors.Is(err, errTooLong):
		p.report.Losses.Add(model.LossTruncated, 1,
			fmt.Sprintf("line %d: what lies after %d MiB", lines.count, maxBytes>>20))
		p.warn("the page is over %d MiB: only its first %d lines are read; give lacuna the report that it was "+
			"printed from", maxBytes>>20, lines.count)
	default:
		p.report.Losses.Add(model.LossTruncated, 1, fmt.Sprintf("line %d: %v", lines.count, err))
		p.warn("the page cannot be read after line %d (%v)", lines.count, err)
	}
}
