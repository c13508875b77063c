package nsight

import (
	"regexp"
	"strconv"
	"strings"
	"time"
)

// A Command is a call of a tool.
type Command struct {
	Env  []string // NAME=VALUE that it needs beside the environment
	Args []string
}

// Words is the command as it would be typed, each word quoted by quote.
func (c Command) Words(quote func(string) string) string {
	var words []string
	for _, e := range c.Env {
		name, value, _ := strings.Cut(e, "=")
		words = append(words, name+"="+quote(value))
	}
	for _, a := range c.Args {
		words = append(words, plain(a, quote))
	}
	return strings.Join(words, " ")
}

// plain leaves a flag as it is: quoters take a word that begins with a dash for a file's name.
func plain(word string, quote func(string) string) string {
	if rest, ok := strings.CutPrefix(word, "--"); ok && rest != "" && quote(rest) == rest {
		return word
	}
	if len(word) == 2 && word[0] == '-' {
		return word
	}
	return quote(word)
}

// A Timeline is what nsys is asked to record.
type Timeline struct {
	Output  string // of the report, without its ending
	Program []string
	// Graph is node (every kernel of a CUDA graph, at a price for each) or graph (the graph as a whole); "": nsys'
	// default.
	Graph  string
	Memory bool // also the device memory in use
	// Profiler: only between cudaProfilerStart and Stop.
	Profiler bool
	Range    string        // only inside the first NVTX range of this name; "": all
	Delay    time.Duration // begin so late
	Duration time.Duration // end then; 0: with the program
	Extra    []string      // options as given by the user
}

// registerOnly makes nsys look at every NVTX range of --capture-range=nvtx: as it comes it compares only strings that
// the program has registered, which neither PyTorch nor most others do, and then records nothing at all.
const registerOnly = "NSYS_NVTX_PROFILER_REGISTER_ONLY=0"

// Command is the call of nsys. It never traces the operating system's calls nor samples: both put every loaded library
// into the report, which makes gigabytes of it. Whatever ends the recording, the program runs on.
func (g Timeline) Command(nsys string) Command {
	c := Command{Args: []string{nsys, "profile", "--trace=cuda,nvtx", "--sample=none", "--cpuctxsw=none"}}
	add := func(words ...string) { c.Args = append(c.Args, words...) }
	if g.Graph != "" {
		add("--cuda-graph-trace=" + g.Graph)
	}
	if g.Memory {
		add("--cuda-memory-usage=true")
	}
	switch {
	case g.Profiler:
		add("--capture-range=cudaProfilerApi", "--capture-range-end=stop")
	case g.Range != "":
		c.Env = append(c.Env, registerOnly)
		add("--capture-range=nvtx", "--nvtx-capture="+g.Range+"@*", "--capture-range-end=stop")
	}
	if g.Delay > 0 {
		add("--delay=" + seconds(g.Delay))
	}
	if g.Duration > 0 {
		add("--duration=" + seconds(g.Duration))
	}
	if g.Duration > 0 || g.Profiler || g.Range != "" {
		add("--kill=none", "--wait=all")
	}
	add(g.Extra...)
	add("--output="+g.Output, "--force-overwrite=true")
	add(g.Program...)
	return c
}

// seconds is a time in whole seconds, the unit that nsys takes; at least one.
func seconds(d time.Duration) string {
	return strconv.FormatInt(max(1, int64((d+time.Second-1)/time.Second)), 10)
}

// Clocks of ncu's --clock-control.
const (
	ClockBase = "base" // locked to the base clock: what two reports are compared at
	ClockNone = "none" // left alone
)

// Launches is what ncu is asked to profile.
type Launches struct {
	Output   string // of the report, without its ending
	Program  []string
	Set      string // of sections; "": full
	Name     string // a regular expression of kernels' names; "": every kernel
	NameBase string // what it is matched with: function, demangled or mangled; "": ncu's default, function
	Skip     int    // so many launches that match
	Count    int    // then profile so many; 0: all that are left
	Range    string // only inside this push/pop NVTX range; "": anywhere
	Threads  bool   // launches by any thread while it is open, not only by the one that opened it
	Clock    string // ClockBase or ClockNone
	Log      string // file for ncu's own messages; "": among the program's
	Extra    []string
}

// Command is the call of ncu.
func (g Launches) Command(ncu string) Command {
	set := g.Set
	if set == "" {
		set = "full"
	}
	c := Command{Args: []string{ncu, "--set", set, "--import-source", "yes", "--target-processes", "all",
		"--clock-control", g.Clock}}
	add := func(words ...string) { c.Args = append(c.Args, words...) }
	if g.NameBase != "" && g.Name != "" {
		add("--kernel-name-base", g.NameBase)
	}
	if g.Name != "" {
		add("--kernel-name", "regex:"+g.Name)
	}
	if g.Range != "" {
		add("--nvtx", "--nvtx-include", rangeFilter(g.Range))
		if g.Threads {
			add("--nvtx-push-pop-scope", "process")
		}
	}
	if g.Skip > 0 {
		add("--launch-skip", strconv.Itoa(g.Skip))
	}
	if g.Count > 0 {
		add("--launch-count", strconv.Itoa(g.Count))
	}
	if g.Log != "" {
		add("--log-file", g.Log)
	}
	add(g.Extra...)
	add("--force-overwrite", "--export", g.Output)
	add(g.Program...)
	return c
}

// quantifiers is what means something in ncu's expressions of ranges and is to be taken as it is.
var quantifiers = regexp.MustCompile(`[@,\[\]/*+]`)

// rangeFilter is ncu's expression of a push/pop range of the default domain by its whole name; the slash at the end
// says that it is one of push and pop.
func rangeFilter(name string) string { return quantifiers.ReplaceAllString(name, `\$0`) + "/" }
