package compare

import (
	"slices"
	"strings"

	"lacuna/internal/base/stat"
	"lacuna/internal/kernel/kernelname"
	"lacuna/internal/runs/measure"
)

// reportScatter is how much launches of one kernel on the same work scatter under ncu, which locks the clocks, as the
// standard deviation of the logarithm: seven of nine kernels that public reports launch 2 to 9 times scatter by less
// than
// 0.8 % in time and the shares of peak, the other two by much more, as their launches do not have the same work.
const (
	reportScatter     = 0.01
	reportScatterRuns = 9
)

// fixedMetrics are the metrics of a kernel that do not scatter at all: the compiler and the launch decide them.
var fixedMetrics = [...]string{":registers", ":spills", ":occupancy_theoretical"}

// reportNoise is what is known of a measure of kernel reports.
func reportNoise(name string) stat.Noise {
	for _, m := range fixedMetrics {
		if strings.HasSuffix(name, m) {
			return stat.Noise{SD: 0, Runs: 1}
		}
	}
	return stat.Noise{SD: reportScatter, Runs: reportScatterRuns}
}

// ofReports says whether runs are kernel reports: what a tool measured of them is measures of kernels, and no step.
func ofReports(runs []*measure.Run) bool {
	return len(runs) > 0 && !slices.ContainsFunc(runs, func(r *measure.Run) bool { return !ofReport(r) })
}

func ofReport(r *measure.Run) bool {
	other := func(m measure.Measure) bool { return !strings.HasPrefix(m.Name, kernelPrefix) }
	return r.Tool != "" && !slices.ContainsFunc(r.Measures, other)
}

// kernelPrefix begins the names of a kernel's measures.
const kernelPrefix = "kernel:"

// kernelOf divides the name of a kernel's measure into the kernel and the metric, with its colon.
func kernelOf(measure string) (kernel, metric string, ok bool) {
	rest, ok := strings.CutPrefix(measure, kernelPrefix)
	at := strings.LastIndexByte(rest, ':')
	if !ok || at <= 0 || rest[at-1] == ':' {
		return "", "", false
	}
	return rest[:at], rest[at:], true
}

// pairReports gives kernels of reports that do the same work one name, "BEFORE -> AFTER" where they have two: those
// whose names differ in template arguments or tiles only, and what is left where that is one kernel on each side. The
// runs are copied.
func pairReports(before, after []*measure.Run) (b, a []*measure.Run) {
	names := [2][]string{kernelNames(before), kernelNames(after)}
	m := &matcher{before: kernelsCalled(names[0]), after: kernelsCalled(names[1]),
		left: [2][]int{all(len(names[0])), all(len(names[1]))}}
	m.byKey(byName, func(k *Kernel) string { return k.Name }, false)
	m.byKey(byName, func(k *Kernel) string { return k.names.Base + " " + k.names.Words }, false)
	m.byKey(byStem, func(k *Kernel) string { return k.names.Stem() }, false)
	if len(m.left[0]) == 1 && len(m.left[1]) == 1 {
		m.take(pair{slices.Clone(m.left[0]), slices.Clone(m.left[1]), byPlace})
	}
	renamed := [2]map[string]string{make(map[string]string), make(map[string]string)}
	for _, p := range m.pairs {
		from, to := names[0][p.before[0]], names[1][p.after[0]]
		if from != to {
			both := from + " -> " + to
			renamed[0][from], renamed[1][to] = both, both
		}
	}
	return renameKernels(before, renamed[0]), renameKernels(after, renamed[1])
}

func kernelNames(runs []*measure.Run) (out []string) {
	for _, n := range measure.Names(runs) {
		if k, _, ok := kernelOf(n); ok {
			out = append(out, k)
		}
	}
	return slices.Compact(out)
}

func kernelsCalled(names []string) []Kernel {
	out := make([]Kernel, len(names))
	for i, n := range names {
		out[i] = Kernel{Name: n, names: kernelname.Of(n), place: float64(i)}
	}
	return out
}

func renameKernels(runs []*measure.Run, to map[string]string) []*measure.Run {
	if len(to) == 0 {
		return runs
	}
	out := make([]*measure.Run, len(runs))
	for i, r := range runs {
		one := *r
		one.Measures = slices.Clone(r.Measures)
		for j := range one.Measures {
			if k, metric, ok := kernelOf(one.Measures[j].Name); ok && to[k] != "" {
				one.Measures[j].Name = kernelPrefix + to[k] + metric
			}
		}
		one.Sort()
		out[i] = &one
	}
	return out
}
