package ncu

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"google.golang.org/protobuf/encoding/protowire"

	"lacuna/internal/timeline/model"
)

const (
	// maxMessage bounds one header, result or source. The largest seen has 2 MB; a module can have some tens.
	maxMessage = 256 << 20
	// maxBytes bounds what is read of a file, since all of it is kept.
	maxBytes = 1 << 30
	// firstRead is how much of a message is read before its length is believed, if the file's size does not vouch for
	// it.
	firstRead = 1 << 20
)

// An input is the file as a stream that knows where it is.
type input struct {
	stream io.Reader
	plain  int64 // bytes of the file as it lies; 0: unknown
	at     int64 // bytes read
}

// take reads n bytes into memory of their own. What is read before the file ends is given back with the error.
func (in *input) take(n int64) ([]byte, error) {
	if n > maxMessage {
		return nil, fmt.Errorf("a part of %d bytes", n)
	}
	buf := make([]byte, 0, min(n, max(firstRead, in.plain)))
	for int64(len(buf)) < n {
		if len(buf) == cap(buf) {
			grown := make([]byte, len(buf), min(n, 2*int64(cap(buf))))
			copy(grown, buf)
			buf = grown
		}
		got, err := io.ReadFull(in.stream, buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+got]
		in.at += int64(got)
		if err != nil {
			return buf, err
		}
	}
	return buf, nil
}

// length reads the length that stands before a part: io.EOF says that the file ends here.
func (in *input) length() (int64, error) {
	var word [4]byte
	n, err := io.ReadFull(in.stream, word[:])
	in.at += int64(n)
	return int64(binary.LittleEndian.Uint32(word[:])), err
}

// skip passes over n bytes.
func (in *input) skip(n int64) error {
	got, err := io.CopyN(io.Discard, in.stream, n)
	in.at += got
	return err
}

// A block is what the header of a block announces.
type block struct {
	sources, results, ranges, commandLists, graphs uint64
	payload                                        int64
}

// file reads the whole file. Damage ends it: what was read before stays.
func (f *filler) file(ctx context.Context, in *input, progress func()) error {
	if err := f.fileHeader(in); err != nil {
		return err
	}
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		progress()
		n, err := in.length()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			f.cut(in, "the length of a block", err)
			return nil
		}
		if in.at+n > maxBytes {
			f.tooLong()
			return nil
		}
		header, err := in.take(n)
		if err != nil {
			f.cut(in, "a block's header", err)
			return nil
		}
		if !f.payload(ctx, in, f.blockHeader(header)) {
			return ctx.Err()
		}
	}
}

func (f *filler) fileHeader(in *input) error {
	if _, err := in.take(int64(len(magic))); err != nil {
		return fmt.Errorf("%s: %w", f.report.Path, err)
	}
	n, err := in.length()
	var header []byte
	if err == nil {
		header, err = in.take(n)
	}
	if err != nil {
		return fmt.Errorf("%s: begins like a report of Nsight Compute, but its header is incomplete (%w); try "+
			"copying the file again", f.report.Path, err)
	}
	c := cursor{rest: header}
	for c.next() {
		if c.num == fileHeaderVersion && c.kind == protowire.VarintType {
			f.version = c.whole
		} else {
			f.unknown("file header", c.num)
		}
	}
	if f.version != knownVersion {
		f.warn("the file's version is %d, this reader knows %d: it reads what it finds there; compare with ncu "+
			"--import", f.version, knownVersion)
	}
	return nil
}

// payload reads what follows a block's header. It says whether the next block can be read.
func (f *filler) payload(ctx context.Context, in *input, b block) bool {
	left := b.payload
	for _, part := range []struct {
		n    uint64
		read func(msg []byte)
	}{
		{b.sources, f.source},
		{b.results, f.result},
		{b.ranges, func([]byte) { f.leftOut.ranges++ }},
		{b.commandLists, func([]byte) { f.leftOut.commandLists++ }},
		{b.graphs, func([]byte) { f.leftOut.graphs++ }},
	} {
		for range part.n {
			if ctx.Err() != nil {
				return false
			}
			if left < 4 {
				f.damaged("byte %d: the payload of a block ends before all that its header announces", in.at)
				return f.skip(in, left)
			}
			n, err := in.length()
			if err != nil {
				f.cut(in, "the length of a result", err)
				return false
			}
			if left -= 4; n > left {
				f.damaged("byte %d: a part of %d bytes in a payload that has %d left", in.at, n, left)
				return f.skip(in, left)
			}
			if in.at+n > maxBytes {
				f.tooLong()
				return false
			}
			msg, err := in.take(n)
			if err != nil {
				f.cut(in, "a result or source", err)
				return false
			}
			left -= n
			part.read(msg)
		}
	}
	if left > 0 {
		f.losses.Add(lossUnknownPart, 1, fmt.Sprintf("byte %d: %d bytes after all that the block's header announces",
			in.at, left))
	}
	return f.skip(in, left)
}

func (f *filler) skip(in *input, n int64) bool {
	if err := in.skip(n); err != nil {
		f.cut(in, "a payload", err)
		return false
	}
	return true
}

// cut notes that the file ends in the middle of what.
func (f *filler) cut(in *input, what string, err error) {
	f.broken = true
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		f.losses.Add(model.LossTruncated, 1, fmt.Sprintf("byte %d: the file ends in the middle of %s", in.at, what))
		f.warn("the file is cut off at byte %d: it holds %%d complete kernel results; the rest is missing", in.at)
		return
	}
	f.damaged("byte %d: %s cannot be read: %v", in.at, what, err)
}
