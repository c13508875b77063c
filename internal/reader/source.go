package reader

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync/atomic"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// headBytes is how much of a file a Format may look at to recognise it.
const headBytes = 64 << 10

// maxPlainBytes bounds an unpacked copy of a packed file: the largest SQLite export seen is 30 GB.
const maxPlainBytes = 64 << 30

// A Source is a capture's bytes, unpacked. It is opened by Open and closed by it.
type Source struct {
	Path string // as the user typed it; "-" is standard input
	Head []byte // the first bytes, unpacked
	Size int64  // bytes as the file lies; 0: unknown

	packing string    // "", "gzip", "zstd"
	in      io.Reader // the file, stdin or Options.Data
	stream  io.Reader // unpacked, from the start
	read    atomic.Int64
	opt     Options
	copies  []string // unpacked copies to remove
	spools  []*spool // unpacked copies to close
}

// open opens path and looks at its beginning.
func open(ctx context.Context, path string, opt Options) (*Source, error) {
	s := &Source{Path: path, opt: opt}
	switch {
	case opt.Data != nil:
		s.in, s.Size = bytes.NewReader(opt.Data), int64(len(opt.Data))
	case path == "-":
		s.in = interruptible(ctx, os.Stdin)
	default:
		f, err := os.Open(path)
		if err != nil {
			var pe *fs.PathError
			if errors.As(err, &pe) {
				err = pe.Err
			}
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		s.in = f
		st, err := f.Stat()
		if err == nil && st.IsDir() {
			f.Close()
			return nil, fmt.Errorf("%s: is a directory; name the captures in it, such as %s/*", path, path)
		}
		if err == nil && st.Mode().IsRegular() {
			s.Size = st.Size()
		}
	}
	if err := s.rewind(); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// interruptible reads r until ctx ends, even while r has nothing to give: a terminal, a pipe that stays open.
// Closing it does not close r.
func interruptible(ctx context.Context, r io.Reader) io.ReadCloser {
	out, in := io.Pipe()
	context.AfterFunc(ctx, func() { in.CloseWithError(ctx.Err()) })
	go func() {
		_, err := io.Copy(in, r)
		in.CloseWithError(err)
	}()
	return out
}

// rewind starts the stream at the beginning of the file and fills Head.
func (s *Source) rewind() error {
	raw := bufio.NewReaderSize(counter{s}, 1<<20)
	magic, err := raw.Peek(4)
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("%s: %w", s.Path, err)
	}
	var in io.Reader = raw
	switch {
	case bytes.HasPrefix(magic, []byte{0x1f, 0x8b}):
		s.packing = "gzip"
		z, err := gzip.NewReader(raw)
		if err != nil {
			return fmt.Errorf("%s: begins like gzip but cannot be unpacked: %w", s.Path, err)
		}
		in = z
	case bytes.Equal(magic, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		s.packing = "zstd"
		z, err := zstd.NewReader(raw, zstd.WithDecoderMaxMemory(512<<20), zstd.WithDecoderConcurrency(1))
		if err != nil {
			return fmt.Errorf("%s: begins like zstd but cannot be unpacked: %w", s.Path, err)
		}
		in = z.IOReadCloser()
	}
	head := make([]byte, headBytes)
	n, err := io.ReadFull(in, head)
	s.Head = head[:n:n]
	rest := in
	if err != nil && !errors.Is(err, io.EOF) {
		if !errors.Is(err, io.ErrUnexpectedEOF) || s.packing != "" {
			// what was wrong is told again where the head ends
			rest = failing{err, in}
		}
	}
	s.stream = io.MultiReader(bytes.NewReader(s.Head), rest)
	return nil
}

// failing tells a broken unpacking again after the head, unless the input simply ended.
type failing struct {
	err error
	in  io.Reader
}

func (f failing) Read(p []byte) (int, error) {
	n, err := f.in.Read(p)
	if n == 0 && errors.Is(err, io.EOF) {
		return 0, io.EOF
	}
	if n > 0 {
		return n, err
	}
	return 0, f.err
}

// counter counts the bytes that are read from the file.
type counter struct{ s *Source }

func (c counter) Read(p []byte) (int, error) {
	n, err := c.s.in.Read(p)
	c.s.read.Add(int64(n))
	return n, err
}

// Stream is the unpacked bytes from the start. It can be read once. A packed file that was cut
// off ends with io.ErrUnexpectedEOF after all that could be unpacked.
func (s *Source) Stream() io.Reader { return s.stream }

// Done is how many bytes of the file, as it lies, have been read.
func (s *Source) Done() int64 { return s.read.Load() }

// At is the unpacked bytes at random: the file itself, a copy in memory, or a copy in a file that is gone when the
// Source is closed or the program ends. cut says that the packed file ended too early, so that the copy is short.
func (s *Source) At(ctx context.Context) (r io.ReaderAt, size int64, cut bool, err error) {
	if f, ok := s.in.(*os.File); ok && s.packing == "" && s.Size > 0 {
		return f, s.Size, false, nil
	}
	copied := &spool{folder: s.opt.TempDir}
	if s.packing == "" && s.opt.Data != nil {
		return bytes.NewReader(s.opt.Data), s.Size, false, nil
	}
	cut, err = s.unpack(ctx, copied)
	if copied.file == nil {
		return bytes.NewReader(copied.bytes), int64(len(copied.bytes)), cut, err
	}
	s.spools = append(s.spools, copied)
	return copied.file, copied.size, cut, err
}

// File is the path of the unpacked bytes as a plain file, for programs that need one: the file itself, or a copy that
// is removed when the Source is closed. cut is as with At.
func (s *Source) File(ctx context.Context) (path string, cut bool, err error) {
	if f, ok := s.in.(*os.File); ok && s.packing == "" && s.Size > 0 {
		return f.Name(), false, nil
	}
	f, err := os.CreateTemp(s.opt.TempDir, "lacuna-*")
	if err != nil {
		return "", false, fmt.Errorf("%s: unpack: %w", s.Path, err)
	}
	s.copies = append(s.copies, f.Name())
	defer f.Close()
	cut, err = s.unpack(ctx, f)
	return f.Name(), cut, err
}

// unpack writes the unpacked bytes to w.
func (s *Source) unpack(ctx context.Context, w io.Writer) (cut bool, err error) {
	buf := make([]byte, 1<<20)
	var written int64
	for {
		if err := ctx.Err(); err != nil {
			return false, err
		}
		n, rerr := s.stream.Read(buf)
		if _, err := w.Write(buf[:n]); err != nil {
			return false, fmt.Errorf("%s: unpack: %w", s.Path, err)
		}
		if written += int64(n); written > maxPlainBytes {
			return false, fmt.Errorf("%s: unpacks to over %d GiB; unpack it yourself if that is right", s.Path,
				int64(maxPlainBytes)>>30)
		}
		if s.opt.Progress != nil {
			s.opt.Progress(s.Done(), s.Size)
		}
		if rerr != nil {
			return !errors.Is(rerr, io.EOF), nil
		}
	}
}

// spoolBytes is how much of a copy is kept in memory.
const spoolBytes = 64 << 20

// A spool holds what is written to it: in memory, or, if that is much, in a file without a name.
type spool struct {
	folder string
	bytes  []byte
	file   *os.File
	size   int64
	named  string // the file's name, where it could not be taken away at once (Windows)
}

func (p *spool) Write(b []byte) (int, error) {
	if p.file == nil && len(p.bytes)+len(b) <= spoolBytes {
		p.bytes = append(p.bytes, b...)
		return len(b), nil
	}
	if p.file == nil {
		f, err := os.CreateTemp(p.folder, "lacuna-*")
		if err != nil {
			return 0, err
		}
		if os.Remove(f.Name()) != nil {
			p.named = f.Name()
		}
		p.file = f
		held := p.bytes
		p.bytes = nil
		if _, err := p.Write(held); err != nil {
			return 0, err
		}
	}
	n, err := p.file.Write(b)
	p.size += int64(n)
	return n, err
}

func (p *spool) close() {
	p.file.Close()
	if p.named != "" {
		os.Remove(p.named)
	}
}

// Close closes the file and removes unpacked copies.
func (s *Source) Close() error {
	for _, p := range s.copies {
		os.Remove(p)
	}
	for _, p := range s.spools {
		p.close()
	}
	if c, ok := s.in.(io.Closer); ok {
		return c.Close()
	}
	return nil
}
