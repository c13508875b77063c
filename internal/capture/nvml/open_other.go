//go:build !linux || static || (!amd64 && !arm64)

package nvml

import "errors"

// Open says that this build cannot load the driver's library.
func Open() (Library, error) {
	return nil, errors.New("this build of lacuna cannot load the NVIDIA driver's library")
}
