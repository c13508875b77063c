// Command lacuna reads GPU profiles and says where a step's time goes.
package main

import (
	"os"
	"runtime/debug"

	"lacuna/internal/faces/commands"
)

func main() {
	// A run reads one capture, answers and ends: little of what it allocates becomes garbage, so collecting
	// rarely costs little memory and saves much time. GOGC and GOMEMLIMIT in the environment still win.
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(200)
	}
	os.Exit(commands.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
