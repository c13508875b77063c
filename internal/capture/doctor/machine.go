package doctor

import (
	"context"
	"io/fs"

	"lacuna/internal/capture/cpusample"
	"lacuna/internal/capture/nvml"
)

// A Machine is what checks may look at.
type Machine struct {
	// Root is the file system from its root; it reads links (fs.ReadLinkFS).
	Root fs.FS
	// Env is a variable of the environment; "" is as good as not set.
	Env func(name string) string
	// Set says whether a variable is there at all: an empty CUDA_VISIBLE_DEVICES hides every GPU. nil: those that are
	// not empty.
	Set func(name string) bool
	// Run runs a program and gives what it writes to stdout and stderr.
	Run func(ctx context.Context, path string, args ...string) (string, error)
	// NVML opens the driver's management library.
	NVML func() (nvml.Library, error)
	// CUPTI loads a libcupti and asks for its version.
	CUPTI func(path string) (uint32, error)
	// Agent finds or compiles the library that lacuna record loads into programs; how it came.
	Agent func(ctx context.Context) (string, error)
	// Sampling says what the kernel lets be sampled.
	Sampling func() cpusample.Report
	// Free is the free bytes of the file system of a folder.
	Free func(folder string) (int64, error)
	// Cores is how many CPUs this process may run on.
	Cores int
	// Folder is where results are written: the working directory.
	Folder string
	// Temp is where temporary files are written.
	Temp string
	// Deep lets checks take seconds: torch is imported.
	Deep bool
}
