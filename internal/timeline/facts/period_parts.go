package facts

import (
	"regexp"
	"slices"
	"strings"

	"lacuna/internal/base/interval"
	"lacuna/internal/timeline/model"
)

// A partRange is a range that is called part of a model, with a number.
type partRange struct {
	startNs      int64
	thread       model.ThreadRow
	name, family string
}

// partRanges is all of them, by start.
func (f *Facts) partRanges() []partRange {
	return f.kept.partRanges.of(f, func(f *Facts) []partRange {
		t := f.Trace
		type named struct{ name, family string }
		parts := judge(&t.Strings, func(text string) named {
			text = emittedName(text)
			if loopWordOf(text) != wordPart || !strings.ContainsAny(text, "0123456789") {
				return named{}
			}
			return named{text, familyKey(text)}
		})
		var out []partRange
		for i, id := range t.Ranges.Name {
			if n := parts(id); n.name != "" {
				out = append(out, partRange{t.Ranges.StartNs[i], t.Ranges.Thread[i], n.name, n.family})
			}
		}
		return out
	})
}

// partsOf is what ranges call the pieces that begin with calls if that is parts of a model, each of them another one:
// blocks.3, blocks.4 are blocks.*. A step has all of them again. "": they do not.
func (f *Facts) partsOf(calls []int32) string {
	t := f.Trace
	if len(calls) < 2 {
		return ""
	}
	first, pieces := calls[0], len(calls)-1
	loop := interval.Span{StartNs: t.Calls.StartNs[first], EndNs: t.Calls.StartNs[calls[pieces]]}
	return f.partsWithin(loop, pieces, func(th model.ThreadRow) bool { return th == t.Calls.Thread[first] })
}

// partsWithin is partsOf of so many pieces that begin within loop, by the ranges of some threads.
func (f *Facts) partsWithin(loop interval.Span, pieces int, of func(model.ThreadRow) bool) string {
	names := make(map[string]map[string]int) // by family and name
	for _, r := range f.partRanges() {
		if loop.Contains(r.startNs) && of(r.thread) {
			if names[r.family] == nil {
				names[r.family] = make(map[string]int)
			}
			names[r.family][r.name]++
		}
	}
	found := ""
	for family, of := range names {
		most := 0
		for _, times := range of {
			most = max(most, times)
		}
		// None of them again, and a piece has about one; or several, if no second number can tell the turn.
		few := len(of) <= pieces+2 || strings.Count(family, "*") == 1 || isModulePath(family)
		if most == 1 && 2*len(of) > pieces && few && (found == "" || family < found) {
			found = family
		}
	}
	return found
}

// isModulePath says whether all that a family's names count is modules within others: encoder.block.*.layer.*.
func isModulePath(family string) bool {
	return strings.Count(family, "*") == strings.Count(family, ".*")+strings.Count(family, "[*]")
}

// updateKernel is kernels that hardly anything but optimizers launch.
var updateKernel = regexp.MustCompile(`(?i)multi_tensor_apply|adamw?[_<(]|fusedadam|_sgd_|lamb_`)

// updateKernels says of each row of Kernels whether it is one.
func (f *Facts) updateKernels() []bool {
	return f.kept.updateKernels.of(f, func(f *Facts) []bool {
		updates := judge(&f.Trace.Strings, updateKernel.MatchString)
		out := make([]bool, f.Trace.Kernels.Len())
		for i, id := range f.Trace.Kernels.Name {
			out[i] = updates(id)
		}
		return out
	})
}

// updatesUnevenly says whether an optimizer runs in some pieces and not in the others: they are batches whose
// gradients are accumulated, or phases, and the step has several.
func (f *Facts) updatesUnevenly(p *period) bool {
	with := f.updatesIn(p)
	return with > 0 && float64(with) < minBusyTurns*float64(p.pieces())
}

// updatesIn is in how many pieces an optimizer runs.
func (f *Facts) updatesIn(p *period) int {
	w, updates := f.Work(), f.updateKernels()
	with := 0
	for i := range p.pieces() {
		if slices.ContainsFunc(p.lane[p.edges[i]:p.edges[i+1]], func(row int32) bool {
			return w.Kind[row] == WorkKernel && updates[w.Row[row]]
		}) {
			with++
		}
	}
	return with
}

// groups says whether each piece has equally many of inner's, at least two. A kernel that comes with every so many
// pieces of a loop in which the host takes no part is what comes between the layers of one turn and those of the next:
// these differ from the others by too little to tell by likeness.
func (p *period) groups(inner *period) bool {
	want := 0
	for i := range p.pieces() {
		lo, _ := slices.BinarySearch(inner.edges, p.edges[i])
		hi, _ := slices.BinarySearch(inner.edges, p.edges[i+1])
		if n := hi - lo; want == 0 {
			want = n
		} else if n != want {
			return false
		}
	}
	return want >= 2
}
