package commands

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// write gives fn the place where the result goes: stdout, or the file of -o. That file comes to be
// only when fn has succeeded: until then it is a temporary one beside it, which is removed on failure.
func (e *Env) write(fn func(w io.Writer) error) error {
	if e.output == "" || e.output == "-" {
		return packed("", e.Out, fn)
	}
	path := e.output
	if to, err := filepath.EvalSymlinks(path); err == nil {
		path = to // the link stays a link
	}
	mode := os.FileMode(0o644)
	if st, err := os.Stat(path); err == nil {
		if st.IsDir() {
			return fmt.Errorf("%s: is a directory; name a file in it", e.output)
		}
		if !st.Mode().IsRegular() { // /dev/stderr, a named pipe: nothing to rename
			return writeTo(e.output, func() (*os.File, error) { return os.OpenFile(path, os.O_WRONLY, 0) }, fn)
		}
		mode = st.Mode().Perm()
	}
	var temp string
	err := writeTo(e.output, func() (*os.File, error) {
		f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
		if err == nil {
			temp = f.Name()
		}
		return f, err
	}, fn)
	if err == nil {
		err = os.Chmod(temp, mode)
	}
	if err == nil {
		err = os.Rename(temp, path)
	}
	if err != nil && temp != "" {
		os.Remove(temp)
	}
	return err
}

// writeTo opens a file, lets fn write to it, packed as name asks, and closes it.
func writeTo(name string, open func() (*os.File, error), fn func(w io.Writer) error) error {
	f, err := open()
	if err != nil {
		return cannotWrite(name, err)
	}
	err = packed(name, f, fn)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return err
}

// cannotWrite says why a file of the user's is not written, without the path of a temporary one.
func cannotWrite(name string, err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		err = pe.Err
	}
	return fmt.Errorf("%s: cannot be written: %w", name, err)
}

// packed lets fn write to w through a buffer, and through gzip or zstd if name ends like that.
func packed(name string, w io.Writer, fn func(w io.Writer) error) error {
	buffer := bufio.NewWriterSize(w, 1<<16)
	var pack io.WriteCloser
	var err error
	switch {
	case strings.HasSuffix(name, ".gz"):
		pack = gzip.NewWriter(buffer)
	case strings.HasSuffix(name, ".zst"):
		pack, err = zstd.NewWriter(buffer, zstd.WithEncoderLevel(zstd.SpeedFastest))
	}
	if err != nil {
		return err
	}
	if pack == nil {
		err = fn(buffer)
	} else if err = fn(pack); err == nil {
		err = pack.Close()
	}
	if err != nil {
		return err // what is still in the buffer is half a result
	}
	return buffer.Flush()
}
