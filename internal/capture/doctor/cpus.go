package doctor

import (
	"fmt"
	"path"
	"strings"
)

var cpus = Check{ID: "cpus", Title: "CPUs", For: []Purpose{Record, Sample}, Run: func(x *exam) []Result {
	present := 0
	for line := range strings.Lines(x.read("/proc/cpuinfo")) {
		if strings.HasPrefix(line, "processor") {
			present++
		}
	}
	text := fmt.Sprintf("%d may be used", x.Cores)
	if present > x.Cores {
		text += fmt.Sprintf(" of %d", present)
	}
	quota, limited := x.cpuQuota()
	if !limited || quota >= float64(x.Cores) {
		return oneCore(x.Cores, text)
	}
	return []Result{{State: Limited, Text: fmt.Sprintf("%s, but only %.1f of them at a time (cgroup quota)", text,
		quota),
		Cost: "a program with more busy threads is throttled for parts of each period: the GPU waits for launches, " +
			"and the timeline shows unexplained pauses",
		Fix: "give the container more CPUs (docker run --cpus, resources.limits.cpu), or start fewer threads " +
			"(DataLoader workers, OMP_NUM_THREADS)"}}
}}

func oneCore(cores int, text string) []Result {
	if cores > 1 {
		return fine(text)
	}
	return []Result{{State: Limited, Text: text, Cost: "the recorder competes with the program for the CPU: " +
		"overhead is higher than necessary",
		Fix: "allow a second CPU (taskset, docker run --cpuset-cpus, srun --cpus-per-task)"}}
}

// cpuQuota is how many CPUs' worth of time the innermost cgroup with a limit has.
func (x *exam) cpuQuota() (cores float64, limited bool) {
	for _, dir := range x.cgroups("cpu") {
		var quota, period float64
		if n, _ := fmt.Sscanf(x.line(dir+"/cpu.max"), "%f %f", &quota, &period); n < 2 {
			fmt.Sscanf(x.line(dir+"/cpu.cfs_quota_us"), "%f", &quota)
			fmt.Sscanf(x.line(dir+"/cpu.cfs_period_us"), "%f", &period)
		}
		if quota > 0 && period > 0 && (!limited || quota/period < cores) {
			cores, limited = quota/period, true
		}
	}
	return cores, limited
}

// cgroups is the folders of this process's cgroups for a controller, the whole system's among them. Inside a
// container its own cgroup often is the root of what it sees.
func (x *exam) cgroups(controller string) (out []string) {
	roots := []string{"/sys/fs/cgroup", "/sys/fs/cgroup/" + controller}
	for line := range strings.Lines(x.read("/proc/self/cgroup")) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) < 3 || parts[1] != "" && parts[1] != controller &&
			!strings.Contains(","+parts[1]+",", ","+controller+",") {
			continue
		}
		root := roots[0]
		if parts[1] != "" {
			root = roots[1]
		}
		for at, n := path.Clean("/"+parts[2]), 0; at != "/" && n < 32; at, n = path.Dir(at), n+1 {
			out = append(out, root+at)
		}
	}
	return append(out, roots...)
}
