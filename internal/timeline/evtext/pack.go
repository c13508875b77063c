package evtext

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"

	"lacuna/internal/timeline/model"
)

// MaxBytes bounds the text form that readers parse: it is parsed from memory, and packed files may unpack to anything.
const MaxBytes = 256 << 20

// Pack writes t in the text form as one word of letters, digits, +, / and =, which can stand in another file.
func Pack(w io.Writer, t *model.Trace) error {
	letters := base64.NewEncoder(base64.StdEncoding, w)
	z, err := zstd.NewWriter(letters, zstd.WithEncoderLevel(zstd.SpeedDefault), zstd.WithEncoderConcurrency(1))
	if err != nil {
		return err
	}
	if err := Write(z, t); err != nil {
		return err
	}
	if err := z.Close(); err != nil {
		return err
	}
	return letters.Close()
}

// ErrTooLong is of a text form over MaxBytes.
var ErrTooLong = fmt.Errorf("over %d MiB in the text form", MaxBytes>>20)

// Unpack reads the text form out of what Pack made: r ends where the word ends.
func Unpack(r io.Reader) (string, error) {
	z, err := zstd.NewReader(base64.NewDecoder(base64.StdEncoding, r), zstd.WithDecoderConcurrency(1),
		zstd.WithDecoderMaxWindow(64<<20))
	if err != nil {
		return "", err
	}
	defer z.Close()
	text, err := io.ReadAll(io.LimitReader(z, MaxBytes+1))
	switch {
	case err != nil:
		return "", err
	case len(text) > MaxBytes:
		return "", ErrTooLong
	case !IsText(text):
		return "", errors.New("not the text form")
	}
	return string(text), nil
}
