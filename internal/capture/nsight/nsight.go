// Package nsight drives NVIDIA's own profilers: it finds nsys and ncu on a machine, makes the command line that suits a
// goal, runs it, makes a file of the result that lacuna reads, and says what to do when one of them fails. It also
// chooses which launches of a timeline's hot kernels ncu is to profile.
package nsight

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"lacuna/internal/capture/nvtool"
)

// A Machine is where tools are looked for.
type Machine struct {
	Root string // of the file system; "/" but in tests
	Path string // directories as in $PATH, from the root
}

// ThisMachine is the one that the program runs on.
func ThisMachine() Machine { return Machine{Root: "/", Path: os.Getenv("PATH")} }

// A Tool is a profiler that was found.
type Tool struct {
	Name    string // nsys or ncu
	Path    string
	Version string // "2025.3.1"; "": it would not say
	// Importer is the program that makes a report of what this nsys records, where nsys does not find it by itself:
	// that inside Nsight Compute. "": not needed, or not there.
	Importer string
}

func (t Tool) String() string {
	if t.Version == "" {
		return t.Name + " (" + t.Path + ")"
	}
	return t.Name + " " + t.Version + " (" + t.Path + ")"
}

// A NotFoundError says where a tool was looked for.
type NotFoundError struct {
	Name   string
	Looked []string
}

func (e *NotFoundError) Error() string {
	return fmt.Sprintf("%s: not found (looked in %s); %s", e.Name, strings.Join(e.Looked, ", "), e.try())
}

func (e *NotFoundError) try() string {
	if e.Name == "nsys" {
		return "install Nsight Systems (package nsight-systems or nsight-systems-cli of the CUDA repository), put " +
			"it on the PATH, or record without it: lacuna record -- PROGRAM"
	}
	return "install Nsight Compute (package nsight-compute of the CUDA repository, or the CUDA toolkit) and put it " +
		"on the PATH"
}

// search is the machine as its programs are found: paths begin at its root.
func (m Machine) search() nvtool.Machine { return nvtool.Machine{Root: os.DirFS(m.Root), Path: m.Path} }

// Find looks for nsys or ncu: on the PATH, then where NVIDIA's packages put them.
func (m Machine) Find(ctx context.Context, name string) (Tool, error) {
	t := Tool{Name: name}
	at, others := m.search().Find(name)
	if at == "" && len(others) > 0 {
		at = others[0]
	}
	if at == "" {
		return t, &NotFoundError{name, append([]string{"$PATH"}, nvtool.Places(name)...)}
	}
	t.Path = filepath.Join(m.Root, at)
	t.Version = versionOf(ctx, t.Path)
	if name == "nsys" {
		if importer := m.search().Importer(at); importer != "" {
			t.Importer = filepath.Join(m.Root, importer)
		}
	}
	return t, nil
}

// askFor is how long a tool may take to say its version: ncu starts Python.
const askFor = 30 * time.Second

func versionOf(ctx context.Context, path string) string {
	ctx, cancel := context.WithTimeout(ctx, askFor)
	defer cancel()
	var out strings.Builder
	cmd := exec.CommandContext(ctx, path, "--version")
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = &out, &out, time.Second
	_ = cmd.Run() // what it printed counts
	numbers := strings.Split(nvtool.Version(out.String()), ".")
	return strings.Join(numbers[:min(3, len(numbers))], ".") // the fourth is of the build
}

// isMissing says whether a program could not be started because it is not there.
func isMissing(err error) bool {
	return errors.Is(err, exec.ErrNotFound) || errors.Is(err, os.ErrNotExist)
}
