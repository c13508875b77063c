package record

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"lacuna/internal/capture/spool"
)

// The test binary is also what the tests run: a program with something in it that behaves as the agent does
// (program), and lacuna record itself, where a test needs it as a process of its own (recorder).
func TestMain(m *testing.M) {
	switch {
	case len(os.Args) > 2 && os.Args[1] == "program":
		os.Exit(program(os.Args[2:]))
	case len(os.Args) > 2 && os.Args[1] == "recorder":
		os.Exit(recorderProcess(os.Args[2:]))
	}
	os.Exit(m.Run())
}

func self(t *testing.T, words ...string) []string {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return append([]string{path, "program"}, words...)
}

// A fakeAgent is to the recorder what the agent is: a spool, and a socket that answers.
type fakeAgent struct {
	mu    sync.Mutex
	path  string
	w     *spool.Writer
	state string
	rows  int64
	held  int // kernels in buffers
}

// newFakeAgent does what the agent does when it is loaded.
func newFakeAgent() *fakeAgent {
	a := &fakeAgent{state: StateArmed}
	p, _, _ := stat(os.Getpid())
	a.path = filepath.Join(os.Getenv("LACUNA_DIR"), fmt.Sprintf("%d-%d.spool", p.pid, p.start))
	l, err := net.Listen("unix", fmt.Sprintf("@lacuna-%d-%d", os.Getuid(), os.Getpid()))
	if err != nil {
		panic(err)
	}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			line, _ := bufio.NewReader(c).ReadString('\n')
			fmt.Fprintln(c, a.answer(strings.TrimSpace(line)))
			c.Close()
		}
	}()
	if os.Getenv("LACUNA_WINDOW") != "armed" {
		a.answer("start")
	}
	return a
}

func (a *fakeAgent) answer(request string) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	word, _, _ := strings.Cut(request, " ")
	switch {
	case word == "start":
		a.open()
		a.state = StateRecording
		_ = a.w.Append(spool.Window{Time: spool.Real(time.Now().UnixNano()), On: 1, Why: a.w.Text(request)})
	case word == "stop" && a.w != nil:
		if a.held > 0 { // takes a moment to write, as the real one's rings do
			time.Sleep(100 * time.Millisecond)
			a.append(a.held)
		}
		a.state = StateStopped
		_ = a.w.Append(spool.Window{Time: spool.Real(time.Now().UnixNano()), Why: a.w.Text(request)})
	}
	s := Status{State: a.state, Why: "asked", Pid: os.Getpid(), Records: a.rows}
	if a.w != nil {
		_ = a.w.Flush()
		s.Spool, s.Bytes = a.path, a.w.Bytes()
	}
	said, _ := json.Marshal(s)
	return string(said)
}

func (a *fakeAgent) open() {
	if a.w != nil {
		return
	}
	file, err := os.OpenFile(a.path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		panic(err)
	}
	a.w, err = spool.NewWriter(file, spool.Begin{Role: spool.RoleAgent, Session: os.Getenv("LACUNA_SESSION"),
		Pid: int64(os.Getpid()), Command: os.Args, RealNs: time.Now().UnixNano()})
	if err != nil {
		panic(err)
	}
	_ = a.w.Note("cupti", map[string]any{"version": 130000})
}

func (a *fakeAgent) now() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.state
}

// kernels records some kernels.
func (a *fakeAgent) kernels(n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.state != StateRecording {
		return
	}
	a.append(n)
	_ = a.w.Flush()
}

// append is kernels under the lock.
func (a *fakeAgent) append(n int) {
	now := uint64(time.Now().UnixNano())
	for i := range n {
		_ = a.w.Append(spool.Kernel{Start: spool.GPU(now + uint64(i)), End: spool.GPU(now + uint64(i) + 1),
			Name: a.w.Text("gemm")})
	}
	a.rows += int64(n)
	_ = a.w.Append(spool.Account{Records: uint64(a.rows), Kernels: uint64(a.rows)})
}

// program is a program that is recorded. words say what it does, one after the other; "cuda" loads the agent.
func program(words []string) int {
	var a *fakeAgent
	interrupts := make(chan os.Signal, 16)
	for _, word := range words {
		what, how, _ := strings.Cut(word, "=")
		n, _ := strconv.Atoi(how)
		switch what {
		case "cuda":
			a = newFakeAgent()
		case "kernels":
			a.kernels(n)
		case "hold": // kernels that are written only when recording is stopped
			a.held = n
		case "note":
			kind, fields, _ := strings.Cut(how, ":")
			_ = a.w.Note(kind, json.RawMessage(fields))
		case "account":
			_ = a.w.Append(spool.Account{Records: 10, Dropped: uint64(n), CuptiDropped: 3, Unfinished: 1})
			_ = a.w.Flush()
		case "self": // what somebody else would ask
			a.answer(how)
		case "await": // a state of the agent
			for a.now() != how {
				time.Sleep(5 * time.Millisecond)
			}
		case "cat":
			line, _ := bufio.NewReader(os.Stdin).ReadString('\n')
			fmt.Print(line)
		case "env":
			fmt.Println(os.Getenv(how))
		case "pids":
			fmt.Println(os.Getpid(), os.Getppid())
		case "sleep":
			time.Sleep(time.Duration(n) * time.Millisecond)
		case "catch":
			signal.Notify(interrupts, syscall.SIGINT)
		case "count":
			fmt.Println("interrupts:", len(interrupts))
		case "exit":
			return n
		case "signal":
			_ = syscall.Kill(os.Getpid(), syscall.Signal(n))
			time.Sleep(time.Minute)
		case "child", "orphan": // another process of the program, that does the rest
			child := exec.Command(os.Args[0], append([]string{"program"}, strings.Split(how, "+")...)...)
			child.Stdout, child.Stderr = os.Stdout, os.Stderr
			if err := child.Start(); err != nil {
				panic(err)
			}
			if what == "child" {
				_ = child.Wait()
			}
		default:
			panic("no such word: " + word)
		}
	}
	return 0
}
