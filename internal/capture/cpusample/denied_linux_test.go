package cpusample

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Tests that need another process, with fewer rights, run this binary again and tell it by this variable what to be.
const roleVariable = "LACUNA_PERF_TEST_ROLE"

// again runs a test of this binary in a process of its own.
func again(t *testing.T, role string, attr *syscall.SysProcAttr, env ...string) string {
	t.Helper()
	cmd := exec.Command("/proc/self/exe", "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Env = append(append(os.Environ(), roleVariable+"="+role), env...)
	cmd.SysProcAttr = attr
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%s: %v\n%s", role, err, out)
	}
	return string(out)
}

// A user without rights samples its own programs' user code where paranoid is 2, and is told what is missing.
func TestUnprivileged(t *testing.T) {
	needs(t)
	if os.Getenv(roleVariable) != "" {
		c := Check()
		if c.Perfmon || !c.Samples || c.Kernel != (*c.Paranoid < 2) {
			t.Fatalf("%+v", c)
		}
		r := newRecording(t)
		cmd := exec.Command(os.Getenv("HOT"), "1")
		session, err := Launch(t.Context(), Options{Switches: true, Writer: r.w}, cmd.Start)
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Wait(); err != nil {
			t.Fatal(err)
		}
		stats := session.Stop()
		r.read(t)
		if !c.Kernel && (len(stats.Notes) == 0 || !strings.Contains(stats.Notes[0], "kernel.perf_event_paranoid")) {
			t.Errorf("nothing is said of the kernel's time: %q", stats.Notes)
		}
		hot(t, r, stats, 1)
		_, err = Start(t.Context(), Options{Pid: 1, Writer: r.w})
		if e := new(Error); !errors.As(err, &e) {
			t.Errorf("the process of another user: %v", err)
		} else {
			t.Log(err)
		}
		return
	}
	if os.Getuid() != 0 || *Check().Paranoid > 2 {
		t.Skip("NOT TESTED: needs root to become another user, and kernel.perf_event_paranoid of at most 2")
	}
	program := compiled(t, "hot.c")
	dir, err := os.MkdirTemp("/tmp", "lacuna-perf-test.") // all folders above it may be entered by all
	if err == nil {
		err = os.Chmod(dir, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	copied := filepath.Join(dir, "hot")
	b, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(copied, b, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Log(again(t, "nobody", &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}, "HOT="+
		copied, "TMPDIR=/tmp"))
}

// The filter of a container is told from the kernel's own setting.
func TestSeccomp(t *testing.T) {
	needs(t)
	if os.Getenv(roleVariable) == "" {
		t.Log(again(t, "seccomp", nil))
		return
	}
	forbid(t, unix.SYS_PERF_EVENT_OPEN)
	c := Check()
	if c.Samples || !c.Seccomp || !strings.Contains(c.Why, "seccomp") || !strings.Contains(c.Fix, "PERFMON") {
		t.Errorf("%+v", c)
	}
	started := false
	_, err := Launch(t.Context(), Options{}, func() error { started = true; return nil })
	if e := new(Error); !errors.As(err, &e) || !errors.Is(err, unix.EPERM) || started {
		t.Errorf("%v, started %v", err, started)
	}
}

// forbid makes a system call fail with EPERM in every thread of this process, for good.
func forbid(t *testing.T, number uint32) {
	t.Helper()
	const seccompSetModeFilter, filterFlagTsync = 1, 1
	filter := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 0}, // seccomp_data.nr
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: number, Jf: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		t.Fatal(err)
	}
	if _, _, errno := unix.Syscall(unix.SYS_SECCOMP, seccompSetModeFilter, filterFlagTsync,
		uintptr(unsafe.Pointer(&program))); errno != 0 {
		t.Fatal(errno)
	}
}

// With too few files for its events a session says how many it needs.
func TestTooManyFiles(t *testing.T) {
	needs(t)
	if os.Getenv(roleVariable) == "" {
		t.Log(again(t, "files", nil))
		return
	}
	cmd := exec.Command("/bin/sleep", "10")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Process.Kill()
	var open []*os.File
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 64, Max: 64}); err != nil {
		t.Fatal(err)
	}
	for {
		f, err := os.Open("/dev/null")
		if err != nil {
			break
		}
		open = append(open, f)
	}
	for _, f := range open[len(open)-8:] { // enough to read /proc
		f.Close()
	}
	open = open[:len(open)-8]
	limit := unix.Rlimit{Cur: 64, Max: 64}
	_ = unix.Setrlimit(unix.RLIMIT_NOFILE, &limit)
	e := &events{attr: attributes(Options{Hz: DefaultHz}), first: map[int]int{}, attached: map[uint32]bool{}}
	threads := make([]int, 20)
	for i := range threads {
		threads[i] = cmd.Process.Pid
	}
	err := e.open(threads, []int{0})
	e.close()
	for _, f := range open {
		f.Close()
	}
	if problem := new(Error); !errors.As(err, &problem) || !strings.Contains(problem.Why, "20 events") ||
		!strings.Contains(problem.Fix, "ulimit -n") {
		t.Errorf("%v", err)
	}
}
