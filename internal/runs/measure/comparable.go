package measure

import (
	"fmt"
	"slices"
	"strings"
)

// Differences says in what two sets of runs differ so that a comparison of their times means little:
// GPU, driver, CUDA, clocks, libraries. Each in words; nothing: they are comparable as far as is known.
func Differences(before, after []*Run) (out []string) {
	for _, f := range machineFields() {
		if text := differs(f.name, valuesOf(before, f.of), valuesOf(after, f.of)); text != "" {
			out = append(out, text)
		}
	}
	for _, name := range libraries(before, after) {
		of := func(r *Run) string { return find(r.Machine.Libraries, name) }
		if text := differs(name, valuesOf(before, of), valuesOf(after, of)); text != "" {
			out = append(out, text)
		}
	}
	return out
}

// ToolsDiffer says that two sets of runs were watched by different profilers, which slow what they watch
// by different amounts; "": they were not.
func ToolsDiffer(before, after []*Run) string {
	return differs("profiler", valuesOf(before, toolOf), valuesOf(after, toolOf))
}

func toolOf(r *Run) string {
	if r.Tool == "" {
		return "none"
	}
	return r.Tool
}

// A field is something of a run that must be equal.
type field struct {
	name string
	of   func(*Run) string
}

// driverAPI begins a driver of which only the version of CUDA that it implements is known, as timelines have it: that
// can be compared with its like only.
const driverAPI = "API "

func machineFields() []field {
	return []field{
		{"GPU", func(r *Run) string { return r.Machine.GPU }},
		{"number of GPUs", func(r *Run) string {
			if r.Machine.GPUs == 0 {
				return ""
			}
			return fmt.Sprint(r.Machine.GPUs)
		}},
		{"driver", func(r *Run) string {
			if strings.HasPrefix(r.Machine.Driver, driverAPI) {
				return ""
			}
			return r.Machine.Driver
		}},
		{"driver's API", func(r *Run) string {
			api, _ := strings.CutPrefix(r.Machine.Driver, driverAPI)
			if api == r.Machine.Driver {
				return ""
			}
			return api
		}},
		{"CUDA", func(r *Run) string { return r.Machine.CUDA }},
		{"clocks", func(r *Run) string { return r.Machine.Clocks }},
		{"kind of step", func(r *Run) string { return r.StepKind }},
	}
}

// differs says that two sides have different values: what is not known equals anything.
func differs(name string, before, after []string) string {
	all := slices.Compact(slices.Sorted(slices.Values(append(slices.Clone(before), after...))))
	if len(all) < 2 || len(before) == 0 || len(after) == 0 {
		return ""
	}
	if slices.Equal(before, after) {
		return fmt.Sprintf("%s differs within both sides: %s", name, list(all))
	}
	return fmt.Sprintf("%s: before %s, after %s", name, list(before), list(after))
}

func list(values []string) string {
	if len(values) == 1 {
		return values[0]
	}
	return fmt.Sprintf("%s and %d more", values[0], len(values)-1)
}

// valuesOf is the different known values of a field, in order.
func valuesOf(runs []*Run, of func(*Run) string) []string {
	var out []string
	for _, r := range runs {
		if v := of(r); v != "" {
			out = append(out, v)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// libraries is every library that both sides name.
func libraries(before, after []*Run) []string {
	names := func(runs []*Run) (out []string) {
		for _, r := range runs {
			for _, p := range r.Machine.Libraries {
				out = append(out, p.Name)
			}
		}
		slices.Sort(out)
		return slices.Compact(out)
	}
	have := names(after)
	return slices.DeleteFunc(names(before), func(n string) bool { _, ok := slices.BinarySearch(have, n); return !ok })
}

func find(pairs []Pair, name string) string {
	for _, p := range pairs {
		if p.Name == name {
			return p.Value
		}
	}
	return ""
}
