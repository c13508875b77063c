package doctor

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"lacuna/internal/capture/nvml"
	"lacuna/internal/capture/nvtool"
)

// An exam is a machine with what several checks want to know of it, looked up once.
type exam struct {
	*Machine
	ctx     context.Context
	library nvml.Library // nil: there is none
	noNVML  error        // why
	cuda    string       // path of libcuda.so.1; "": not found
	python  interpreter
	inside  sandbox
	caps    uint64 // this process's effective capabilities
}

// runLimit is how long a program that tells its version may take.
const runLimit = 10 * time.Second

func newExam(ctx context.Context, m *Machine) *exam {
	x := &exam{Machine: m, ctx: ctx}
	x.library, x.noNVML = m.NVML()
	x.cuda = x.findLibrary("libcuda.so.1")
	x.inside = x.sandbox()
	x.python = x.interpreter()
	for line := range strings.Lines(x.read("/proc/self/status")) {
		if hex, ok := strings.CutPrefix(line, "CapEff:"); ok {
			x.caps, _ = strconv.ParseUint(strings.TrimSpace(hex), 16, 64)
		}
	}
	return x
}

func (x *exam) close() {
	if x.library != nil {
		x.library.Close()
	}
}

// The capabilities that profiling asks for, as bits (linux/capability.h).
const (
	capSysAdmin = 21
	capPerfmon  = 38
)

func (x *exam) can(capability int) bool { return x.caps>>capability&1 == 1 }

// maxRead is how much of a file is read: those in /proc and the like have no size before.
const maxRead = 4 << 20

// read is a file's text; "" if there is none or it cannot be read.
func (x *exam) read(name string) string {
	f, err := x.Root.Open(nvtool.InFS(name))
	if err != nil {
		return ""
	}
	defer f.Close()
	var b bytes.Buffer
	chunk := make([]byte, 1<<15)
	for b.Len() < maxRead {
		n, err := f.Read(chunk)
		b.Write(chunk[:n])
		if err != nil {
			break
		}
	}
	return b.String()
}

// line is a file's text without its end.
func (x *exam) line(name string) string { return strings.TrimSpace(x.read(name)) }

func (x *exam) exists(name string) bool {
	_, err := fs.Stat(x.Root, nvtool.InFS(name))
	return err == nil
}

// glob is the absolute paths that match, sorted.
func (x *exam) glob(pattern string) (out []string) {
	found, _ := fs.Glob(x.Root, nvtool.InFS(pattern))
	for _, f := range found {
		out = append(out, "/"+f)
	}
	slices.Sort(out)
	return out
}

// real is a path without links in it: two names of one file are one.
func (x *exam) real(name string) string { return nvtool.Machine{Root: x.Root}.Real(name) }

// lookPath finds a program as a shell does; "": there is none.
func (x *exam) lookPath(program string) string { return x.programs().LookPath(program) }

func (x *exam) programs() nvtool.Machine { return nvtool.Machine{Root: x.Root, Path: x.Env("PATH")} }

// ask runs a program for a short time.
func (x *exam) ask(program string, args ...string) (string, error) {
	return x.askFor(runLimit, program, args...)
}

func (x *exam) askFor(limit time.Duration, program string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(x.ctx, limit)
	defer cancel()
	return x.Run(ctx, program, args...)
}

// findLibrary finds a library where the loader would: LD_LIBRARY_PATH, its cache, the system's folders.
func (x *exam) findLibrary(name string) string {
	for _, dir := range strings.Split(x.Env("LD_LIBRARY_PATH"), ":") {
		if path.IsAbs(dir) && x.exists(path.Join(dir, name)) {
			return path.Join(dir, name)
		}
	}
	for at := range strings.SplitSeq(x.read("/etc/ld.so.cache"), "\x00") { // its paths are strings that end in 0
		if strings.HasPrefix(at, "/") && path.Base(at) == name && x.exists(at) {
			return at
		}
	}
	for _, dir := range []string{"/lib64", "/usr/lib64", "/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu",
		"/lib/aarch64-linux-gnu",
		"/usr/lib/aarch64-linux-gnu", "/usr/lib", "/usr/local/nvidia/lib64", "/usr/lib/wsl/lib",
		"/run/opengl-driver/lib"} {
		if at := path.Join(dir, name); x.exists(at) {
			return at
		}
	}
	return ""
}

// A process is one that /proc shows.
type process struct {
	pid  int
	name string
}

// processes is those of the given names (at most 15 bytes each, as the kernel keeps them), by ID.
func (x *exam) processes(names ...string) (out []process) {
	for _, at := range x.glob("/proc/[0-9]*/comm") {
		name := x.line(at)
		if slices.Contains(names, name) {
			pid, _ := strconv.Atoi(path.Base(path.Dir(at)))
			out = append(out, process{pid, name})
		}
	}
	slices.SortFunc(out, func(a, b process) int { return a.pid - b.pid })
	return out
}

// version is the numbers in front of a text: "580.159.04" is 580, 159, 4.
func version(text string) (out []int) {
	for part := range strings.SplitSeq(strings.TrimLeft(text, "v"), ".") {
		digits := 0
		for digits < len(part) && part[digits] >= '0' && part[digits] <= '9' {
			digits++
		}
		n, err := strconv.Atoi(part[:digits])
		if err != nil {
			break
		}
		if out = append(out, n); digits < len(part) {
			break
		}
	}
	return out
}

// older says whether version a comes before b, both as text.
func older(a, b string) bool { return slices.Compare(version(a), version(b)) < 0 }

// bytesWords is a size as nvidia-smi and df -h count.
func bytesWords(n int64) string {
	switch {
	case n >= 10<<30:
		return fmt.Sprintf("%d GiB", n>>30)
	case n >= 1<<30:
		return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
	}
	return fmt.Sprintf("%d MiB", n>>20)
}
