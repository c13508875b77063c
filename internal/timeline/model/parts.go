package model

// Parts is a set of things to read. A table or command names what it needs, and a
// reader may leave the rest unread: a sum over kernels does not wait for three million calls.
type Parts uint64

// The parts. A reader that cannot tell some of them apart reads more than was asked.
const (
	PartKernels      Parts = 1 << iota // Kernels: times, device, stream, names, correlation
	PartLaunchConfig                   // Kernels: grid, block, registers, shared memory, occupancy
	PartCopies                         // Copies and Sets
	PartGraphs                         // GraphRuns and GraphEvents
	PartCalls                          // Calls
	PartSyncs                          // Syncs and EventRecords
	PartOps                            // Ops, Links and Collectives
	PartOpArgs                         // Ops: shapes, types, strides, values, stacks
	PartPython                         // PyCalls
	PartRanges                         // Ranges, Marks, DeviceRanges, Domains
	PartPayloads                       // Ranges: payloads
	PartMemory                         // AllocEvents, DeviceAllocs
	PartOS                             // OSCalls
	PartLibs                           // LibCalls
	PartMPI                            // MPI
	PartOpenACC                        // OpenACC
	PartOpenMP                         // OpenMP
	PartSamples                        // Samples, Frames and stacks of calls
	PartSched                          // Sched
	PartCounters                       // Tracks and Counters
	PartOverheads                      // Overheads and Diagnostics
	PartFaults                         // PageFaults
	partEnd
)

// PartsAll is everything.
const PartsAll = partEnd - 1

// PartsGPU is all work of the GPUs.
const PartsGPU = PartKernels | PartCopies | PartGraphs

// partWords is the parts in words, by their place.
var partWords = [...]string{
	"kernels", "launch configuration", "copies and memsets", "CUDA graphs", "API calls", "synchronisation", "operators",
	"shapes and arguments of operators", "Python calls", "ranges and marks", "payloads of ranges", "memory", "OS calls",
	"library calls", "MPI", "OpenACC", "OpenMP", "CPU samples with stacks", "scheduling", "counters",
	"the profiler's own overhead", "page faults",
}

// Words is the parts of a set, in words.
func (p Parts) Words() (out []string) {
	for i, w := range partWords {
		if p&(1<<i) != 0 {
			out = append(out, w)
		}
	}
	return out
}

// Has says whether p includes all of q.
func (p Parts) Has(q Parts) bool { return p&q == q }
