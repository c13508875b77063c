//go:build linux && !static && (amd64 || arm64)

package doctor

import (
	"fmt"

	"github.com/ebitengine/purego"
)

// cuptiVersion loads a libcupti into this process and asks for its version: nothing else of it is called, and
// this process uses no CUDA that it could disturb.
func cuptiVersion(path string) (uint32, error) {
	handle, err := purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_LOCAL)
	if err != nil {
		return 0, err
	}
	at, err := purego.Dlsym(handle, "cuptiGetVersion")
	if err != nil || at == 0 {
		return 0, fmt.Errorf("it has no cuptiGetVersion")
	}
	var ask func(version *uint32) int32
	purego.RegisterFunc(&ask, at)
	var v uint32
	if code := ask(&v); code != 0 {
		return 0, fmt.Errorf("cuptiGetVersion returns %d", code)
	}
	return v, nil
}
