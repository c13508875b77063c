package doctor

import (
	"fmt"
	"slices"
)

// A fault is what is wrong with CUPTI (or with what NVIDIA ships beside it) from one version up to another.
// Versions are those of NVIDIA's packages, whose third number tells updates of a release apart: 13.0.48 is CUDA
// 13.0, 13.0.85 is 13.0 Update 1 (version numbers: the labels of NVIDIA's conda channel; faults: the release
// notes of CUPTI up to 13.4 Update 1, and the issues that are named).
type fault struct {
	from, until string // from "": since ever; until "": not fixed up to 13.4 Update 1
	says        string
	record      bool // any recording by lacuna may suffer, not only some uses of it or other tools
}

var faults = []fault{
	{"12.4.99", "12.4.127", "cuptiFinalize may crash after CUDA graphs (fixed in 12.4 Update 1)", false},
	{"12.6.80", "13.1", "torch.profiler loses the first kernels of a session (pytorch#192021, fixed in 13.1), " +
		"lacuna record does not", false},
	{"13.0", "13.0.85", "stopping a recording may hang or crash, and some synchronization records are missing " +
		"(fixed in 13.0 Update 1)", true},
	{"13.0", "13.1.115", "from a process's second recording on, kernels of CUDA graphs may belong to the wrong " +
		"launch (kineto#1165, fixed in 13.1 Update 1)", false},
	{"13.2", "13.3", "frequently repeated calls cost more while recorded (fixed in 13.3)", true},
	{"", "13.3", "copies and memsets inside CUDA graphs leak memory while recorded (fixed in 13.3)", false},
}

// oldestCUPTI is the first whose records the recording library reads.
const oldestCUPTI = "11.8"

// faultsOf is what is known to be wrong with a version.
func faultsOf(v string) (all []fault) {
	for _, f := range faults {
		if (f.from == "" || !older(v, f.from)) && (f.until == "" || older(v, f.until)) {
			all = append(all, f)
		}
	}
	return all
}

// surely says whether a version that a fault touches has it: one that does not tell updates of its release apart
// ("13.0") may be an update in which it is fixed.
func (f fault) surely(v string) bool {
	have, mended := version(v), version(f.until)
	return len(have) != 2 || len(mended) < 3 || !slices.Equal(have, mended[:2])
}

// leastDrivers is the oldest driver that each major version of CUDA runs on (NVIDIA, CUDA Compatibility, minor
// version compatibility).
var leastDrivers = [...]struct {
	major  int
	driver string
}{{13, "580"}, {12, "525"}, {11, "450"}}

// leastDriver is the oldest driver for a version of CUDA; "": not known.
func leastDriver(cuda []int) string {
	for _, l := range leastDrivers {
		if len(cuda) > 0 && cuda[0] == l.major {
			return l.driver
		}
	}
	return ""
}

// cuptiRelease is the CUDA release of a cuptiGetVersion; "": not known.
func cuptiRelease(v uint32) string {
	if v >= 130000 { // xxyyzz
		return fmt.Sprintf("%d.%d", v/10000, v/100%100)
	}
	releases := map[uint32]string{16: "11.5", 17: "11.6", 18: "11.8", 19: "12.0", 20: "12.2", 21: "12.3", 22: "12.4",
		23: "12.5", 24: "12.6", 25: "12.7", 26: "12.8", 27: "12.9", 28: "12.9.1"}
	return releases[v]
}

// turing is the compute capability that CUPTI 13 needs at least.
var turing = []int{7, 5}

// tooOldGPU says which GPU a CUPTI of a version cannot trace; "": none.
func (x *exam) tooOldGPU(v string) string {
	if x.library == nil || older(v, "13") {
		return ""
	}
	for _, d := range x.library.Devices() {
		if d.Major > 0 && slices.Compare([]int{d.Major, d.Minor}, turing) < 0 {
			return fmt.Sprintf("%s (compute capability %d.%d)", d.Name, d.Major, d.Minor)
		}
	}
	return ""
}
