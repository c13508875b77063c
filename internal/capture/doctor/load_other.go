//go:build !linux || static || (!amd64 && !arm64)

package doctor

func cuptiVersion(string) (uint32, error) { return 0, errCannotLoad }
