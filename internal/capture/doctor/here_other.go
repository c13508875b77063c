//go:build !linux

package doctor

import "errors"

func freeBytes(string) (int64, error) { return 0, errors.New("free space is reported on Linux only") }
