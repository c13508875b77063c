//go:build !unix

package bench

import (
	"os"
	"os/exec"
)

func apart(*exec.Cmd) {}

func interrupt(cmd *exec.Cmd) { _ = cmd.Process.Kill() }
func kill(cmd *exec.Cmd)      { _ = cmd.Process.Kill() }

func signalOf(*os.ProcessState) (int, string) { return 0, "" }
func peakResident(*os.ProcessState) int64     { return 0 }
