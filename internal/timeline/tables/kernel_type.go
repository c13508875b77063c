package tables

import (
	"cmp"
	"math/bits"
	"slices"

	"lacuna/internal/base/unit"
	"lacuna/internal/timeline/facts"
)

var kernelType = Table{
	Name:  "kernel_type",
	Title: "One row per kind of work, alone or together with others, summed over ranks",
	Doc: `
Each instant in which a device is busy counts in one row: that of the kinds that run in it. COMPUTATION is
kernels and whole graphs, COMMUNICATION is communication kernels, MEMORY is copies and memsets. "COMPUTATION
overlapping MEMORY" is the time in which those two run and no third. sum adds up devices and ranks;
percentage is of the sum of all rows, both in whole microseconds as HTA has them. Most time first.
` + htaSelection,
	Origin: "HTA get_gpu_kernel_breakdown, first frame",
	Columns: []Column{
		{"kernel_type", unit.Text, "the kinds that run together"},
		{"sum", unit.Us, "time in which exactly those run, over all ranks"},
		{"percentage", unit.Percent1, "sum of the sum of all rows"},
	},
	Needs:     htaNeeds,
	Spares:    htaSpares,
	ManyRanks: true,
	Fill:      fillKernelType,
}

func fillKernelType(in []*facts.Facts, _ Args, out *Rows) error {
	ranks := htaRanks(in, out)
	var sums [htaAll + 1]int64
	for _, r := range ranks {
		lanes, rows := r.lanesOf(false)
		for _, lane := range lanes {
			unionNs, _ := r.coverage(rows[lane])
			for set := 1; set <= htaAll; set++ {
				sums[set] += exactlyNs(unionNs, set)
			}
		}
	}
	var sets []int
	var totalUs int64
	for set := 1; set <= htaAll; set++ {
		if sums[set] > 0 {
			sets = append(sets, set)
			totalUs += sums[set] / 1000
		}
	}
	slices.SortStableFunc(sets, func(a, b int) int { return cmp.Compare(sums[b], sums[a]) })
	for _, set := range sets {
		out.Add(Str(htaSetName(set)), Int(sums[set]), percentOf(sums[set]/1000, totalUs))
	}
	return nil
}

// exactlyNs is the time in which all kinds of set run and no other, from the unions by set. Inclusion and
// exclusion: the time in which each of set runs is the alternating sum of the time in which any of a part of it runs.
func exactlyNs(unionNs [htaAll + 1]int64, set int) int64 {
	var ns int64
	others := htaAll &^ set
	for part := set; part > 0; part = (part - 1) & set {
		anyNs := unionNs[others|part] - unionNs[others] // one of part runs, and none of the others
		if bits.OnesCount(uint(part))%2 == 0 {
			anyNs = -anyNs
		}
		ns += anyNs
	}
	return ns
}

func htaSetName(set int) string {
	name := ""
	for _, kind := range []struct {
		bit  int
		name string
	}{{htaCompute, "COMPUTATION"}, {htaComm, "COMMUNICATION"}, {htaMemory, "MEMORY"}} {
		if set&kind.bit == 0 {
			continue
		}
		if name != "" {
			name += " overlapping "
		}
		name += kind.name
	}
	return name
}
