// Package nsight drives NVIDIA's own profilers: it finds nsys and ncu on a machine, makes the command line that suits a
// goal, runs it, makes a file of the result that lacuna reads, and says what to do when one of them fails. It also
// chooses which launches of a timeline's hot kernels ncu is to profile.
package nsight

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A Machine is where tools are looked for.
type Machine struct {
	Root string // of the file system; "/" but in tests
	Path string // directories as in $PATH
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
		return "install Nsight Systems (package nsight-systems or nsight-systems-cli of the CUDA repository), put it on the PATH, or record without it: lacuna record -- PROGRAM"
	}
	return "install Nsight Compute (package nsight-compute of the CUDA repository, or the CUDA toolkit) and put it on the PATH"
}

// places is where each tool lies when it is not on the PATH, most wanted first; of several versions the highest is taken.
func places(name string) []string {
	if name == "ncu" {
		return []string{"usr/local/cuda/bin/ncu", "usr/local/cuda-*/bin/ncu", "opt/nvidia/nsight-compute/*/ncu", "opt/nvidia/nsight-compute/*/target/*/ncu"}
	}
	return []string{"opt/nvidia/nsight-systems/*/bin/nsys", "opt/nvidia/nsight-systems/*/target-linux-*/nsys", "opt/nvidia/nsight-systems-cli/*/bin/nsys",
		"opt/nvidia/nsight-systems-cli/*/target-linux-*/nsys", "usr/local/cuda/bin/nsys", "usr/local/cuda-*/bin/nsys", "opt/nvidia/nsight-compute/*/host/target-linux-*/nsys"}
}

// Find looks for nsys or ncu: on the PATH, then where NVIDIA's packages put them.
func (m Machine) Find(ctx context.Context, name string) (Tool, error) {
	t := Tool{Name: name, Path: m.onPath(name)}
	looked := []string{"$PATH"}
	for _, place := range places(name) {
		looked = append(looked, "/"+place)
		if t.Path == "" {
			t.Path = newest(filepath.Join(m.Root, place))
		}
	}
	if t.Path == "" {
		return t, &NotFoundError{name, looked}
	}
	t.Version = versionOf(ctx, t.Path)
	if name == "nsys" {
		t.Importer = m.importer(t.Path)
	}
	return t, nil
}

// onPath is the first program of a name in the directories of the PATH; "": none.
func (m Machine) onPath(name string) string {
	for _, dir := range filepath.SplitList(m.Path) {
		if path := filepath.Join(dir, name); dir != "" && runnable(path) {
			return path
		}
	}
	return ""
}

func runnable(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.Mode().IsRegular() && st.Mode().Perm()&0o111 != 0
}

// newest is the program that a pattern matches, of several the one of the highest version.
func newest(pattern string) string {
	all, _ := filepath.Glob(pattern) // the only error is a pattern that is none
	all = slices.DeleteFunc(all, func(path string) bool { return !runnable(path) })
	if len(all) == 0 {
		return ""
	}
	return slices.MaxFunc(all, func(a, b string) int { return cmp.Or(slices.Compare(numbersIn(a), numbersIn(b)), cmp.Compare(a, b)) })
}

var digits = regexp.MustCompile(`\d+`)

// numbersIn is the numbers of a path in order: versions compare by them and not as text (2025.10 is after 2025.3).
func numbersIn(path string) (out []int) {
	for _, d := range digits.FindAllString(path, -1) {
		n, err := strconv.Atoi(d)
		if err == nil {
			out = append(out, n)
		}
	}
	return out
}

// versionLine is what both tools print: "NVIDIA Nsight Systems version 2025.3.1.90-253135822126v0",
// "Version 2025.3.1.0 (build 36398880) (public-release)".
var versionLine = regexp.MustCompile(`(?i)\bversion (\d{4}\.\d+\.\d+)`)

// askFor is how long a tool may take to say its version: ncu starts Python.
const askFor = 30 * time.Second

func versionOf(ctx context.Context, path string) string {
	ctx, cancel := context.WithTimeout(ctx, askFor)
	defer cancel()
	var out strings.Builder
	cmd := exec.CommandContext(ctx, path, "--version")
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = &out, &out, time.Second
	_ = cmd.Run() // what it printed counts
	if found := versionLine.FindStringSubmatch(out.String()); found != nil {
		return found[1]
	}
	return ""
}

// importer is the QdstrmImporter that belongs to an nsys. An nsys that is installed as a whole finds it by itself; in the
// folder of Nsight Compute it lies beside, where nsys does not look, and Debian splits the two over /usr/lib.
func (m Machine) importer(nsys string) string {
	real, err := filepath.EvalSymlinks(nsys)
	if err != nil {
		real = nsys
	}
	host := filepath.Dir(filepath.Dir(real)) // of …/target-linux-x64/nsys or …/bin/nsys
	for _, pattern := range []string{
		filepath.Join(host, "linux-desktop-*", "QdstrmImporter"), filepath.Join(host, "host-linux-*", "QdstrmImporter"),
		filepath.Join(m.Root, "usr/lib/nsight-systems/host-linux-*/QdstrmImporter"),
	} {
		if path := newest(pattern); path != "" {
			return path
		}
	}
	return ""
}

// isMissing says whether a program could not be started because it is not there.
func isMissing(err error) bool {
	return errors.Is(err, exec.ErrNotFound) || errors.Is(err, os.ErrNotExist)
}
