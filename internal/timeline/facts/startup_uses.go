package facts

import (
	"slices"

	"lacuna/internal/base/interval"
	"lacuna/internal/timeline/model"
)

// What a first step does and no call says: CUDA loads a kernel's code when it is first launched, within the call that
// launches it; managed memory moves to the GPU when it is first touched there.
const (
	firstUse = "loads code at its first use"
	migrates = "moves managed memory"
)

// How long a call must take to have loaded code: a driver's call takes a few microseconds. 20 times the usual is no
// ordinary one, and less than a tenth of a millisecond loads nothing from a file.
const (
	loadRatio = 20
	loadNs    = 100_000
)

// firstUses is when calls began that launch a kernel for the first time in the capture and last as long as loading it.
func (f *Facts) firstUses() []int64 {
	t, w := f.Trace, f.Work()
	first := make(map[model.StringID]int32) // call
	var durs []int64
	for i, call := range w.Call {
		if call == NoCall || w.Kind[i] != WorkKernel {
			continue
		}
		durs = append(durs, t.Calls.DurNs[call])
		name := t.Kernels.Name[w.Row[i]]
		if c, known := first[name]; !known || call < c {
			first[name] = call
		}
	}
	least := max(loadNs, loadRatio*medianOf(durs))
	var out []int64
	for _, call := range first {
		if t.Calls.DurNs[call] >= least {
			out = append(out, t.Calls.StartNs[call])
		}
	}
	slices.Sort(out)
	return out
}

// migrationsIn is how many pieces of managed memory move during each step.
func (f *Facts) migrationsIn(steps []interval.Span) []int {
	w := f.Work()
	out := make([]int, len(steps))
	starts := startsOf(steps)
	for i := range w.Len() {
		if !f.isMigration(i) {
			continue
		}
		k, exact := slices.BinarySearch(starts, w.StartNs[i])
		if !exact {
			k--
		}
		if k >= 0 && w.StartNs[i] < steps[k].EndNs {
			out[k]++
		}
	}
	return out
}
