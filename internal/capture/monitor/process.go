package monitor

import (
	"os"
	"strconv"
	"strings"
)

// hostPIDs is the namespace of process IDs of a machine that is no container (PROC_PID_INIT_INO of Linux).
const hostPIDs = "pid:[4026531836]"

// processName is what a process is called; "": not known. The driver counts processes as the host does, so in a
// container an ID may be that of another process here: a name is believed if the process has CUDA's library in it,
// or if that cannot be seen and this is no container.
func processName(pid int) string {
	dir := "/proc/" + strconv.Itoa(pid)
	name, err := os.ReadFile(dir + "/comm")
	if err != nil {
		return ""
	}
	if maps, err := os.ReadFile(dir + "/maps"); err == nil {
		if !strings.Contains(string(maps), "libcuda") {
			return ""
		}
	} else if space, err := os.Readlink("/proc/self/ns/pid"); err != nil || space != hostPIDs {
		return ""
	}
	return strings.TrimSpace(string(name))
}
