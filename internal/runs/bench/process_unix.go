//go:build unix

package bench

import (
	"os"
	"os/exec"
	"runtime"
	"syscall"
)

// apart puts a program into a group of its own: Ctrl-C then reaches lacuna alone, which passes it on to the whole
// group.
func apart(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

func interrupt(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGINT) }
func kill(cmd *exec.Cmd)      { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }

// signalOf is the signal that ended a program; 0: none did.
func signalOf(state *os.ProcessState) (int, string) {
	if w, ok := state.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		return int(w.Signal()), w.Signal().String()
	}
	return 0, ""
}

// peakResident is the most memory, in bytes, that a program or one that it waited for had in use; 0: unknown.
func peakResident(state *os.ProcessState) int64 {
	usage, ok := state.SysUsage().(*syscall.Rusage)
	switch {
	case !ok:
		return 0
	case runtime.GOOS == "darwin" || runtime.GOOS == "ios":
		return int64(usage.Maxrss) // bytes there, KiB elsewhere
	}
	return int64(usage.Maxrss) * 1024
}
