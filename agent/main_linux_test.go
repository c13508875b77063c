//go:build linux && (amd64 || arm64)

package agent

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// TestMain runs the tests in a process of their own and cleans up after it: programs that tests started, and
// what those started, are killed, and their files are removed, also when the tests ran out of time or crashed,
// where no cleanup of a test runs.
func TestMain(m *testing.M) {
	const inside = "LACUNA_TEST_INSIDE"
	if os.Getenv(inside) != "" {
		os.Unsetenv(inside)
		os.Exit(m.Run())
	}
	os.Exit(supervise(inside + "=1"))
}

// supervise runs this program again with a setting and a folder for temporary files of its own, and returns its
// exit status.
func supervise(setting string) int {
	dir, err := os.MkdirTemp("", "lacuna-agent-test.")
	if err == nil {
		err = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) // whose parent ends becomes a child of this
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer removeAll(dir)
	defer killChildren()
	runtime.LockOSThread() // or else the thread that a child's death is tied to may end before this process
	cmd := exec.Command(os.Args[0], os.Args[1:]...)
	cmd.Env = append(os.Environ(), setting, "TMPDIR="+dir)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGQUIT)
	if err := cmd.Start(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	go func() {
		for s := range signals {
			_ = cmd.Process.Signal(s)
		}
	}()
	_ = cmd.Wait()
	return exitOf(cmd.ProcessState)
}

// killChildren kills what is left, until nothing is: what a killed process started becomes a child of this one.
func killChildren() {
	for {
		stats, _ := filepath.Glob("/proc/[0-9]*/stat")
		for _, stat := range stats {
			text, _ := os.ReadFile(stat)
			// state, then the parent
			_, rest, _ := strings.Cut(string(text[max(0, strings.LastIndex(string(text), ")")):]), " ")
			if fields := strings.Fields(rest); len(fields) > 1 && fields[1] == strconv.Itoa(os.Getpid()) {
				pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(stat)))
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		}
		if _, err := syscall.Wait4(-1, nil, 0, nil); err != nil && err != syscall.EINTR {
			return // no child is left
		}
	}
}

// removeAll removes a folder with the file systems that are mounted in it.
func removeAll(dir string) {
	if mounts, err := os.Open("/proc/self/mountinfo"); err == nil {
		defer mounts.Close()
		for lines := bufio.NewScanner(mounts); lines.Scan(); {
			if fields := strings.Fields(lines.Text()); len(fields) > 4 && strings.HasPrefix(fields[4], dir+"/") {
				_ = unix.Unmount(fields[4], unix.MNT_DETACH)
			}
		}
	}
	if err := os.RemoveAll(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
}
