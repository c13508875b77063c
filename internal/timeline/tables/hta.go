package tables

import (
	"cmp"
	"fmt"
	"slices"

	"lacuna/internal/base/unit"
	"lacuna/internal/timeline/facts"
	"lacuna/internal/timeline/model"
)

// What HTA's tables share: one input is one rank, of which Facts.Selection counts.

// htaNeeds is what the selection and the kind of work take.
const htaNeeds = model.PartsGPU | model.PartCalls | model.PartOps | model.PartRanges

// htaSpares is what only the selection takes: without it all work counts.
const htaSpares = model.PartOps | model.PartRanges

const htaSelection = `
The table counts all GPU work: kernels, copies and memsets, and graphs recorded at graph level. If
the capture has two or more ProfilerSteps, what was launched in the last one or after it is left out, as
in HTA, since its work is rarely complete. docs/hta.md says where the numbers differ from HTA's.`

// An htaRank is one capture of several.
type htaRank struct {
	*facts.Facts
	rank int64
	work *facts.Work
	rows []uint32 // of work, those that count
}

// htaRanks prepares the inputs, ordered by rank. A job without GPU work is no error: it has no rows, and a note says
// why.
func htaRanks(in []*facts.Facts, out *Rows) []htaRank {
	var ranks []htaRank
	var leftOut, work int
	for i, rank := range rankNumbers(in, out) {
		s, w := in[i].Selection(), in[i].Work()
		ranks = append(ranks, htaRank{in[i], rank, w, s.Rows})
		leftOut += s.LeftOut
		work += w.Len()
	}
	if work == 0 {
		out.Notes = append(out.Notes, "no GPU work: record with activities CPU and CUDA (torch.profiler), or nsys "+
			"profile --trace=cuda")
	}
	slices.SortStableFunc(ranks, func(a, b htaRank) int { return cmp.Compare(a.rank, b.rank) })
	if leftOut > 0 {
		out.Notes = append(out.Notes, fmt.Sprintf(
			"%d of %d pieces of GPU work belong to the last ProfilerStep and are left out", leftOut, work))
	}
	return ranks
}

// noteCalls says why a table of launches has no rows although there is GPU work.
func noteCalls(ranks []htaRank, out *Rows) {
	for _, r := range ranks {
		if len(out.Rows) == 0 && len(r.rows) > 0 {
			out.Notes = append(out.Notes, "no calls that launched GPU work: record CUDA's API calls too (activity "+
				"CPU of torch.profiler)")
			return
		}
	}
}

// rankNumbers is what the captures say their ranks are; if one does not or two say the same, their positions.
func rankNumbers(in []*facts.Facts, out *Rows) []int64 {
	var ranks []int64
	for _, f := range in {
		ranks = append(ranks, int64(f.Trace.Info.Rank))
	}
	distinct := slices.Compact(slices.Sorted(slices.Values(ranks)))
	if len(distinct) == len(in) && distinct[0] >= 0 {
		return ranks
	}
	for i := range ranks {
		ranks[i] = int64(i)
	}
	if len(in) > 1 {
		out.Notes = append(out.Notes, "not all captures say which rank they are, or two say the same: ranks are "+
			"their positions")
	}
	return ranks
}

// A htaLane tells apart what HTA's key (rank, stream) does not: captures of several processes or devices.
type htaLane struct {
	process model.ProcessRow
	device  uint32
	stream  uint32
}

// lanesOf gives the rows of each stream, or of each device if byStream is false, in the order of first work.
func (r htaRank) lanesOf(byStream bool) (keys []htaLane, rows map[htaLane][]uint32) {
	rows = make(map[htaLane][]uint32)
	for _, i := range r.rows {
		key := htaLane{device: r.work.Device[i]}
		if byStream {
			key.process, key.stream = r.WorkProcess(i), r.work.Stream[i]
		}
		if rows[key] == nil {
			keys = append(keys, key)
		}
		rows[key] = append(rows[key], i)
	}
	return keys, rows
}

// htaKeys is the columns that name a row: HTA's own, and process and device only if they are needed.
type htaKeys struct{ process, device, stream bool }

func keysOf(ranks []htaRank, byStream bool) htaKeys {
	k := htaKeys{stream: byStream}
	for _, r := range ranks {
		if len(r.rows) == 0 {
			continue
		}
		device, process := r.work.Device[r.rows[0]], r.WorkProcess(r.rows[0])
		for _, i := range r.rows {
			k.device = k.device || r.work.Device[i] != device
			k.process = k.process || byStream && r.WorkProcess(i) != process
		}
	}
	return k
}

func (k htaKeys) columns(rest ...Column) []Column {
	out := []Column{rankColumn}
	if k.process {
		out = append(out, Column{"pid", unit.ID, "process, as several worked on GPUs"})
	}
	if k.device {
		out = append(out, Column{"device", unit.ID, "CUDA ordinal, as the capture has several devices"})
	}
	if k.stream {
		out = append(out, streamColumn)
	}
	return append(out, rest...)
}

func (k htaKeys) cells(r htaRank, lane htaLane, rest ...Cell) []Cell {
	out := []Cell{Int(r.rank)}
	if k.process {
		pid := Cell{}
		if int(lane.process) < len(r.Trace.Processes) {
			pid = Int(r.Trace.Processes[lane.process].Pid)
		}
		out = append(out, pid)
	}
	if k.device {
		out = append(out, Int(lane.device))
	}
	if k.stream {
		out = append(out, Int(lane.stream))
	}
	return append(out, rest...)
}

var (
	rankColumn   = Column{"rank", unit.ID, "rank of the capture in the job: as it says itself, else its position"}
	streamColumn = Column{"stream", unit.ID, "CUDA stream"}
)

// Kinds of work in HTA's words, as bits of a set.
const (
	htaCompute = 1 << iota
	htaComm
	htaMemory
	htaAll = htaCompute | htaComm | htaMemory
)

func htaKind(k facts.WorkKind) int {
	switch {
	case k.IsCompute():
		return htaCompute
	case k == facts.WorkComm:
		return htaComm
	}
	return htaMemory
}

// coverage is, for each set of kinds, the length of the union of all work of those kinds; and the
// span from the first start to the last end.
func (r htaRank) coverage(rows []uint32) (unionNs [htaAll + 1]int64, spanNs int64) {
	if len(rows) == 0 {
		return
	}
	var endNs [htaAll + 1]int64 // of the union so far
	first := r.work.StartNs[rows[0]]
	for i := range endNs {
		endNs[i] = first
	}
	for _, i := range rows {
		start, end, kind := r.work.StartNs[i], r.work.EndNs[i], htaKind(r.work.Kind[i])
		for set := 1; set <= htaAll; set++ {
			if set&kind != 0 && end > endNs[set] {
				unionNs[set] += end - max(start, endNs[set])
				endNs[set] = end
			}
		}
	}
	return unionNs, slices.Max(endNs[:]) - first
}
