package tables

import (
	"fmt"

	"lacuna/internal/base/unit"
	"lacuna/internal/timeline/facts"
	"lacuna/internal/timeline/model"
)

var cudaGPUTrace = Table{
	Name:  "cuda_gpu_trace",
	Title: "Every kernel, copy and memset, by start",
	Doc: `
One row for each kernel, copy and memset that ran by itself; graphs recorded at graph level have none.

Throughput is as nsys computes it: bytes times the whole number of such durations in a second, which is too low
by up to the part that does not fit: 100 MB in 0.7 s count as 100 MB/s.

Rows are ordered by start; of equal ones kernels come before copies and memsets.`,
	Origin: "nsys stats cuda_gpu_trace",
	Columns: []Column{
		{"Start", unit.Ns, "start of the work, since time 0 of the capture"},
		{"Duration", unit.Ns, "duration of the work"},
		{"CorrId", unit.ID, "correlation ID of the call that issued it"},
		{"GrdX", unit.Count, "blocks of the grid in x"},
		{"GrdY", unit.Count, "blocks in y"},
		{"GrdZ", unit.Count, "blocks in z"},
		{"BlkX", unit.Count, "threads of a block in x"},
		{"BlkY", unit.Count, "threads in y"},
		{"BlkZ", unit.Count, "threads in z"},
		{"Reg/Trd", unit.Count, "registers per thread"},
		{"StcSMem", unit.MB, "static shared memory of a block, in 10^6 bytes"},
		{"DymSMem", unit.MB, "dynamic shared memory of a block"},
		{"Bytes", unit.MB, "size of the copy or memset"},
		{"Throughput", unit.MBps, "size out of duration, see above"},
		{"SrcMemKd", unit.Text, "kind of memory that a copy reads or a memset writes"},
		{"DstMemKd", unit.Text, "kind of memory that a copy writes"},
		{"Device", unit.Text, "name of the device, and its CUDA ordinal"},
		{"Ctx", unit.ID, "CUDA context"},
		{"GreenCtx", unit.ID, "green context; not read, always nothing"},
		{"Strm", unit.ID, "CUDA stream"},
		{"Name", unit.Text, "name of the kernel, or as the argument asks; kind of the copy"},
	},
	KernelNames: "Name",
	Args:        kernelNameArgs,
	Needs:       model.PartKernels | model.PartLaunchConfig | model.PartCopies,
	ArgsNeed:    kernelNamesNeed,
	Fill:        fillCUDAGPUTrace,
}

// memKindNames is how NVIDIA calls kinds of memory; unknown ones have no name.
var memKindNames = map[model.MemKind]string{
	model.MemPageable: "Pageable", model.MemPinned: "Pinned", model.MemDevice: "Device", model.MemArray: "Array",
	model.MemManaged: "Managed", model.MemDeviceStatic: "Device Static", model.MemManagedStatic: "Managed Static",
}

func memKindCell(kinds []model.MemKind, i int) Cell {
	if name := memKindNames[at(kinds, i, model.MemUnknown)]; name != "" {
		return Str(name)
	}
	return Cell{}
}

// A gpuTrace makes the rows of cuda_gpu_trace.
type gpuTrace struct {
	t       *model.Trace
	names   *naming
	devices map[uint32]Cell
	out     *Rows
}

func fillCUDAGPUTrace(in []*facts.Facts, args Args, out *Rows) error {
	f := in[0]
	t := f.Trace
	if t.Kernels.StartNs == nil && needMemory("cuda_gpu_trace", t) != nil {
		return &MissingError{"cuda_gpu_trace", "kernels, copies or memsets", tryCUDA}
	}
	if args.Has("nvtx-name") {
		if err := needKernels("cuda_gpu_trace", f, args); err != nil {
			return err
		}
	}
	x := &gpuTrace{t, nameKernels(f, args), make(map[uint32]Cell), out}
	for _, d := range t.Devices {
		x.devices[d.Ordinal] = Str(fmt.Sprintf("%s (%d)", d.Name, d.Ordinal))
	}
	// The three tables are sorted each: merge them.
	sources := []struct {
		a    *model.Activity
		row  func(int)
		next int
	}{{&t.Kernels.Activity, x.kernel, 0}, {&t.Copies.Activity, x.copy, 0}, {&t.Sets.Activity, x.set, 0}}
	for {
		best := -1
		for i, s := range sources {
			if s.next < s.a.Len() && (best < 0 || s.a.StartNs[s.next] < sources[best].a.StartNs[sources[best].next]) {
				best = i
			}
		}
		if best < 0 {
			return nil
		}
		sources[best].row(sources[best].next)
		sources[best].next++
	}
}

// add adds a row: what all work has around what is its own.
func (x *gpuTrace) add(a *model.Activity, i int, own [13]Cell, name string) {
	row := make([]Cell, 0, len(x.out.Columns))
	row = append(row, Int(a.StartNs[i]), Int(a.DurNs[i]), Cell{})
	if id := at(a.Corr, i, model.NoCorr); id != model.NoCorr {
		row[2] = Int(id)
	}
	row = append(row, own[:]...)
	var device, context, stream Cell
	if ordinal := at(a.Device, i, model.NoDevice); ordinal != model.NoDevice {
		var known bool
		if device, known = x.devices[ordinal]; !known {
			device = Str(fmt.Sprintf("(%d)", ordinal))
		}
	}
	if i < len(a.Context) {
		context = Int(a.Context[i])
	}
	if id := at(a.Stream, i, model.NoStream); id != model.NoStream {
		stream = Int(id)
	}
	x.out.Add(append(row, device, context, Cell{}, stream, Str(name))...)
}

func (x *gpuTrace) kernel(i int) {
	k := &x.t.Kernels
	var own [13]Cell
	if i < len(k.GridX) {
		for d, n := range gridOf(k, i) {
			own[d] = Int(n)
		}
	}
	if i < len(k.BlockX) {
		for d, n := range blockOf(k, i) {
			own[3+d] = Int(n)
		}
	}
	if i < len(k.Registers) {
		own[6] = Int(k.Registers[i])
	}
	if i < len(k.StaticShared) {
		own[7] = megabytes(float64(k.StaticShared[i]))
	}
	if i < len(k.DynShared) {
		own[8] = megabytes(float64(k.DynShared[i]))
	}
	x.add(&k.Activity, i, own, x.names.text[x.names.of[i]])
}

func (x *gpuTrace) copy(i int) {
	c := &x.t.Copies
	x.add(&c.Activity, i, memoryCells(c.Bytes, i, c.DurNs[i], memKindCell(c.Src, i), memKindCell(c.Dst, i)),
		copyOperation(x.t, i))
}

func (x *gpuTrace) set(i int) {
	s := &x.t.Sets
	x.add(&s.Activity, i, memoryCells(s.Bytes, i, s.DurNs[i], memKindCell(s.Mem, i), Cell{}), setName)
}

// memoryCells is what a copy or memset has of its own.
func memoryCells(bytes []int64, i int, durNs int64, from, to Cell) (own [13]Cell) {
	if i < len(bytes) {
		own[9] = megabytes(float64(bytes[i]))
		if durNs > 0 {
			own[10] = megabytes(float64(bytes[i]) * float64(1_000_000_000/durNs))
		}
	}
	own[11], own[12] = from, to
	return own
}
