package doctor

import (
	"fmt"
	"strings"
)

var libcuda = Check{ID: "libcuda", Title: "CUDA driver library", For: []Purpose{Record, NCU},
	Run: func(x *exam) []Result {
		if x.cuda != "" {
			text := x.cuda
			v, below := x.cudaDriver(), x.driverVersion()
			if major, of := version(v), version(below); len(major) > 0 && len(of) > 0 && of[0] < major[0] {
				text += fmt.Sprintf(", %s over driver %s (compatibility package; GPUs of data centres only)", v, below)
			}
			return x.initCUDA(fine(text))
		}
		if x.library == nil && x.moduleVersion() == "" {
			return nil // the driver's check has said it
		}
		r := Result{State: Missing, Text: "libcuda.so.1 is not found", Cost: "no CUDA program runs here",
			Stops: []Purpose{Record, NCU}}
		if r.Fix, r.Commands = x.inside.allow("--gpus all -e NVIDIA_DRIVER_CAPABILITIES=compute,utility",
			"the environment NVIDIA_DRIVER_CAPABILITIES=compute,utility"); r.Fix == "" {
			r.Fix, r.Commands = "it comes with the driver; if it is in a separate folder, add that",
				[]string{"export LD_LIBRARY_PATH=/path/to/the/folder"}
		}
		return []Result{r}
	}}

// cuInit's errors that machines, not programs, are to blame for (cuda.h), and what fixes them.
var initErrors = map[int]struct{ says, fix string }{
	100: {"no device", "see why: CUDA_VISIBLE_DEVICES, the container's devices, sudo dmesg | grep -i NVRM"},
	802: {"the system is not ready", "on machines with NVSwitch the fabric manager must run: sudo systemctl start " +
		"nvidia-fabricmanager"},
	803: {"the driver's library and its module differ", "restart the machine, or the container with the host's driver"},
	804: {"the compatibility library does not support this GPU",
		"remove CUDA's compat folder from LD_LIBRARY_PATH, or update the driver"},
	999: {"unknown error", "reload the module, or restart the machine: sudo modprobe nvidia_uvm"},
}

// initCUDA has a process of its own call cuInit, without what other tools inject, if checks may take long.
func (x *exam) initCUDA(found []Result) []Result {
	env := x.lookPath("env")
	if !x.Deep || x.python.Path == "" || env == "" {
		return found
	}
	said, err := x.askFor(importLimit, env, "-u", "CUDA_INJECTION64_PATH", x.python.Path, "-c",
		`import ctypes; print("LACUNA", ctypes.CDLL("libcuda.so.1").cuInit(0))`)
	_, answer, ok := strings.Cut(said, "LACUNA ")
	var code int
	if n, _ := fmt.Sscan(answer, &code); err != nil || !ok || n != 1 {
		return found
	}
	r := &found[0]
	if code == 0 {
		r.Text += "; it starts"
		return found
	}
	r.State, r.Stops = Broken, []Purpose{Record, NCU}
	r.Cost = fmt.Sprintf("no CUDA program runs: cuInit returns %d", code)
	r.Fix = "run nvidia-smi to see the driver's message"
	if e, known := initErrors[code]; known {
		r.Cost += " (" + e.says + ")"
		r.Fix = e.fix
	}
	return found
}
