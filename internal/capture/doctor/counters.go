package doctor

import "strings"

// perfmonDriver is the driver from which CAP_PERFMON is enough for counters.
const perfmonDriver = "565"

var counters = Check{ID: "counters", Title: "Counter permission", For: []Purpose{NCU}, Run: func(x *exam) []Result {
	restricted, known := x.param("RmProfilingAdminOnly")
	switch {
	case x.library == nil && x.moduleVersion() == "":
		return nil // there is nothing to permit
	case known && restricted == "0":
		return fine("every user may read the GPU's counters (RmProfilingAdminOnly: 0)")
	case x.can(capSysAdmin):
		return fine("this process may read the GPU's counters (CAP_SYS_ADMIN)")
	case x.can(capPerfmon) && !older(x.driverVersion(), perfmonDriver):
		return fine("this process may read the GPU's counters (CAP_PERFMON)")
	case !known:
		return []Result{{State: Unknown, Text: "/proc/driver/nvidia/params is not there, so whether users may read " +
			"counters is unknown", Fix: "try it", Commands: []string{"ncu --set basic --launch-count 1 PROGRAM"},
			Limits: []Purpose{NCU}}}
	}
	r := Result{State: Limited, Text: "only administrators may read the GPU's counters (RmProfilingAdminOnly: 1)",
		Cost: "ncu fails with ERR_NVGPUCTRPERM; timelines need no permission", Stops: []Purpose{NCU}}
	capability := "SYS_ADMIN"
	if !older(x.driverVersion(), perfmonDriver) {
		capability = "PERFMON"
	}
	if r.Fix, r.Commands = x.inside.allow("--cap-add="+capability, "securityContext.capabilities.add: ["+capability+
		"]"); r.Fix == "" {
		r.Fix = "run ncu as root, or permit all users (needs a restart or a reload of the driver's module)"
		r.Commands = []string{"echo 'options nvidia NVreg_RestrictProfilingToAdminUsers=0' | sudo tee " +
			"/etc/modprobe.d/nvidia-profiling.conf"}
		if x.lookPath("update-initramfs") != "" {
			r.Commands = append(r.Commands, "sudo update-initramfs -u")
		}
		r.Commands = append(r.Commands, "sudo reboot")
	} else {
		r.Fix = "permit all users on the host, or " + r.Fix
	}
	return []Result{r}
}}

// param is a setting of the driver's module.
func (x *exam) param(name string) (value string, known bool) {
	for line := range strings.Lines(x.read("/proc/driver/nvidia/params")) {
		if v, ok := strings.CutPrefix(line, name+":"); ok {
			return strings.TrimSpace(v), true
		}
	}
	return "", false
}
