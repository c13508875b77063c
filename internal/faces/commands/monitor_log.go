package commands

import (
	"io"
	"os"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// writeLog gives fn the file of -o for what comes bit by bit. Unlike that of a result (write) it is there from the
// beginning and has each of fn's writes at once, whatever ends us.
func (e *Env) writeLog(fn func(w io.Writer) error) error {
	f, err := os.OpenFile(e.output, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o644)
	if err != nil {
		return cannotWrite(e.output, err)
	}
	if err = logTo(e.output, f, fn); err != nil {
		f.Close()
		return cannotWrite(e.output, err)
	}
	return f.Close()
}

// logTo lets fn write to w, packed as name asks.
func logTo(name string, w io.Writer, fn func(w io.Writer) error) error {
	var pack packer
	switch {
	case strings.HasSuffix(name, ".gz"):
		pack = gzip.NewWriter(w)
	case strings.HasSuffix(name, ".zst"):
		z, err := zstd.NewWriter(w, zstd.WithEncoderLevel(zstd.SpeedFastest))
		if err != nil {
			return err
		}
		pack = z
	default:
		return fn(w)
	}
	if err := fn(flushed{pack}); err != nil {
		return err
	}
	return pack.Close()
}

// A packer is a gzip or zstd writer.
type packer interface {
	io.WriteCloser
	Flush() error
}

// flushed hands each write on to the file at once, packed.
type flushed struct{ packer }

func (f flushed) Write(p []byte) (int, error) {
	n, err := f.packer.Write(p)
	if err == nil {
		err = f.Flush()
	}
	return n, err
}
