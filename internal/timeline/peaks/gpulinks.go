package peaks

import "strings"

// A GPULink is the link from GPU to GPU that a device can have; whether it is there, a capture does not say.
type GPULink struct {
	Name string
	GBs  float64 // one way, all of a GPU's links together
}

// gpuLinks is by how the names of devices begin: half of what the data sheets call the total, which counts both ways.
// Parts for PCIe slots have bridges at most, and are left out.
var gpuLinks = []struct {
	device string
	GPULink
}{
	{"P100 SXM2", GPULink{"NVLink 1", 80}},
	{"V100 SXM2", GPULink{"NVLink 2", 150}},
	{"A100 SXM", GPULink{"NVLink 3", 300}},
	{"H100 SXM", GPULink{"NVLink 4", 450}},
	{"H200 SXM", GPULink{"NVLink 4", 450}},
	{"GH200", GPULink{"NVLink 4", 450}},
	{"H20", GPULink{"NVLink 4", 450}},
	{"B100", GPULink{"NVLink 5", 900}},
	{"B200", GPULink{"NVLink 5", 900}},
	{"GB200", GPULink{"NVLink 5", 900}},
	{"B300", GPULink{"NVLink 5", 900}},
	{"GB300", GPULink{"NVLink 5", 900}},
	{"A800 SXM", GPULink{"NVLink 3", 200}},
}

// GPULink is the link to other GPUs that p can have; false: none is known. H20 is not H200.
func (p *Peak) GPULink() (GPULink, bool) {
	for _, x := range gpuLinks {
		if p.Name == x.device || strings.HasPrefix(p.Name, x.device+" ") {
			return x.GPULink, true
		}
	}
	return GPULink{}, false
}
