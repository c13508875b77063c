package record

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// recorderProcess is lacuna record as a process of its own: recorder OUTPUT WINDOW PROGRAM...
func recorderProcess(args []string) int {
	r, err := Run(context.Background(), Options{
		Args: args[2:], Library: "/nowhere", Output: args[0], Window: Window{Kind: Kind(args[1])},
		Interval: time.Second,
		In:       os.Stdin, Out: os.Stdout, Err: os.Stderr,
		Notice: func(text string) { fmt.Fprintln(os.Stderr, "notice:", text) },
	})
	if err != nil || r.Failed != nil {
		fmt.Fprintln(os.Stderr, "failed:", err, r)
		return 99
	}
	fmt.Fprintf(os.Stderr, "kernels: %d\n", r.Contents.work())
	return r.Status
}

// A running is a recorder process with a program under it.
type running struct {
	t      *testing.T
	cmd    *exec.Cmd
	output string
	said   *bytes.Buffer
}

// begin starts a recorder of a program with these words, and waits until the program's agent is there.
func begin(t *testing.T, change func(*exec.Cmd), window Kind, words ...string) *running {
	t.Helper()
	program := self(t, words...)
	r := &running{t: t, output: filepath.Join(t.TempDir(), "run.lacuna"), said: &bytes.Buffer{}}
	r.cmd = exec.Command(program[0], append([]string{"recorder", r.output, string(window)}, program...)...)
	r.cmd.Stdout, r.cmd.Stderr = r.said, r.said
	r.cmd.WaitDelay = time.Second
	if change != nil {
		change(r.cmd)
	}
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.cmd.Process.Kill() })
	return r
}

func (r *running) signal(s syscall.Signal) {
	r.t.Helper()
	if err := r.cmd.Process.Signal(s); err != nil {
		r.t.Fatal(err)
	}
}

// end waits for it and gives its exit status.
func (r *running) end() int {
	r.t.Helper()
	done := make(chan struct{})
	go func() { _ = r.cmd.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(30 * time.Second):
		_ = r.cmd.Process.Kill()
		r.t.Fatalf("does not end; it said:\n%s", r.said)
	}
	return r.cmd.ProcessState.ExitCode()
}

// spoolDir is the folder of its spools, once a process of the program has one there.
func (r *running) spoolDir() string {
	r.t.Helper()
	for range 200 {
		if found, _ := filepath.Glob(filepath.Join(filepath.Dir(r.output), "*.spools", "*-*.spool")); len(found) > 0 {
			time.Sleep(100 * time.Millisecond) // for what it does first
			return filepath.Dir(found[0])
		}
		time.Sleep(20 * time.Millisecond)
	}
	r.t.Fatalf("no spool appears; it said:\n%s", r.said)
	return ""
}

// alone puts a process where no terminal sends it signals.
func alone(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }

// A signal to lacuna alone reaches the program; what was recorded is saved.
func TestPassesSignals(t *testing.T) {
	t.Parallel()
	// Under nohup SIGHUP is ignored, and would be in the programs: a signal that is caught here begins anew there.
	caught := make(chan os.Signal, 1)
	signal.Notify(caught, syscall.SIGHUP)
	t.Cleanup(func() { signal.Stop(caught) })
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT} {
		t.Run(unix.SignalName(s), func(t *testing.T) {
			t.Parallel()
			r := begin(t, alone, Whole, "cuda", "kernels=6", "sleep=20000")
			r.spoolDir()
			r.signal(s)
			status := r.end()
			// Go programs end by SIGQUIT with status 2, and tell their stacks
			if want := 128 + int(s); status != want && !(s == syscall.SIGQUIT && status == 2) {
				t.Errorf("exit status %d, want %d:\n%s", status, want, r.said)
			}
			if !strings.Contains(r.said.String(), "kernels: 6\n") {
				t.Errorf("it said:\n%s", r.said)
			}
		})
	}
}

// A program without a handler is gone with the signal: its agent writes what it holds before the program gets it.
func TestAgentsWriteBeforeTheSignal(t *testing.T) {
	t.Parallel()
	r := begin(t, alone, Whole, "cuda", "hold=6", "sleep=20000")
	r.spoolDir()
	r.signal(syscall.SIGTERM)
	if status := r.end(); status != 128+15 || !strings.Contains(r.said.String(), "kernels: 6\n") {
		t.Errorf("exit status %d:\n%s", status, r.said)
	}
}

// A program that goes on after Ctrl-C: what is recorded is saved at once, and again at the end. Ctrl-C again kills it.
func TestStubbornProgram(t *testing.T) {
	t.Parallel()
	r := begin(t, alone, Whole, "catch", "cuda", "kernels=6", "child=catch+cuda+kernels=1+sleep=60000")
	r.spoolDir()
	for deadline := time.Now().Add(5 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		if found, _ := filepath.Glob(filepath.Join(filepath.Dir(r.output), "*.spools",
			"*-*.spool")); len(found) == 2 || time.Now().After(deadline) {
			break
		}
	}
	time.Sleep(100 * time.Millisecond)
	r.signal(syscall.SIGINT)
	for deadline := time.Now().Add(10 * time.Second); !exists(r.output); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not saved:\n%s", r.said)
		}
	}
	c, err := Inspect(t.Context(), []string{r.output})
	if err != nil || c.work() != 7 {
		t.Errorf("saved early: %d kernels, %v", c.work(), err)
	}
	r.signal(syscall.SIGINT)
	if status := r.end(); status != 137 {
		t.Errorf("exit status %d:\n%s", status, r.said)
	}
	if said := r.said.String(); !strings.Contains(said, "recording has stopped and is saved") ||
		!strings.Contains(said, "kernels: 7\n") {
		t.Errorf("it said:\n%s", said)
	}
}

func exists(path string) bool { _, err := os.Stat(path); return err == nil }

// Ctrl-C on a terminal reaches the program once: the terminal sends it to both.
func TestTerminal(t *testing.T) {
	t.Parallel()
	master, slave := openTerminal(t)
	r := begin(t, func(cmd *exec.Cmd) {
		cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	}, Whole, "catch", "cuda", "kernels=2", "sleep=1500", "count")
	said := make(chan string, 1)
	go func() {
		var all []byte
		buf := make([]byte, 1<<12)
		for {
			n, err := master.Read(buf)
			all = append(all, buf[:n]...)
			if err != nil || bytes.Contains(all, []byte("kernels:")) {
				said <- string(all)
				return
			}
		}
	}()
	r.spoolDir()
	if _, err := master.Write([]byte{3}); err != nil {
		t.Fatal(err)
	}
	status := r.end()
	select {
	case text := <-said:
		if status != 0 || !strings.Contains(text, "interrupts: 1\r\n") || !strings.Contains(text, "kernels: 2") {
			t.Errorf("exit status %d, it said:\n%s", status, text)
		}
	case <-time.After(5 * time.Second):
		t.Error("nothing is said on the terminal")
	}
}

// openTerminal gives both ends of a new terminal.
func openTerminal(t *testing.T) (master, slave *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip("no terminals here: ", err)
	}
	t.Cleanup(func() { master.Close() })
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		slave, err = os.OpenFile("/dev/pts/"+strconv.Itoa(n), os.O_RDWR|unix.O_NOCTTY, 0)
	}
	if err != nil {
		t.Skip("no terminals here: ", err)
	}
	t.Cleanup(func() { slave.Close() })
	return master, slave
}

// nohup means nohup.
func TestNohup(t *testing.T) {
	t.Parallel()
	r := begin(t, func(cmd *exec.Cmd) {
		alone(cmd)
		cmd.Args = append([]string{"sh", "-c", `trap "" HUP; exec "$@"`, "sh"}, cmd.Args...)
		cmd.Path = "/bin/sh"
	}, Whole, "cuda", "kernels=2", "sleep=1000", "exit=4")
	r.spoolDir()
	r.signal(syscall.SIGHUP)
	if status := r.end(); status != 4 {
		t.Errorf("exit status %d:\n%s", status, r.said)
	}
}

// When lacuna is killed the program goes on, and what it recorded can be packed afterwards.
func TestKilledRecorder(t *testing.T) {
	t.Parallel()
	r := begin(t, alone, Whole, "cuda", "kernels=9", "sleep=800", "kernels=1", "sleep=100")
	dir := r.spoolDir()
	r.signal(syscall.SIGKILL)
	_ = r.cmd.Wait()
	time.Sleep(4 * time.Second) // the program still records, on a busy machine for longer
	p, err := Pack(t.Context(), []string{dir}, r.output, false)
	if err != nil || p.Contents.work() != 10 {
		t.Errorf("%+v, %v", p, err)
	}
}

// An armed program records when it is asked to, as often as wanted, and costs no file before.
func TestArmed(t *testing.T) {
	t.Parallel()
	r := begin(t, alone, Armed, "cuda", "kernels=3", "await=recording", "kernels=5", "await=stopped", "kernels=7")
	pid := waitForAgent(t, r)
	if found, _ := filepath.Glob(filepath.Join(filepath.Dir(r.output), "*.spools", "*-*.spool")); len(found) > 0 {
		t.Errorf("it writes already: %v", found)
	}
	s, err := Ask(t.Context(), pid, "start 2.5")
	if err != nil || s.State != StateRecording || s.Spool == "" || s.Pid != pid {
		t.Fatalf("%+v, %v", s, err)
	}
	for deadline := time.Now().Add(10 * time.Second); s.Records < 5 &&
		time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if s, err = Ask(t.Context(), pid, "status"); err != nil {
			t.Fatal(err)
		}
	}
	part := filepath.Join(t.TempDir(), "part.lacuna")
	if p, err := Pack(t.Context(), []string{s.Spool}, part, false); err != nil || p.Contents.work() != 5 ||
		len(p.Contents.Remarks()) > 0 {
		t.Errorf("while it records: %+v, %v", p, err)
	}
	s, err = Ask(t.Context(), pid, "stop")
	if err != nil || s.State != StateStopped || s.Records != 5 {
		t.Errorf("%+v, %v", s, err)
	}
	if status := r.end(); status != 0 || !strings.Contains(r.said.String(), "kernels: 5\n") {
		t.Errorf("exit status %d:\n%s", status, r.said)
	}
	if _, err := Ask(t.Context(), pid, "status"); err == nil || !strings.Contains(err.Error(), "no such process") {
		t.Errorf("of a process that has ended: %v", err)
	}
	if _, err := Ask(t.Context(), os.Getpid(), "status"); err == nil ||
		!strings.Contains(err.Error(), "has no agent that listens") {
		t.Errorf("of a process that is not recorded: %v", err)
	}
}

// waitForAgent gives the process under the recorder once its agent listens.
func waitForAgent(t *testing.T, r *running) int {
	t.Helper()
	for range 200 {
		pids, err := Agents()
		if err != nil {
			t.Fatal(err)
		}
		for _, pid := range pids {
			if _, parent, ok := stat(pid); ok && parent == r.cmd.Process.Pid {
				return pid
			}
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Fatalf("no agent listens; it said:\n%s", r.said)
	return 0
}

// A disk without room: what is missing is told; a file that does not fit is none, and the spools stay.
func TestFullDisk(t *testing.T) {
	small := t.TempDir()
	if err := unix.Mount("tmpfs", small, "tmpfs", 0, "size=64k"); err != nil {
		t.Skip("no small disk can be made here: ", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(small, unix.MNT_DETACH) })
	o := options(t, self(t, "cuda", "kernels=20")...)
	o.SpoolDir = small
	var said []string
	o.Notice = func(text string) { said = append(said, text) }
	r := mustRun(t, o)
	if len(said) != 1 || !strings.Contains(said[0], "are free on the disk of") || len(r.Remarks) != 1 ||
		!strings.Contains(r.Remarks[0], "the disk was full, or nearly") {
		t.Errorf("%q, %q", said, r.Remarks)
	}
	if err := os.WriteFile(filepath.Join(small, "rest"), make([]byte, 60<<10), 0o600); err != nil {
		t.Fatal(err)
	}
	o.Output, o.SpoolDir = filepath.Join(small, "x.lacuna"), t.TempDir()
	o.Args = self(t, "cuda", "kernels=20000", "exit=6")
	r, err := Run(t.Context(), o)
	if err != nil || r.Failed == nil || !strings.Contains(r.Failed.Error(), "no space left") || r.Status != 6 {
		t.Fatalf("%+v, %v", r, err)
	}
	c, err := Pack(t.Context(), []string{r.Spools}, filepath.Join(t.TempDir(), "y.lacuna"), false)
	if err != nil || c.Contents.work() != 20000 {
		t.Errorf("%+v, %v", c, err)
	}
	if left, _ := os.ReadDir(small); len(left) != 1 {
		t.Errorf("left behind: %v", left)
	}
}
