package spool

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"

	"github.com/klauspost/compress/zstd"
)

// NoteLost is the kind of the note in which Pack says what of a stream it could not take over; LostNote is its fields.
const NoteLost = "lost"

// LostNote says what of a stream, or of the file that held it, was damaged.
type LostNote struct {
	Bytes  int64 `json:"bytes,omitempty"`  // damaged
	Chunks int64 `json:"chunks,omitempty"` // missing, or that nothing explained
	Cut    int64 `json:"cut,omitempty"`    // bytes at the end of the file that begin a chunk which it cuts off
}

// A Summary says what Pack did.
type Summary struct {
	Files   int   // read
	Streams int   // written
	Rows    int64 // written
	Plain   int64 // bytes of chunks, before zstd
	Lost    LostNote
	Empty   []string // files without a stream: left out
}

// Pack writes the spools at paths to dst as one, packed as a whole: agents by process ID and start, the recorder
// last. The order of paths does not matter. Damaged chunks are left out; a note at the end of their stream says so.
func Pack(ctx context.Context, dst io.Writer, paths []string) (Summary, error) {
	var sum Summary
	spools, err := order(paths, &sum)
	if err != nil {
		return sum, err
	}
	z, err := zstd.NewWriter(dst, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedDefault),
		zstd.WithEncoderCRC(true))
	if err != nil {
		return sum, fmt.Errorf("pack spools: %w", err)
	}
	for _, s := range spools {
		if err := sum.add(ctx, z, s.path); err != nil {
			z.Close()
			return sum, err
		}
	}
	if err := z.Close(); err != nil {
		return sum, fmt.Errorf("pack spools: %w", err)
	}
	return sum, nil
}

// An opening is a spool and who wrote its first stream.
type opening struct {
	path string
	Begin
}

// order reads how each spool begins and puts them in order.
func order(paths []string, sum *Summary) ([]opening, error) {
	var spools []opening
	for _, path := range paths {
		f, err := openPlain(path)
		if err != nil {
			return nil, err
		}
		sum.Files++
		s := NewScanner(f)
		if s.Next() {
			spools = append(spools, opening{path, s.Chunk().Process.Begin})
		} else if why := s.Lost().Why; why != nil {
			f.Close()
			return nil, fmt.Errorf("%s: %w", path, why)
		} else {
			sum.Empty = append(sum.Empty, path)
			sum.Lost.Bytes += s.Lost().Bytes
			sum.Lost.Cut += s.Lost().Cut
			sum.Lost.Chunks += s.Lost().Unexplained
		}
		f.Close()
	}
	slices.SortStableFunc(spools, func(a, b opening) int {
		return cmp.Or(
			cmp.Compare(roleOrder(a.Role), roleOrder(b.Role)), cmp.Compare(a.Pid, b.Pid),
			cmp.Compare(a.RealNs, b.RealNs), cmp.Compare(a.path, b.path))
	})
	slices.Sort(sum.Empty)
	return spools, nil
}

func roleOrder(role string) int {
	if role == RoleRecorder {
		return 1
	}
	return 0
}

// add writes the streams of one spool.
func (sum *Summary) add(ctx context.Context, dst io.Writer, path string) error {
	f, err := openPlain(path)
	if err != nil {
		return err
	}
	defer f.Close()
	s := NewScanner(f)
	var out *chunks
	var from *Process
	var before Lost
	end := func() {
		if out != nil {
			sum.Plain += out.lost(s.lost, before, &sum.Lost)
		}
		before = s.lost
	}
	for s.Next() {
		if err := ctx.Err(); err != nil {
			return err
		}
		c := s.Chunk()
		if c.Process != from {
			end()
			out, from = &chunks{w: dst}, c.Process
			sum.Streams++
			if c.Type != TypeBegin { // it is damaged: the stream gets another, which says nothing
				out.write(TypeBegin, 0, []byte(`{"format":1}`))
			}
		}
		out.write(uint16(c.Type), uint32(c.Count), c.Payload)
		if c.Table != nil {
			sum.Rows += int64(c.Count)
		}
		if out.err != nil {
			return fmt.Errorf("pack %s: %w", path, out.err)
		}
	}
	if s.lost.Why != nil {
		return fmt.Errorf("%s: %w", path, s.lost.Why)
	}
	end()
	if out != nil && out.err != nil {
		return fmt.Errorf("pack %s: %w", path, out.err)
	}
	return nil
}

// lost notes what was lost since before, and adds it to sum. It returns how long the stream has become.
func (c *chunks) lost(now, before Lost, sum *LostNote) int64 {
	note := LostNote{
		Bytes:  now.Bytes - before.Bytes,
		Chunks: now.Chunks + now.Unexplained - before.Chunks - before.Unexplained,
		Cut:    now.Cut - before.Cut,
	}
	if note == (LostNote{}) {
		return c.written
	}
	sum.Bytes += note.Bytes
	sum.Chunks += note.Chunks
	sum.Cut += note.Cut
	said, err := json.Marshal(struct {
		Note string `json:"note"`
		LostNote
	}{NoteLost, note})
	if err != nil && c.err == nil {
		c.err = err
	}
	c.write(TypeNote, 0, said)
	return c.written
}

// openPlain opens a spool, unpacking zstd: what was packed before can be packed again, with others.
func openPlain(path string) (io.ReadCloser, error) {
	f, err := os.Open(path)
	if err != nil {
		var pe *fs.PathError
		if errors.As(err, &pe) {
			err = pe.Err
		}
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	in := bufio.NewReaderSize(f, 256<<10)
	if magic, _ := in.Peek(4); !bytes.Equal(magic, []byte{0x28, 0xb5, 0x2f, 0xfd}) {
		return plainFile{in, f.Close}, nil
	}
	z, err := zstd.NewReader(in, zstd.WithDecoderMaxMemory(512<<20), zstd.WithDecoderConcurrency(1))
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("%s: begins like zstd but cannot be unpacked: %w", path, err)
	}
	return plainFile{z, func() error { z.Close(); return f.Close() }}, nil
}

type plainFile struct {
	io.Reader
	close func() error
}

func (p plainFile) Close() error { return p.close() }
