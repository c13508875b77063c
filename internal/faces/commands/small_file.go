package commands

import (
	"fmt"
	"io"
	"os"
)

// maxSmall is the size in bytes of the largest file of settings or answers that is read whole.
const maxSmall = 64 << 20

// readSmall reads a file that people or lacuna itself write, whole; what never ends (/dev/zero, a pipe) is refused.
func readSmall(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxSmall+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxSmall {
		return nil, fmt.Errorf("%s: is larger than %d MB, the limit for such a file", path, maxSmall>>20)
	}
	return text, nil
}
