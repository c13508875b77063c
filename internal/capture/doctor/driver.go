package doctor

import (
	"fmt"
	"path"
	"strings"
)

var driver = Check{ID: "driver", Title: "NVIDIA driver", For: []Purpose{Record, NCU}, Run: func(x *exam) []Result {
	module := x.moduleVersion()
	if x.library != nil {
		text := x.library.Driver()
		if v := x.library.System().CUDA; v > 0 {
			text += ", runs CUDA up to " + cudaName(v)
		}
		return fine(text)
	}
	r := Result{State: Missing, Text: x.noNVML.Error(),
		Cost:   "no GPU state (clocks, power, temperature) beside a recording, and no lacuna monitor",
		Limits: []Purpose{Record, NCU}}
	switch {
	case module == "" && x.cuda == "":
		r.Cost = "no GPU program runs here, so nothing can be recorded; captures made elsewhere can be read"
		r.Stops, r.Limits = []Purpose{Record, NCU}, nil
		r.Fix, r.Commands = x.getDriver()
	case strings.Contains(r.Text, "(NVML error 18)"): // Driver/library version mismatch
		r.State, r.Cost, r.Stops, r.Limits = Broken, "CUDA programs do not start until both agree",
			[]Purpose{Record, NCU}, nil
		r.Text += fmt.Sprintf("; the kernel's module is %s", module)
		r.Fix, r.Commands = "the driver was updated under a running kernel: restart the machine",
			[]string{"sudo reboot"}
	case module != "":
		r.State = Broken
		r.Text += fmt.Sprintf(" (the kernel's module %s is loaded)", module)
		r.Fix, r.Commands = x.inside.allow("--gpus all -e NVIDIA_DRIVER_CAPABILITIES=compute,utility",
			"the environment NVIDIA_DRIVER_CAPABILITIES=compute,utility and resources.limits nvidia.com/gpu")
		if r.Fix == "" {
			r.Fix = "install the driver's libraries of the same version as its module"
		}
	}
	return []Result{r}
}}

// moduleVersion is the version of the kernel's module: "NVRM version: NVIDIA UNIX x86_64 Kernel Module 580.159.04
// ...".
func (x *exam) moduleVersion() string {
	first, _, _ := strings.Cut(x.read("/proc/driver/nvidia/version"), "\n")
	for _, word := range strings.Fields(first) {
		if len(version(word)) >= 2 {
			return word
		}
	}
	return ""
}

// driverVersion is what is known of the driver's version; "": nothing.
func (x *exam) driverVersion() string {
	if x.library != nil && x.library.Driver() != "" {
		return x.library.Driver()
	}
	return x.moduleVersion()
}

// cudaDriver is the version of the driver as programs have it: that of libcuda.so.1, which a compatibility package of
// NVIDIA's may bring newer than the module ("libcuda.so.580.65.06" over a module 535), else the driver's.
func (x *exam) cudaDriver() string {
	if _, v, ok := strings.Cut(path.Base(x.real(x.cuda)), ".so."); ok && len(version(v)) >= 2 {
		return v
	}
	return x.driverVersion()
}

// nvidiaVendor is NVIDIA's number on the PCI bus.
const nvidiaVendor = "0x10de"

// getDriver says how a machine without a driver gets one, if it has a GPU.
func (x *exam) getDriver() (fix string, commands []string) {
	onBus := 0
	for _, at := range x.glob("/sys/bus/pci/devices/*/vendor") {
		// display controllers
		if x.line(at) == nvidiaVendor && strings.HasPrefix(x.line(path.Join(path.Dir(at), "class")), "0x03") {
			onBus++
		}
	}
	switch {
	case x.inside.kind != "":
		fix, commands = x.inside.allow("--gpus all", "resources.limits nvidia.com/gpu: 1")
		return "on a machine with a GPU and its driver, " + fix, commands
	case onBus == 0:
		return "no NVIDIA GPU is on the PCI bus; run this where the GPU is", nil
	case x.lookPath("ubuntu-drivers") != "":
		return "a GPU is on the PCI bus: install the driver", []string{"sudo ubuntu-drivers install --gpgpu"}
	case x.lookPath("dnf") != "":
		return "a GPU is on the PCI bus: install the driver (NVIDIA's repository)",
			[]string{"sudo dnf install nvidia-open"}
	case x.lookPath("apt-get") != "":
		return "a GPU is on the PCI bus: install the driver (non-free or NVIDIA's repository)",
			[]string{"sudo apt-get install nvidia-driver"}
	}
	return "a GPU is on the PCI bus: install NVIDIA's driver", nil
}

// cudaName is a version as the driver counts: 13000 is "13.0".
func cudaName(v int) string { return fmt.Sprintf("%d.%d", v/1000, v%1000/10) }
