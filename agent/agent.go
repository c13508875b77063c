// Package agent carries the capture agent: a C library that a CUDA program loads into itself. Library gives the path
// of one that loads on this machine: built ahead and carried in this program, or compiled here once and kept.
package agent

import (
	"context"
	"embed"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"runtime"
)

// sources is what build.sh makes the library of.
//
//go:embed *.c *.h build.sh
var sources embed.FS

// built is the libraries that were made before this program was, if any (prebuilt.sh).
//
//go:embed all:prebuilt
var built embed.FS

// A Lib is the agent's library as a file.
type Lib struct {
	Path string // absolute
	// How is how it came: Prebuilt, Compiled or Cached.
	How How
	// Compiler is what compiled it in this call; "" if nothing had to be compiled.
	Compiler string
	// Hash names what it was made of, in hex: the sources for this kind of machine.
	Hash string
}

// A How is how a library came to be where it is.
type How string

const (
	Prebuilt How = "prebuilt" // carried in this program
	Compiled How = "compiled" // made in this call
	Cached   How = "cached"   // compiled by an earlier call
)

// ErrUnsupported is what Library answers where there is no agent.
var ErrUnsupported = errors.New("capture needs Linux on x86-64 or arm64, and this is " + runtime.GOOS + "/" +
	runtime.GOARCH +
	"; record there, and read the trace here")

// Library gives a library that loads on this machine. It looks in the folder cache, "" for the user's cache folder,
// and writes there what it had to make; if that cannot be written, or holds programs that may not be run, in the
// folder for temporary files. Several processes may do so at once.
func Library(ctx context.Context, cache string) (Lib, error) {
	prebuilt, err := fs.Sub(built, "prebuilt")
	if err != nil {
		return Lib{}, err
	}
	k := kit{sources: sources, prebuilt: prebuilt, getenv: os.Getenv, look: exec.LookPath}
	return k.library(ctx, cache)
}
