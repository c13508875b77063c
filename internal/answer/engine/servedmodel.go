package engine

import (
	"errors"
	"os"

	"lacuna/internal/timeline/llmsize"
)

// mostConfig bounds the size of a config.json; the largest known have some 10 kB.
const mostConfig = 4 << 20

// OpenModel reads the config.json of a served model.
func OpenModel(path string) (*llmsize.Model, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, errors.Unwrap(err) // the path is the caller's to say
	case !info.Mode().IsRegular() || info.Size() > mostConfig:
		return nil, errors.New("want the config.json beside a model's weights")
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, errors.Unwrap(err)
	}
	return llmsize.Parse(text)
}
