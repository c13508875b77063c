// Package measure holds what was measured of a program's runs, however it was measured: taken from a
// timeline, from a kernel report, or by the program itself with a clock. diff, check, bench and history
// compare runs and know nothing of where they came from.
package measure

import (
	"slices"
	"strings"

	"lacuna/internal/base/stat"
)

// A Run is one execution of a program.
type Run struct {
	Name       string // what the user calls it: its file, or a label
	Program    string // what ran; "" not known
	Started    int64  // seconds since 1970; 0: not known
	Tool       string // what watched it: "nsys", "torch.profiler", "ncu"; "": nothing did
	Machine    Machine
	Conditions []Condition // in the order of their names
	Labels     []Pair      // commit, branch, and what the user adds; in the order of their names
	Profile    string      // the profile that the measures are from, or that goes with them; "" none
	Measures   []Measure   // in the order of their names

	// StepKind is of which kind and size the steps are that a serving engine marks: "decode@32". "" is not known, and
	// equals anything: runs of different kinds of steps cannot be compared.
	StepKind string
}

// A Machine is what must be equal for two runs to be comparable. "" is not known, and equals anything.
type Machine struct {
	Host      string // not compared: machines of one kind are interchangeable until they prove not to be
	GPU       string // "NVIDIA H200"
	GPUs      int
	Driver    string
	CUDA      string
	Clocks    string // the policy: "locked 1980 MHz", "default"
	Libraries []Pair // torch 2.11.0+cu130, in the order of their names
}

// A Pair is a thing said with its name.
type Pair struct{ Name, Value string }

// A Condition is what else was true of the machine meanwhile: evidence, not blame.
type Condition struct {
	Name             string // "sm_mhz", "power_w", "temperature_c", "throttle", "others"
	Min, Median, Max float64
	Text             string // of conditions that are no number: throttle reasons, other processes
}

// A Better says which way is good.
type Better uint8

// The ways.
const (
	Lower Better = iota
	Higher
	Neither // a count to be kept as it is, such as registers of a kernel
)

var betterNames = [...]string{"lower", "higher", "neither"}

func (b Better) String() string { return betterNames[b] }

// A Measure is one thing measured of a run.
//
// Names are: step; kernel:NAME, op:NAME, range:NAME (ms of each per step); launches, copies (a step);
// gpu_busy (share of the step); comm_exposed, idle, copy, compute (ms of the step); copied (bytes a step);
// peak_memory (bytes); of a serving engine KIND_ms@SIZE (ms of its steps of a kind and size, such as decode_ms@32)
// and itl (ms between two tokens of a running request); of a kernel report kernel:NAME:duration, :registers,
// :spills, :occupancy, :dram_bytes, :sm, :memory (speed of light); and whatever a program measures of itself.
type Measure struct {
	Name    string
	Unit    string // "ms", "bytes", "count", "share", "%", or the program's own
	Better  Better
	Samples []float64 // of each step or repeat, in order; never empty
}

// Find is the run's measure of that name; nil: not measured.
func (r *Run) Find(name string) *Measure {
	i, ok := slices.BinarySearchFunc(r.Measures, name,
		func(m Measure, name string) int { return strings.Compare(m.Name, name) })
	if !ok {
		return nil
	}
	return &r.Measures[i]
}

// Sort puts everything of the run in the order of its names, as Find and writers need it.
func (r *Run) Sort() {
	byName := func(a, b Pair) int { return strings.Compare(a.Name, b.Name) }
	slices.SortStableFunc(r.Measures, func(a, b Measure) int { return strings.Compare(a.Name, b.Name) })
	slices.SortStableFunc(r.Conditions, func(a, b Condition) int { return strings.Compare(a.Name, b.Name) })
	slices.SortStableFunc(r.Labels, byName)
	slices.SortStableFunc(r.Machine.Libraries, byName)
}

// Names is the name of every measure of any of the runs, in order.
func Names(runs []*Run) []string {
	var out []string
	for _, r := range runs {
		for _, m := range r.Measures {
			out = append(out, m.Name)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Samples is one measure's samples in each run that has it.
func Samples(runs []*Run, name string) (out [][]float64) {
	for _, r := range runs {
		if m := r.Find(name); m != nil {
			out = append(out, m.Samples)
		}
	}
	return out
}

// Compare asks whether a measure moved between two sets of runs.
func Compare(before, after []*Run, name string, q stat.Question) stat.Effect {
	q.Before, q.After = Samples(before, name), Samples(after, name)
	return stat.Compare(q)
}
