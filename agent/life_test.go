//go:build linux && (amd64 || arm64)

package agent

import (
	"context"
	"fmt"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"lacuna/internal/base/golden"
)

// TestLife has programs in Python and C live with the whole agent in them, and end in every way that programs end.
// What they did must be in the spools, and they must not notice.
func TestLife(t *testing.T) {
	t.Parallel()
	l := newLife(t)
	for _, test := range []struct {
		name string
		run  func(*testing.T, life)
	}{
		{"never CUDA", neverCUDA}, {"CUDA and NVTX", both}, {"nowhere to write", nowhere}, {"_exit", underscoreExit},
		{"SIGTERM", sigterm}, {"SIGKILL", sigkill},
		{"fork before CUDA", forkBefore}, {"fork after CUDA", forkAfter}, {"spawn", spawn}, {"exec", execs},
		{"threads that die", dyingThreads},
		{"4000 threads", manyThreads}, {"disk full", diskFull}, {"another client", anotherClient},
		{"two devices", twoDevices}, {"two libraries", twoLibraries}, {"steps", stepsWindow},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel() // they sleep most of the time
			test.run(t, l)
		})
	}
}

func neverCUDA(t *testing.T, l life) {
	r := l.python(t, nil, `
life.life_nvtx()
life.life_thread(os.getpid(), b"the main one")
for i in range(100): push("step"); ranges("data", "load", 3); pop()
life.life_mark(b"done")
`)
	r.must(t, 1)
	s := r.streams[0]
	s.is(t, "load 300, step 100", 0)
	if s.pops != 400 || s.marks["done"] != 1 || !slices.Equal(s.domains, []string{"data"}) ||
		s.threads[uint32(s.begin.Pid)] != "the main one" {
		t.Errorf("%+v", s)
	}
	if !slices.Equal(s.windows, []bool{true, false}) || !strings.Contains(s.ended(), "exit") || s.clocks < 2 ||
		s.notes["cupti"] != nil {
		t.Errorf("windows %v, ended %q, %d clocks, notes %v", s.windows, s.ended(), s.clocks, s.notes)
	}
	if s.account.NVTX != 801 || s.account.NvtxNs == 0 || s.begin.Session != "life" {
		t.Errorf("account %+v, session %q", s.account, s.begin.Session)
	}
}

func both(t *testing.T, l life) {
	r := l.python(t, nil, `
life.life_nvtx(); life.life_cuda()
for i in range(50): push("step"); life.life_launch(20); life.life_sync(); pop()
`)
	r.must(t, 1)
	r.streams[0].is(t, "step 50", 1000)
	if r.streams[0].notes["cupti"] == nil || r.streams[0].account.Kernels != 1000 {
		t.Errorf("notes %v, account %+v", r.streams[0].notes, r.streams[0].account)
	}
}

// A folder that is not there, that cannot be written to, or none: nothing is recorded and nothing is said.
func nowhere(t *testing.T, l life) {
	for _, dir := range []string{"", "/nowhere/at/all", "/dev/null"} {
		r := l.python(t, []string{"LACUNA_DIR=" + dir}, `
life.life_nvtx(); life.life_cuda()
assert push("step") == -2 and life.life_launch(20) == 0 and pop() == -2
`)
		r.must(t, 0)
	}
}

func underscoreExit(t *testing.T, l life) {
	r := l.python(t, nil, `
life.life_nvtx(); life.life_cuda(); push("run"); ranges("d", "x", 500); life.life_launch(100); life.life_sync(); flushed(); os._exit(5)
`)
	if r.exit != 5 || len(r.streams) != 1 {
		t.Fatalf("exit %d, %d streams: %s", r.exit, len(r.streams), r.said)
	}
	r.streams[0].is(t, "run 1, x 500", 100)
	if r.streams[0].ended() != "" {
		t.Errorf("ended by %s", r.streams[0].ended())
	}
	// The first flushes come soon, whatever the period is.
	r = l.python(t, []string{"LACUNA_FLUSH_MS=60000"}, `life.life_nvtx(); ranges("d", "x", 5); flushed(); os._exit(0)`)
	r.must(t, 1)
	r.streams[0].is(t, "x 5", 0)
	r = l.python(t, nil, `life.life_nvtx(); life.life_cuda(); push("run"); life.life_launch(100); os._exit(0)`)
	if r.exit != 0 || golden.IsLong() && r.took > 10*time.Second {
		t.Errorf("at once: exit %d after %v", r.exit, r.took)
	}
}

func sigterm(t *testing.T, l life) {
	r := l.python(t, nil, `
life.life_nvtx(); life.life_cuda(); ranges("d", "x", 500); life.life_launch(100); life.life_sync(); flushed(); os.kill(os.getpid(), signal.SIGTERM); time.sleep(20)
`)
	if r.exit != 128+15 || len(r.streams) != 1 {
		t.Fatalf("exit %d, %d streams: %s", r.exit, len(r.streams), r.said)
	}
	r.streams[0].is(t, "x 500", 100)
	r = l.python(t, nil, `
signal.signal(signal.SIGTERM, lambda *a: sys.exit(7))
life.life_nvtx(); life.life_cuda(); ranges("d", "x", 500); life.life_launch(100); os.kill(os.getpid(), signal.SIGTERM); time.sleep(20)
`)
	if r.exit != 7 || len(r.streams) != 1 {
		t.Fatalf("with a handler: exit %d, %d streams: %s", r.exit, len(r.streams), r.said)
	}
	r.streams[0].is(t, "x 500", 100)
}

// A program that counts aloud is killed at random moments: the spool is whole up to its end and, a matter of time,
// has what was done a second before.
func sigkill(t *testing.T, l life) {
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("no python3")
	}
	const program = python + `
life.life_nvtx(); life.life_cuda()
with open(os.environ["COUNT"], "w", buffering=1) as f:
    for i in range(10**9):
        push("step %d" % i); life.life_launch(5); pop()
        if i % 20 == 0: f.write("%d %d\n" % (time.time_ns(), i)); time.sleep(0.002)
`
	times := 4
	if golden.IsLong() {
		times = 20
	}
	for i := range times {
		out, count := t.TempDir(), filepath.Join(t.TempDir(), "count")
		cmd := l.command(context.Background(), out, []string{"COUNT=" + count}, "python3", "-c", program)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(rand.Int63n(int64(1500 * time.Millisecond))))
		killed := time.Now()
		cmd.Process.Kill()
		cmd.Wait()
		streams := readSpools(t, out)
		text, _ := os.ReadFile(count)
		before := -1
		for line := range strings.Lines(string(text)) {
			var ns int64
			var n int
			if c, _ := fmt.Sscanf(line, "%d %d\n", &ns, &n); c == 2 && ns < killed.Add(-time.Second).UnixNano() {
				before = n
			}
		}
		if !golden.IsLong() {
			before = min(before, 0)
		}
		if before < 0 || len(streams) == 0 && !golden.IsLong() {
			continue // it had hardly begun
		}
		if len(streams) != 1 {
			t.Fatalf("%d: %d streams after %d steps", i, len(streams), before)
		}
		last, _ := strconv.Atoi(strings.TrimPrefix(streams[0].lastPush, "step "))
		if last < before || streams[0].total() != last+1 {
			t.Errorf("%d: %d pushes, the last is %q; step %d was done a second before the end", i, streams[0].total(),
				streams[0].lastPush, before)
		}
		if n := streams[0].allKernels(); n < 5*before {
			t.Errorf("%d: %d kernels of %d a second before the end", i, n, 5*before)
		}
	}
}

// workers forks four, as a DataLoader does, from within a range.
const workers = `
def workers(how):
    all = []
    for i in range(4):
        pid = os.fork()
        if pid == 0:
            ranges("data", "batch", 25)
            if how == "_exit": flushed(); os._exit(0)
            sys.exit(0)
        all.append(pid)
    for pid in all: assert os.waitpid(pid, 0)[1] == 0
`

func checkWorkers(t *testing.T, r run, kernels int) {
	t.Helper()
	r.must(t, 5)
	parent := r.streams[0]
	parent.is(t, "epoch 1, mine 10", kernels)
	for _, s := range r.streams[1:] {
		s.is(t, "batch 25, epoch 1", 0) // the parent's range is open in the child too
		if s.pops != 25 || !slices.Equal(s.domains, []string{"data"}) || len(s.notes["fork"]) != 1 ||
			!strings.Contains(s.notes["fork"][0], fmt.Sprintf(`"parent":%d`, parent.begin.Pid)) {
			t.Errorf("child %d: %d pops, domains %q, notes %v", s.begin.Pid, s.pops, s.domains, s.notes)
		}
	}
}

func forkBefore(t *testing.T, l life) {
	for _, how := range []string{"_exit", "exit"} {
		r := l.python(t, nil, workers+`
life.life_nvtx(); push("epoch"); ranges("data", "mine", 10); workers("`+how+`")
life.life_cuda(); life.life_launch(30); life.life_sync(); pop()
`)
		checkWorkers(t, r, 30)
	}
}

// The fake CUPTI aborts a child that touches it.
func forkAfter(t *testing.T, l life) {
	for _, how := range []string{"_exit", "exit"} {
		r := l.python(t, nil, workers+`
life.life_nvtx(); life.life_cuda(); push("epoch"); ranges("data", "mine", 10); life.life_launch(30); workers("`+how+`")
life.life_launch(30); life.life_sync(); pop()
`)
		checkWorkers(t, r, 60)
	}
}

func spawn(t *testing.T, l life) {
	dir := t.TempDir()
	file := filepath.Join(dir, "spawned.py")
	program := python + `
import multiprocessing
def work(n):
    assert life.life_nvtx() and life.life_cuda() == 0
    push("rank"); life.life_launch(n); life.life_sync(); pop()
if __name__ == "__main__":
    c = multiprocessing.get_context("spawn")
    all = [c.Process(target=work, args=(10 * (i + 1),)) for i in range(2)]
    for p in all: p.start()
    for p in all: p.join()
    assert [p.exitcode for p in all] == [0, 0]
    work(5)
`
	if err := os.WriteFile(file, []byte(program), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("no python3")
	}
	r := l.run(t, nil, "python3", file)
	r.must(t, 3)
	var kernels []int
	for _, s := range r.streams {
		kernels = append(kernels, s.allKernels())
		if s.pushes["rank"] != 1 || s.notes["fork"] != nil {
			t.Errorf("%d: %v, %v", s.begin.Pid, s.pushes, s.notes)
		}
	}
	slices.Sort(kernels)
	if !slices.Equal(kernels, []int{5, 10, 20}) {
		t.Errorf("kernels %v", kernels)
	}
}

// A program that becomes another keeps its process: both parts are there.
func execs(t *testing.T, l life) {
	r := l.python(t, nil, `
if os.environ.get("AGAIN"):
    life.life_nvtx(); life.life_cuda(); ranges("d", "second", 20); life.life_launch(7); sys.exit(0)
life.life_nvtx(); life.life_cuda(); ranges("d", "first", 10); life.life_launch(3); life.life_sync(); flushed()
os.environ["AGAIN"] = "1"
args = open("/proc/self/cmdline").read().split("\0")[:-1]
os.execvp(args[0], args)
`)
	r.must(t, 2)
	r.streams[0].is(t, "first 10", 3)
	r.streams[1].is(t, "second 20", 7)
	if r.streams[0].begin.Pid != r.streams[1].begin.Pid {
		t.Errorf("pids %d and %d", r.streams[0].begin.Pid, r.streams[1].begin.Pid)
	}
}

func dyingThreads(t *testing.T, l life) {
	r := l.python(t, nil, `
life.life_nvtx()
def work():
    push("python's"); pop()
for i in range(20):
    all = [threading.Thread(target=work) for j in range(10)]
    for x in all: x.start()
    for x in all: x.join()
assert life.life_threads(500, 10, 0) == 500
`)
	r.must(t, 1)
	r.streams[0].is(t, "in a thread 5000, python's 200", 0)
}

func manyThreads(t *testing.T, l life) {
	r := l.python(t, nil, `
life.life_nvtx(); life.life_cuda()
assert life.life_threads(4000, 5, 1) == 4000
print(open("/proc/self/status").read().split("VmHWM:")[1].split()[0])
`)
	if r.exit != 0 || len(r.streams) != 1 {
		t.Fatalf("exit %d, %d streams: %s", r.exit, len(r.streams), r.said)
	}
	s := r.streams[0]
	if got := s.total() + int(s.account.Dropped); got != 20000 {
		t.Errorf("%d pushes and pops in the spool, %d dropped; 40000 were made", s.total()+s.pops, s.account.Dropped)
	}
	if s.account.Dropped == 0 && len(s.tids) != 4000 {
		t.Errorf("%d threads", len(s.tids))
	}
	if kb, err := strconv.Atoi(strings.TrimSpace(r.said)); err != nil || kb > 600_000 {
		t.Errorf("peak memory %q kB: over 256 MB for the agent, beside the program and 4000 stacks", r.said)
	}
}

// The file may not grow for a while, as on a full disk: the program goes on, and so does the spool, once there is room.
func diskFull(t *testing.T, l life) {
	r := l.python(t, nil, `
import resource
life.life_nvtx(); life.life_cuda()
ranges("d", "before", 200); flushed()
_, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (1, hard))
for i in range(20): ranges("d", "full %d" % i, 200); life.life_launch(50); time.sleep(0.05)
resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
time.sleep(1.5)
ranges("d", "after", 200); flushed()
`)
	r.must(t, 1)
	s := r.streams[0]
	if s.pushes["before"] != 200 || s.pushes["after"] != 200 || s.notes["full"] == nil || s.account.Dropped == 0 {
		t.Errorf("before %d, after %d, notes %v, dropped %d", s.pushes["before"], s.pushes["after"], s.notes["full"],
			s.account.Dropped)
	}
}

func anotherClient(t *testing.T, l life) {
	r := l.python(t, []string{"FAKE_SUBSCRIBE=39"}, `
life.life_nvtx(); life.life_cuda(); ranges("d", "x", 100); life.life_launch(10); life.life_sync()
`)
	r.must(t, 1)
	r.streams[0].is(t, "x 100", 0)
	if r.streams[0].notes["refused"] == nil || !strings.Contains(strings.Join(r.streams[0].notes["state"], " "),
		"refused") {
		t.Errorf("notes %v", r.streams[0].notes)
	}
}

func twoDevices(t *testing.T, l life) {
	r := l.python(t, nil, `
life.life_cuda()
for d in (0, 1, 0): life.life_device(d); life.life_launch(10 + d); life.life_sync()
`)
	r.must(t, 1)
	if k := r.streams[0].kernels; k[0] != 20 || k[1] != 11 {
		t.Errorf("kernels by device %v", k)
	}
}

// Two libraries of a program have NVTX compiled in, each with its own tables: their domains are one.
func twoLibraries(t *testing.T, l life) {
	data, err := os.ReadFile(l.dir + "/liblife.so")
	if err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(t.TempDir(), "libother.so")
	if err := os.WriteFile(other, data, 0o755); err != nil {
		t.Fatal(err)
	}
	r := l.python(t, []string{"OTHER=" + other}, `
other = ctypes.CDLL(os.environ["OTHER"])
assert life.life_nvtx() and other.life_nvtx()
push("one"); ranges("shared", "x", 3); other.life_ranges(b"shared", b"x", 4); assert other.life_push(b"two") == 1
assert other.life_pop() == 1 and pop() == 0
`)
	r.must(t, 1)
	r.streams[0].is(t, "one 1, two 1, x 7", 0)
	if !slices.Equal(r.streams[0].domains, []string{"shared"}) {
		t.Errorf("domains %q", r.streams[0].domains)
	}
}

// Steps 2 and 3 are recorded, whole, with the ranges around them; before and after nothing is.
func stepsWindow(t *testing.T, l life) {
	r := l.python(t, []string{"LACUNA_WINDOW=steps", "LACUNA_STEPS=2:4"}, `
life.life_nvtx(); life.life_cuda(); push("epoch")
for i in range(6):
    push("step %d" % i); ranges("d", "x", 5); life.life_launch(4); life.life_sync(); pop()
    time.sleep(0.1)
pop()
`)
	r.must(t, 1)
	s := r.streams[0]
	if n := s.allKernels(); n != 8 || s.total() != 13 || s.pushes["epoch"] != 1 || s.pushes["step 2"] != 1 ||
		s.pushes["step 3"] != 1 || s.pushes["x"] != 10 || !slices.Equal(s.before, []string{"epoch"}) {
		t.Errorf("%d kernels, pushes %v, of them before the window %q", n, s.pushes, s.before)
	}
	if !slices.Equal(s.windows, []bool{true, false}) {
		t.Errorf("windows %v", s.windows)
	}
}

// TestLifeSanitized runs threads, launches, NVTX and forks at once under the sanitizers. AddressSanitizer's allocator
// does not survive a fork while another thread is in it: there the forks have a run of their own.
func TestLifeSanitized(t *testing.T) {
	golden.Long(t, sanitized)
	t.Parallel()
	for _, build := range []struct {
		name  string
		flags []string
		runs  [][2]int // threads, forks
	}{
		{"address", []string{"-fsanitize=address,undefined", "-fno-sanitize-recover=all"}, [][2]int{{6, 0}, {0, 6}}},
		{"thread", []string{"-fsanitize=thread"}, [][2]int{{6, 6}}},
	} {
		t.Run(build.name, func(t *testing.T) {
			l := newLife(t, build.flags...)
			for _, n := range build.runs {
				threads, forks := n[0], n[1]
				r := l.run(t, nil, l.dir+"/life", strconv.Itoa(threads), strconv.Itoa(forks))
				r.must(t, 1+forks)
				s := r.streams[0]
				if s.pushes["load"]+int(s.account.Dropped) < 400*threads || s.allKernels()+
					int(s.account.CuptiDropped) != 600*threads {
					t.Errorf("%v: %d loads, %d kernels, account %+v", n, s.pushes["load"], s.allKernels(), s.account)
				}
				for _, s := range r.streams[1:] {
					s.is(t, "batch 50, epoch 1", 0)
				}
			}
		})
	}
}
