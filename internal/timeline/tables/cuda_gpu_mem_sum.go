package tables

import (
	"cmp"
	"slices"
	"strconv"

	"lacuna/internal/base/unit"
	"lacuna/internal/timeline/facts"
	"lacuna/internal/timeline/model"
)

var cudaGPUMemTimeSum = Table{
	Name:  "cuda_gpu_mem_time_sum",
	Title: "Copies and memsets by kind, most time first",
	Doc: `
One row for each direction of copies, and one for memsets. Time is a share of the operations listed, not of
wall time; concurrent copies each count in full.

Exports before 2022.4 count too, which nsys stats skips.
Rows are ordered by Total Time, largest first, then by name.`,
	Origin:  "nsys stats cuda_gpu_mem_time_sum",
	Columns: timeColumns("Count", "operations", memOperation),
	Needs:   model.PartCopies,
	Fill:    fillCUDAGPUMemTimeSum,
}

var cudaGPUMemSizeSum = Table{
	Name:  "cuda_gpu_mem_size_sum",
	Title: "Copies and memsets by kind, most bytes first",
	Doc: `
One row for each direction of copies, and one for memsets, with the sizes of the operations in MB of 10^6 bytes.

Exports before 2022.4 count too, which nsys stats skips.
Rows are ordered by Total, largest first, then by name.`,
	Origin: "nsys stats cuda_gpu_mem_size_sum",
	Columns: []Column{
		{"Total", unit.MB, "sum of sizes"},
		{"Count", unit.Count, "number of operations"},
		{"Avg", unit.MB, "mean size"},
		{"Med", unit.MB, "median size; of an even number the mean of the two in the middle"},
		{"Min", unit.MB, "smallest"},
		{"Max", unit.MB, "largest"},
		{"StdDev", unit.MB, "standard deviation of a sample (n-1); 0 for one"},
		memOperation,
	},
	Needs: model.PartCopies,
	Fill:  fillCUDAGPUMemSizeSum,
}

var memOperation = Column{"Operation", unit.Text, "direction of the copies, or memset"}

// needMemory is nil if there are copies or memsets.
func needMemory(table string, t *model.Trace) error {
	if t.Copies.StartNs == nil && t.Sets.StartNs == nil {
		return &MissingError{table, "copies or memsets", tryCUDA}
	}
	return nil
}

// copyLabels is how NVIDIA names the kinds of copies. A file's own labels go before.
var copyLabels = map[model.CopyKind]string{
	model.CopyUnknown: "Unknown", model.CopyHtoD: "Host-to-Device", model.CopyDtoH: "Device-to-Host",
	model.CopyHtoA: "Host-to-Array", model.CopyAtoH: "Array-to-Host", 5: "Array-to-Array", 6: "Array-to-Device",
	7:              "Device-to-Array",
	model.CopyDtoD: "Device-to-Device", model.CopyHtoH: "Host-to-Host", model.CopyPtoP: "Peer-to-Peer",
	model.CopyUMHtoD: "Unified Host-to-Device", model.CopyUMDtoH: "Unified Device-to-Host",
	model.CopyUMDtoD: "Unified Device-to-Device",
}

// copyOperation is the name of copy i: its kind as the file, or NVIDIA, calls it.
func copyOperation(t *model.Trace, i int) string {
	label := t.Strings.Text(at(t.Copies.Label, i, 0))
	if label == "" {
		label = copyLabels[t.Copies.Kind[i]]
	}
	if label == "" {
		label = "kind " + strconv.Itoa(int(t.Copies.Kind[i])) // of a CUPTI to come
	}
	return "[CUDA memcpy " + label + "]"
}

const setName = "[CUDA memset]"

// memOps is the copies and memsets as one list with a name each.
type memOps struct {
	of   []uint32 // number of the name
	text []string
}

func memoryOps(t *model.Trace) *memOps {
	var names indexer[string]
	m := &memOps{of: make([]uint32, 0, t.Copies.Len()+t.Sets.Len())}
	type kind struct {
		kind  model.CopyKind
		label model.StringID
	}
	seen := make(map[kind]uint32)
	for i, k := range t.Copies.Kind {
		key := kind{k, at(t.Copies.Label, i, 0)}
		id, ok := seen[key]
		if !ok {
			id = names.id(copyOperation(t, i), 0)
			seen[key] = id
		}
		m.of = append(m.of, id)
	}
	if t.Sets.Len() > 0 {
		id := names.id(setName, 0)
		for range t.Sets.Len() {
			m.of = append(m.of, id)
		}
	}
	m.text = names.keys
	return m
}

// memoryNs is the durations of copies and memsets, in the order of memoryOps.
func memoryNs(t *model.Trace) []int64 { return slices.Concat(t.Copies.DurNs, t.Sets.DurNs) }

func fillCUDAGPUMemTimeSum(in []*facts.Facts, _ Args, out *Rows) error {
	t := in[0].Trace
	if err := needMemory("cuda_gpu_mem_time_sum", t); err != nil {
		return err
	}
	m := memoryOps(t)
	sums := summarize(m.of, memoryNs(t), len(m.text))
	all := grandTotal(sums)
	for _, g := range byTotal(sums, func(a, b uint32) int { return cmp.Compare(m.text[a], m.text[b]) }) {
		out.Add(sums[g].timeCells(all, Str(m.text[g]))...)
	}
	return nil
}

func fillCUDAGPUMemSizeSum(in []*facts.Facts, _ Args, out *Rows) error {
	t := in[0].Trace
	if err := needMemory("cuda_gpu_mem_size_sum", t); err != nil {
		return err
	}
	m, sizes := memoryOps(t), slices.Concat(t.Copies.Bytes, t.Sets.Bytes)
	if t.Copies.Bytes == nil && t.Copies.Len() > 0 {
		m.of = m.of[t.Copies.Len():]
		out.Notes = append(out.Notes, "the capture has no sizes of copies")
	}
	if t.Sets.Bytes == nil && t.Sets.Len() > 0 {
		m.of = m.of[:len(m.of)-t.Sets.Len()]
		out.Notes = append(out.Notes, "the capture has no sizes of memsets")
	}
	sums := summarize(m.of, sizes, len(m.text))
	for _, g := range byTotal(sums, func(a, b uint32) int { return cmp.Compare(m.text[a], m.text[b]) }) {
		s := &sums[g]
		out.Add(megabytes(float64(s.total)), Int(s.count), megabytes(s.mean()), megabytes(s.median),
			megabytes(float64(s.min)), megabytes(float64(s.max)), megabytes(s.deviation), Str(m.text[g]))
	}
	return nil
}

// megabytes is bytes in units of 10^6 bytes.
func megabytes(bytes float64) Cell { return Float(bytes / 1e6) }
