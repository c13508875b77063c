package facts

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"lacuna/internal/timeline/model"
)

// A Failure is what shows that a program failed, or that it never came to its work.
type Failure struct {
	Kernels   int          // kernels, graphs and collectives that ran
	Fill      string       // "", or the kernel that runs most, if all of them only fill memory
	Calls     []FailedCall // most first
	Line      string       // what the program wrote when it ended with an error; "": nothing, or not recorded
	Unwatched bool         // the capture has no GPU work, or kernels are not recorded: what ran is unknown
}

// A FailedCall is a call that returned an error that stops a program, or that says that memory is short.
type FailedCall struct {
	Name  string
	Code  int32
	What  string // of the code, in words
	Count int
	Fatal bool // the context cannot be used after it
}

// failures is error codes of CUDA, the same in its runtime and driver API, in words. Others are answers to questions
// (not ready, not supported, an address that is of the host), and say nothing of the program.
var failures = map[int32]struct {
	what  string
	fatal bool
}{
	2:   {"out of memory", false},
	209: {"no kernel image for this device", true},
	222: {"the PTX was made by a newer toolkit", true},
	700: {"illegal address", true},
	701: {"too many resources requested for a launch", false},
	702: {"launch timed out", true},
	710: {"an assertion failed on the device", true},
	714: {"hardware stack error", true},
	715: {"illegal instruction", true},
	716: {"misaligned address", true},
	717: {"invalid address space", true},
	718: {"invalid program counter", true},
	719: {"launch failure", true},
}

// launchFailures is codes that say something of the program only where a kernel was to be launched.
var launchFailures = map[int32]string{1: "invalid value", 9: "invalid configuration", 98: "invalid device function",
	13: "invalid symbol", 400: "invalid handle"}

// fillKernel is kernels that only give memory a value, by the words of the names of compilers' and libraries' own.
var fillKernel = regexp.MustCompile(`(?i)(^|[^a-z])(fill|memset)`)

// endsInError is lines that programs end with when they fail, and notError what only looks like one: a
// figure, a warning.
var (
	endsInError = regexp.MustCompile(`^\s*(fatal )?error\b|panicked at|^terminate called|Traceback \(most recent call last\)|` +
		`Segmentation fault|CUDA_ERROR_[A-Z]|cudaError[A-Z]|(?i:cuda (runtime )?error|out of memory|core dumped)|^Aborted|` +
		`^FATAL|^\w*(Error|Exception): |can't open file|^\w[^:]*: error:|(?i:^\s*error:)`)
	notError = regexp.MustCompile(`(?i:\bwarn(ing)?\b)|: [WI] |^[WI][0-9]{4}|(?i)error\w*\s*[:=]?\s*[-+]?[0-9.]+\s*(e[-+]?[0-9]+)?\s*%?\s*$`)
)

// lastLines is how many lines of a program's output are its end.
const lastLines = 12

// Failure looks for what shows that the program failed.
func (f *Facts) Failure() Failure {
	x := Failure{Calls: f.failedCalls(), Line: f.errorLine()}
	w, names := f.Work(), make(map[string]int)
	for i := range w.Len() {
		if !w.Kind[i].IsCompute() && w.Kind[i] != WorkComm {
			continue
		}
		if x.Kernels++; w.Kind[i] == WorkKernel {
			names[f.Trace.Strings.Text(f.Trace.Kernels.Name[w.Row[i]])]++
		} else {
			names[""]++
		}
	}
	most := 0
	for name, n := range names {
		switch {
		case !fillKernel.MatchString(name):
			x.Fill, most = "", x.Kernels+1
		case n > most || n == most && name < x.Fill:
			x.Fill, most = name, n
		}
	}
	x.Unwatched = w.Len() == 0
	for _, l := range f.launchCalls() {
		if x.Kernels == 0 && at(f.Trace.Calls.Return, int(l.call), 0) == 0 {
			x.Unwatched = true
		}
	}
	return x
}

// failedCalls is the calls that failed.
func (f *Facts) failedCalls() []FailedCall {
	t := f.Trace
	type key struct {
		name string
		code int32
	}
	by := make(map[key]*FailedCall)
	launch := make(map[int32]bool)
	for _, l := range f.launchCalls() {
		launch[l.call] = true
	}
	for i, code := range t.Calls.Return {
		known, ok := failures[code]
		if what, bad := launchFailures[code]; bad && launch[int32(i)] {
			known.what, known.fatal, ok = what, false, true
		}
		if code == 0 || !ok {
			continue
		}
		k := key{f.CallName(int32(i)), code}
		if by[k] == nil {
			by[k] = &FailedCall{Name: k.name, Code: code, What: known.what, Fatal: known.fatal}
		}
		by[k].Count++
	}
	var out []FailedCall
	for _, c := range by {
		out = append(out, *c)
	}
	slices.SortFunc(out, func(a, b FailedCall) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Code, b.Code))
	})
	return out
}

// errorLine is the last line with which a process ended in an error, of standard error first.
func (f *Facts) errorLine() string {
	for _, of := range []func(p *model.Process) string{
		func(p *model.Process) string { return p.Stderr }, func(p *model.Process) string { return p.Stdout }} {
		for i := range f.Trace.Processes {
			lines := strings.Split(strings.TrimSpace(of(&f.Trace.Processes[i])), "\n")
			lines = lines[max(0, len(lines)-lastLines):]
			for k := len(lines) - 1; k >= 0; k-- {
				line := strings.TrimSpace(lines[k])
				if endsInError.MatchString(line) && !notError.MatchString(line) {
					return line
				}
			}
		}
	}
	return ""
}
