package tables

import (
	"maps"
	"math"
	"slices"
	"strings"

	"lacuna/internal/base/unit"
	"lacuna/internal/timeline/facts"
)

var memBW = Table{
	Name:  "mem_bw",
	Title: "One row per kind of copy: the bandwidth that its copies reached",
	Doc: `
A sample is one copy or memset with the bandwidth that the capture states or, if it states none at all, its bytes
over its duration (copies without duration or bytes are then no samples). GB/s is 10^9 bytes per second. Copies
count alike, large or small: for the rate of a whole loop divide bytes by time (cuda_gpu_mem_size_sum,
cuda_gpu_mem_time_sum). Quartiles are interpolated; std is of a sample (n-1). Ordered by rank, then by name. ` +
		htaSelection,
	Origin:    "HTA get_memory_bw_summary",
	Columns:   memBWColumns,
	Needs:     htaNeeds,
	Spares:    htaSpares,
	ManyRanks: true,
	Fill:      fillMemBW,
}

var memBWColumns = append([]Column{rankColumn, {"name", unit.Text, "direction of the copy"}},
	describedAs("memory_bw_gbps", unit.GBps, "copies")...)

func fillMemBW(in []*facts.Facts, _ Args, out *Rows) error {
	ranks := htaRanks(in, out)
	for _, r := range ranks {
		samples := r.bandwidths()
		for _, name := range slices.Sorted(maps.Keys(samples)) {
			out.Add(append([]Cell{Int(r.rank), Str(name)}, describe(samples[name]).cells()...)...)
		}
	}
	return nil
}

// bandwidths is the bandwidth of each copy and memset in GB/s, by name.
func (r htaRank) bandwidths() map[string][]float64 {
	t := r.Trace
	var sets []float64
	copies := make(map[string]*[]float64)
	byLabel := make(map[uint64]*[]float64) // by the file's name and the kind: texts are judged once
	for _, i := range r.rows {
		row := r.work.Row[i]
		switch r.work.Kind[i] {
		case facts.WorkSet:
			if gbs := bandwidth(t.Sets.GBs, t.Sets.Bytes, t.Sets.DurNs, row); gbs >= 0 {
				sets = append(sets, gbs)
			}
		case facts.WorkCopy:
			gbs := bandwidth(t.Copies.GBs, t.Copies.Bytes, t.Copies.DurNs, row)
			if gbs < 0 {
				continue
			}
			label := uint64(t.Copies.Kind[row]) << 32
			if int(row) < len(t.Copies.Name) {
				label |= uint64(t.Copies.Name[row])
			}
			list := byLabel[label]
			if list == nil {
				name := bandwidthName(r.Facts, row)
				if copies[name] == nil {
					copies[name] = new([]float64)
				}
				list = copies[name]
				byLabel[label] = list
			}
			*list = append(*list, gbs)
		}
	}
	out := make(map[string][]float64)
	for name, list := range copies {
		out[name] = *list
	}
	if len(sets) > 0 {
		out["Memset"] = sets
	}
	return out
}

// bandwidth is what the capture states or, if it never does, bytes a nanosecond; negative if unknown.
func bandwidth(stated []float64, bytes, durNs []int64, row uint32) float64 {
	if int(row) < len(stated) {
		if math.IsNaN(stated[row]) {
			return -1
		}
		return stated[row]
	}
	if int(row) >= len(bytes) || bytes[row] <= 0 || durNs[row] <= 0 {
		return -1
	}
	return float64(bytes[row]) / float64(durNs[row])
}

// bandwidthName is the file's own name without the kinds of memory, "Memcpy HtoD", else one of that form.
func bandwidthName(f *facts.Facts, row uint32) string {
	t := f.Trace
	if int(row) < len(t.Copies.Name) && t.Copies.Name[row] != 0 {
		name, _, _ := strings.Cut(t.Strings.Text(t.Copies.Name[row]), "(")
		return strings.TrimSuffix(name, " ")
	}
	return "Memcpy " + facts.CopyKindName(t.Copies.Kind[row])
}
