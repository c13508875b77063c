package tables

import (
	"cmp"
	"slices"

	"lacuna/internal/base/unit"
	"lacuna/internal/timeline/facts"
	"lacuna/internal/timeline/model"
)

var cpuSum = Table{
	Name:  "cpu_sum",
	Title: "Host functions by CPU samples, most own samples first",
	Doc: `
A sample shows where a thread was on a CPU; a waiting thread has none. Own counts the samples in which the function
itself ran, All those in which it or anything that it called ran; a recursive function counts once per sample.
Shares are of the samples with a stack. Where callers are not known (code without frame pointers or call frame
information) All is too small.

Rows are ordered by Own, then by All, largest first, then by name; cpu_sum:callers orders by All, then by Own.`,
	Columns: []Column{
		{"Own", unit.Percent1, "samples in which it ran itself, of all"},
		{"All", unit.Percent1, "samples in which it or what it called ran, of all"},
		{"Own Samples", unit.Count, "samples in which it ran itself"},
		{"All Samples", unit.Count, "samples in which it or what it called ran"},
		{"Function", unit.Text, "name of the function"},
		{"Module", unit.Text, "program, library or kind of code that it is in"},
	},
	Args:  []Arg{{"callers", "", "most in All first: callers rather than workers"}},
	Needs: model.PartSamples,
	Fill:  fillCPUSum,
}

// A cpuFunction is what samples say of a function.
type cpuFunction struct {
	symbol, module model.StringID
	own, all       int64
	last           model.FrameRow // the innermost frame that was last counted in all
}

func fillCPUSum(in []*facts.Facts, args Args, out *Rows) error {
	t := in[0].Trace
	own := make([]int64, t.Frames.Len()) // samples by innermost frame
	var total int64
	for _, f := range t.Samples.Stack {
		if int(f) < len(own) {
			own[f]++
			total++
		}
	}
	if total == 0 {
		return &MissingError{"cpu_sum", "samples of the CPU with stacks",
			"record with lacuna record --sample or nsys profile --sample=process-tree"}
	}
	functions := cpuFunctions(&t.Frames, own)
	slices.SortFunc(functions, func(a, b *cpuFunction) int {
		own, all := cmp.Compare(b.own, a.own), cmp.Compare(b.all, a.all)
		if args.Has("callers") {
			own, all = all, own
		}
		return cmp.Or(own, all,
			cmp.Compare(t.Strings.Text(a.symbol), t.Strings.Text(b.symbol)),
			cmp.Compare(t.Strings.Text(a.module), t.Strings.Text(b.module)))
	})
	for _, f := range functions {
		out.Add(Float(100*float64(f.own)/float64(total)), Float(100*float64(f.all)/float64(total)), Int(f.own),
			Int(f.all),
			Str(t.Strings.Text(f.symbol)), Str(t.Strings.Text(f.module)))
	}
	return nil
}

// maxCallers bounds how far a stack is followed: a damaged file may say that a frame is its own caller.
const maxCallers = 4096

// cpuFunctions sums samples, given by innermost frame, by function: those that ran at all.
func cpuFunctions(frames *model.Frames, own []int64) []*cpuFunction {
	type key struct{ symbol, module model.StringID }
	byKey := make(map[key]*cpuFunction)
	of := make([]*cpuFunction, frames.Len())
	var out []*cpuFunction
	for i, symbol := range frames.Symbol {
		k := key{symbol: symbol}
		if i < len(frames.Module) {
			k.module = frames.Module[i]
		}
		if byKey[k] == nil {
			byKey[k] = &cpuFunction{symbol: k.symbol, module: k.module, last: model.NoFrame}
			out = append(out, byKey[k])
		}
		of[i] = byKey[k]
	}
	for i, n := range own {
		if n == 0 {
			continue
		}
		of[i].own += n
		f := model.FrameRow(i)
		for depth := 0; int(f) < len(of) && depth < maxCallers; depth++ {
			if of[f].last != model.FrameRow(i) {
				of[f].last, of[f].all = model.FrameRow(i), of[f].all+n
			}
			f = frames.Parent[f]
		}
	}
	return slices.DeleteFunc(out, func(f *cpuFunction) bool { return f.all == 0 })
}
