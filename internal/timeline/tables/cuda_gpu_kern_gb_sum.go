package tables

import (
	"cmp"
	"fmt"

	"lacuna/internal/base/unit"
	"lacuna/internal/timeline/facts"
	"lacuna/internal/timeline/model"
)

var cudaGPUKernGBSum = Table{
	Name:  "cuda_gpu_kern_gb_sum",
	Title: "Kernels by name, grid and block, most time first",
	Doc: `
One row for each kernel name, grid and block: launches of one kernel with other dimensions often take quite
other times. Time is a share of the kernels listed, not of wall time.

Rows are ordered by Total Time, largest first; equal ones by Instances, smallest first, then by name, grid and block.`,
	Origin: "nsys stats cuda_gpu_kern_gb_sum",
	Columns: timeColumns("Instances", "executions of the kernel with this grid and block", gridColumn, blockColumn,
		kernelName),
	KernelNames: "Name",
	Args:        kernelNameArgs,
	Needs:       model.PartKernels | model.PartLaunchConfig,
	ArgsNeed:    kernelNamesNeed,
	Fill:        fillCUDAGPUKernGBSum,
}

var (
	gridColumn  = Column{"GridXYZ", unit.Text, "blocks of the grid in x, y and z, each at least 4 wide"}
	blockColumn = Column{"BlockXYZ", unit.Text, "threads of a block in x, y and z, each at least 4 wide"}
)

// dims is x, y and z as NVIDIA prints them.
func dims(d [3]int32) Cell { return Str(fmt.Sprintf("%4d %4d %4d", d[0], d[1], d[2])) }

// gridOf and blockOf are the dimensions of kernel i; zeros where the capture lacks them.
func gridOf(k *model.Kernels, i int) (d [3]int32) {
	if i < len(k.GridX) {
		d = [3]int32{k.GridX[i], k.GridY[i], k.GridZ[i]}
	}
	return d
}

func blockOf(k *model.Kernels, i int) (d [3]int32) {
	if i < len(k.BlockX) {
		d = [3]int32{k.BlockX[i], k.BlockY[i], k.BlockZ[i]}
	}
	return d
}

func fillCUDAGPUKernGBSum(in []*facts.Facts, args Args, out *Rows) error {
	f := in[0]
	if err := needKernels("cuda_gpu_kern_gb_sum", f, args); err != nil {
		return err
	}
	type shape struct {
		name        uint32
		grid, block [3]int32
	}
	k, names := &f.Trace.Kernels, nameKernels(f, args)
	var shapes indexer[shape]
	group := make([]uint32, k.Len())
	for i, name := range names.of {
		s := shape{name, gridOf(k, i), blockOf(k, i)}
		group[i] = shapes.id(s, name+uint32(s.grid[0])*31)
	}
	sums := summarize(group, k.DurNs, len(shapes.keys))
	all := grandTotal(sums)
	for _, g := range byTotal(sums, func(a, b uint32) int {
		x, y := &shapes.keys[a], &shapes.keys[b]
		return cmp.Or(cmp.Compare(sums[a].count, sums[b].count), names.compare(x.name, y.name),
			compareDims(x.grid, y.grid), compareDims(x.block, y.block))
	}) {
		s := &shapes.keys[g]
		out.Add(sums[g].timeCells(all, dims(s.grid), dims(s.block), Str(names.text[s.name]))...)
	}
	return nil
}

func compareDims(a, b [3]int32) int {
	return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1]), cmp.Compare(a[2], b[2]))
}
