package cpusample

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// number is the number that a file has, or otherwise.
func number(path string, otherwise int) int {
	b, err := os.ReadFile(path)
	if err != nil {
		return otherwise
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		return otherwise
	}
	return n
}

// numbersIn is the names of a folder that are numbers, in order.
func numbersIn(dir string) (out []int) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	for _, e := range entries {
		if n, err := strconv.Atoi(e.Name()); err == nil {
			out = append(out, n)
		}
	}
	slices.Sort(out)
	return out
}

// processesBelow is a process and its descendants, parents before children.
func processesBelow(proc string, root int) []int {
	children := map[int][]int{}
	for _, pid := range numbersIn(proc) {
		if parent, ok := parentOf(proc, pid); ok {
			children[parent] = append(children[parent], pid)
		}
	}
	out := []int{root}
	for i := 0; i < len(out); i++ {
		for _, child := range children[out[i]] {
			if !slices.Contains(out, child) { // what /proc says is of different moments
				out = append(out, child)
			}
		}
	}
	return out
}

// parentOf reads /proc/PID/stat: "PID (NAME) STATE PARENT …", where NAME may hold anything.
func parentOf(proc string, pid int) (int, bool) {
	b, err := os.ReadFile(filepath.Join(proc, strconv.Itoa(pid), "stat"))
	if err != nil {
		return 0, false
	}
	fields := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
	if len(fields) < 2 {
		return 0, false
	}
	n, err := strconv.Atoi(fields[1])
	return n, err == nil
}

// threadsBelow is the threads of a process and of its descendants.
func threadsBelow(proc string, root int) (out []int) {
	for _, pid := range processesBelow(proc, root) {
		out = append(out, numbersIn(filepath.Join(proc, strconv.Itoa(pid), "task"))...)
	}
	return out
}

// onlineCPUs is the CPUs that are on.
func onlineCPUs(sys string) []int {
	b, err := os.ReadFile(filepath.Join(sys, "devices/system/cpu/online"))
	if cpus := cpuList(string(b)); err == nil && len(cpus) > 0 {
		return cpus
	}
	return []int{0}
}

// allowedCPUs is the CPUs on which any of the threads may run. Of a process that is attached to they are fewer than
// those of the machine where a container or a launcher pins it, and an event is opened for each thread on each.
func allowedCPUs(proc string, threads []int) []int {
	var all []int
	seen := map[string]bool{}
	for _, tid := range threads {
		list := statusField(proc, tid, "Cpus_allowed_list")
		if list != "" && !seen[list] {
			seen[list] = true
			all = append(all, cpuList(list)...)
		}
	}
	if len(all) == 0 {
		return onlineCPUs("/sys")
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// maxCPU bounds what a list of CPUs may say: Linux counts to 8192.
const maxCPU = 1 << 14

// cpuList reads "0-3,8,10-11".
func cpuList(s string) (out []int) {
	for part := range strings.SplitSeq(strings.TrimSpace(s), ",") {
		from, to, isRange := strings.Cut(part, "-")
		if !isRange {
			to = from
		}
		a, errA := strconv.Atoi(from)
		b, errB := strconv.Atoi(to)
		if errA != nil || errB != nil || a < 0 || b >= maxCPU {
			continue
		}
		for ; a <= b; a++ {
			out = append(out, a)
		}
	}
	return out
}

// statusField is a line of /proc/PID/status, or "".
func statusField(proc string, pid int, name string) string {
	b, err := os.ReadFile(filepath.Join(proc, strconv.Itoa(pid), "status"))
	if err != nil {
		return ""
	}
	for line := range strings.SplitSeq(string(b), "\n") {
		if value, ok := strings.CutPrefix(line, name+":"); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// capPerfmon and capSysAdmin are the numbers of the two capabilities either of which lifts kernel.perf_event_paranoid.
const (
	capSysAdmin = 21
	capPerfmon  = 38
)

// hasPerfmon says whether a process may do what kernel.perf_event_paranoid forbids others.
func hasPerfmon(proc string, pid int) bool {
	bits, err := strconv.ParseUint(statusField(proc, pid, "CapEff"), 16, 64)
	return err == nil && bits&(1<<capPerfmon|1<<capSysAdmin) != 0
}
