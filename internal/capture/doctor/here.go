package doctor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"

	"lacuna/internal/capture/cpusample"
	"lacuna/internal/capture/nvml"
)

// Here is this machine. agent finds the library that lacuna record loads into programs, and says how it came.
func Here(agent func(ctx context.Context) (string, error)) *Machine {
	folder, err := os.Getwd()
	if err != nil {
		folder = "."
	}
	return &Machine{
		Root:     os.DirFS("/"),
		Env:      os.Getenv,
		Set:      func(name string) bool { _, set := os.LookupEnv(name); return set },
		Run:      runProgram,
		NVML:     nvml.Open,
		CUPTI:    cuptiVersion,
		Agent:    agent,
		Sampling: cpusample.Check,
		Free:     freeBytes,
		Cores:    runtime.NumCPU(), // of those that the process may run on
		Folder:   folder,
		Temp:     os.TempDir(),
	}
}

// runProgram gives what a program writes. One that does not end in time is killed, with what it said until then.
func runProgram(ctx context.Context, path string, args ...string) (string, error) {
	c := exec.CommandContext(ctx, path, args...)
	c.WaitDelay = runLimit / 10 // for children that keep the pipe open
	var said beginning
	c.Stdout, c.Stderr = &said, &said
	err := c.Run()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		err = fmt.Errorf("%s does not finish", path)
	case errors.As(err, &exit):
		err = fmt.Errorf("it fails: %v", exit)
	}
	return string(said), err
}

// A beginning keeps the first bytes that are written to it, as many as a file's.
type beginning []byte

func (b *beginning) Write(text []byte) (int, error) {
	*b = append(*b, text[:min(len(text), maxRead-len(*b))]...)
	return len(text), nil
}
