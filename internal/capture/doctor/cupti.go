package doctor

import (
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
)

var cupti = Check{ID: "cupti", Title: "CUPTI", For: []Purpose{Record}, Run: func(x *exam) []Result {
	copies := x.cuptis()
	if len(copies) == 0 {
		r := Result{State: Missing, Text: "no libcupti.so is found (in Python's packages, CUDA's folders, the " +
			"loader's paths)", Cost: "GPU work cannot be recorded", Stops: []Purpose{Record}}
		r.Fix, r.Commands = x.getCUPTI()
		return []Result{r}
	}
	var out []Result
	usable := false
	for i := range copies {
		r := x.judgeCUPTI(&copies[i])
		usable = usable || r.State != Broken
		out = append(out, r)
	}
	for i := range out {
		switch {
		case out[i].State != Broken: // the first that works is what is used
		case usable:
			out[i].Fix, out[i].Commands = "another copy works", nil
		default:
			out[i].Stops = []Purpose{Record}
		}
	}
	return limitFirst(out)
}}

// limitFirst leaves the limits of the copy that lacuna record would take, the first that works.
func limitFirst(out []Result) []Result {
	taken := false
	for i := range out {
		if out[i].State != Broken && taken {
			out[i].Limits = nil
		}
		taken = taken || out[i].State != Broken
	}
	return out
}

// A cuptiCopy is one libcupti of this machine.
type cuptiCopy struct {
	path    string // as found
	version string // of its package or release: "13.0.85", "12.4"; "": it does not say
	whence  string // what it belongs to
	failed  string // why it does not say
}

// judgeCUPTI says whether a copy can be used, and what is known to be wrong with it.
func (x *exam) judgeCUPTI(c *cuptiCopy) Result {
	r := Result{State: OK, Text: fmt.Sprintf("%s, %s (%s)", c.version, c.path, c.whence)}
	driver := x.cudaDriver()
	least := leastDriver(version(c.version))
	switch {
	case c.failed != "":
		return Result{State: Broken, Text: fmt.Sprintf("%s (%s)", c.path, c.whence), Cost: "it cannot be loaded: " +
			c.failed, Fix: "reinstall it"}
	case c.version == "":
		r.State, r.Text = Unknown, fmt.Sprintf("%s (%s): its version is not known", c.path, c.whence)
		return r
	case older(c.version, oldestCUPTI):
		r.State, r.Cost = Broken, "its records cannot be read: they are older than "+oldestCUPTI
		r.Fix, r.Commands = x.getCUPTI()
		return r
	case driver != "" && least != "" && older(driver, least):
		r.State, r.Cost = Broken, fmt.Sprintf("it needs driver %s or newer, this is %s", least, driver)
		r.Fix, r.Commands = x.getCUPTI()
		r.Fix += "; or update the driver"
		return r
	}
	if gpu := x.tooOldGPU(c.version); gpu != "" {
		r.State, r.Cost, r.Fix = Broken, "CUPTI 13 does not trace "+gpu+", only Turing (7.5) and newer",
			"use CUPTI of CUDA 12"
		r.Commands = x.pip("nvidia-cuda-cupti-cu12")
		return r
	}
	var costs []string
	for _, f := range faultsOf(c.version) {
		says := f.says
		switch {
		case !f.surely(c.version):
			says = "perhaps: " + says
		case f.record:
			r.State, r.Limits = Limited, []Purpose{Record}
		}
		costs = append(costs, says)
	}
	r.Cost = strings.Join(costs, "; ")
	if r.State == Limited {
		r.Fix = "install a newer CUPTI next to it and pass it to lacuna record with --cupti (the driver must " +
			"support it)"
	}
	return r
}

// cuptis is every copy, each once, in the order in which lacuna record looks: what a Python program has, the
// loader's, CUDA's folders.
func (x *exam) cuptis() (out []cuptiCopy) {
	var seen []string
	add := func(c cuptiCopy) {
		at := x.real(c.path)
		if slices.Contains(seen, at) {
			return
		}
		seen = append(seen, at)
		if c.version == "" && len(seen) <= maxLoads {
			v, err := x.CUPTI(c.path)
			if err == nil {
				c.version = cuptiRelease(v)
			} else if !errors.Is(err, errCannotLoad) {
				c.failed = err.Error()
			}
		}
		out = append(out, c)
	}
	if at := x.Env("LACUNA_CUPTI"); at != "" {
		add(cuptiCopy{path: at, version: x.toolkitVersion(at), whence: "LACUNA_CUPTI"})
	}
	for _, folder := range x.python.Folders {
		for _, at := range slices.Concat(x.glob(path.Join(folder, "nvidia/cu*/lib/libcupti.so*")),
			x.glob(path.Join(folder, "nvidia/cuda_cupti/lib/libcupti.so*")),
			x.glob(path.Join(folder, "torch/lib/libcupti*.so*"))) {
			add(cuptiCopy{path: at, version: x.wheelVersion(folder, at), whence: "python package"})
		}
	}
	for _, soname := range []string{"libcupti.so.13", "libcupti.so.12", "libcupti.so.11.8", "libcupti.so"} {
		if at := x.findLibrary(soname); at != "" {
			add(cuptiCopy{path: at, version: x.toolkitVersion(at), whence: "on the loader's path"})
		}
	}
	for _, home := range []string{x.Env("CUDA_HOME"), x.Env("CUDA_PATH"), "/usr/local/cuda*", "/opt/cuda*",
		"/opt/nvidia/hpc_sdk/Linux_*/*/cuda/*", x.Env("CONDA_PREFIX")} {
		for _, in := range []string{"extras/CUPTI/lib64", "lib64", "targets/*/lib", "lib"} {
			for _, at := range x.glob(path.Join(home, in, "libcupti.so.[0-9]*")) {
				if home != "" {
					add(cuptiCopy{path: at, version: x.toolkitVersion(at), whence: "CUDA toolkit"})
				}
			}
		}
	}
	return out
}

// errCannotLoad is that of a build of lacuna that loads no libraries.
var errCannotLoad = errors.New("this build of lacuna cannot load libraries")

// maxLoads is how many copies are loaded, at most, to ask for a version that is written nowhere.
const maxLoads = 8

// wheelVersion is the version of a Python package's libcupti, from the name of its metadata folder:
// nvidia_cuda_cupti-13.0.85.dist-info, nvidia_cuda_cupti_cu12-12.8.90.dist-info.
func (x *exam) wheelVersion(folder, lib string) string {
	_, soMajor, _ := strings.Cut(path.Base(lib), ".so.")
	for _, at := range x.glob(path.Join(folder, "nvidia_cuda_cupti*.dist-info")) {
		_, v, _ := strings.Cut(strings.TrimSuffix(path.Base(at), ".dist-info"), "-")
		if major, _, _ := strings.Cut(v, "."); soMajor == "" || strings.HasPrefix(soMajor, major) {
			return v
		}
	}
	return ""
}

// toolkitVersion is the version that version.json of the toolkit around a libcupti names, or that of the file's own
// name.
func (x *exam) toolkitVersion(lib string) string {
	// libcupti.so.11.8.87
	if _, v, ok := strings.Cut(path.Base(x.real(lib)), ".so."); ok && len(version(v)) == 3 && version(v)[0] < 2000 {
		return v
	}
	for dir, n := path.Dir(x.real(lib)), 0; dir != "/" && n < 6; dir, n = path.Dir(dir), n+1 {
		var parts map[string]struct{ Version string }
		if text := x.read(dir + "/version.json"); text != "" && json.Unmarshal([]byte(text), &parts) == nil &&
			parts["cuda_cupti"].Version != "" {
			return parts["cuda_cupti"].Version
		}
	}
	return ""
}

// getCUPTI says how to get a copy that the driver can use.
func (x *exam) getCUPTI() (fix string, commands []string) {
	wheel := "nvidia-cuda-cupti"
	if driver := x.cudaDriver(); driver != "" && older(driver, leastDrivers[0].driver) {
		wheel = "nvidia-cuda-cupti-cu12"
		if older(driver, leastDrivers[1].driver) {
			return "the driver is too old for CUDA 12's CUPTI: update it", nil
		}
	}
	if x.python.Path == "" {
		return "install CUPTI: it comes with CUDA's toolkit and with PyTorch's packages", nil
	}
	return "install the package (3 MB; no toolkit is needed)", x.pip(wheel)
}

func (x *exam) pip(wheel string) []string {
	if x.python.Path == "" {
		return nil
	}
	return []string{x.python.Path + " -m pip install " + wheel}
}
