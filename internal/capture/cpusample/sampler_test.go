package cpusample

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"lacuna/internal/capture/spool"
)

// fed is a sampler that nothing is known to but what a test says; its /proc is empty.
type fed struct {
	*sampler
	r    *recording
	proc string
}

func newFed(t *testing.T) *fed {
	f := &fed{r: newRecording(t), proc: t.TempDir()}
	f.sampler = newSampler(f.r.w, newSymbols(f.proc))
	return f
}

func (f *fed) feed(records ...[]byte) {
	for _, b := range records {
		f.take(0, b)
	}
}

// end resolves all and gives the stacks of the samples, in the order of their times.
func (f *fed) end(t *testing.T) (stacks []string) {
	t.Helper()
	f.turn(^uint64(0), 0)
	f.resolve(true)
	f.r.read(t)
	slices.SortFunc(f.r.samples, func(a, b spool.Sample) int { return int(a.Time) - int(b.Time) })
	for _, s := range f.r.samples {
		stacks = append(stacks, f.r.stack(s.Frame))
	}
	return stacks
}

func same(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("stacks\n %s\nwant\n %s", strings.Join(got, "\n "), strings.Join(want, "\n "))
	}
}

// Records of several CPUs come in any order; what counts is their time. After exec the memory is new.
func TestSamplerOrder(t *testing.T) {
	f := newFed(t)
	f.feed(
		sampleOf(10, 10, 60, 2, contextUser, 0x1010),
		sampleOf(10, 10, 30, 2, contextUser, 0x1010),
		made(recordComm, miscExec, 40, u32s(10, 10), name("new")),
		mmapOf(10, 50, 0x1000, 0x1000, 0, "/no/new.so"),
		mmapOf(10, 20, 0x1000, 0x1000, 0x200, "/no/old.so"),
	)
	same(t, f.end(t), "old.so+0x210", "new.so+0x10")
}

// What may still be preceded by something is held back.
func TestSamplerHoldsBack(t *testing.T) {
	f := newFed(t)
	f.feed(mmapOf(10, 20, 0x1000, 0x1000, 0, "/no/a.so"), sampleOf(10, 10, 70, 2, contextUser, 0x1010))
	f.turn(50, 0)
	f.resolve(false)
	f.feed(mmapOf(10, 60, 0x1000, 0x1000, 0, "/no/b.so"))
	same(t, f.end(t), "b.so+0x10")
}

// Callers are looked up by the call, not by what follows it; a caller that lies nowhere ends the stack.
func TestSamplerCallers(t *testing.T) {
	f := newFed(t)
	f.feed(
		mmapOf(10, 1, 0x1000, 0x1000, 0, "/no/a.so"), mmapOf(10, 2, 0x2000, 0x1000, 0, "/no/b.so"),
		sampleOf(10, 10, 10, 2, contextUser, 0x1010, 0x2000, 0x2010),
		sampleOf(10, 10, 20, 2, contextUser, 0x1010, 0x2010, 0xdead, 0x2020),
		sampleOf(10, 10, 30, 2, contextUser, 0x1010, 0xdead, 0x2020),
		sampleOf(10, 10, 40, 1, contextUser, 0x1010),
		sampleOf(10, 10, 50, 1),
	)
	same(t, f.end(t), "b.so+0xf;a.so+0xfff;a.so+0x10", "b.so+0xf;a.so+0x10", "a.so+0x10", "a.so+0x10;[kernel]",
		"[kernel]")
	var s Stats
	if f.account(&s); s.OneFrame != 1 || s.Samples != 5 {
		t.Errorf("%+v", s)
	}
}

// Code made at run time gets the name that its process writes, also later; a fork without exec has its parent's.
func TestSamplerLateNames(t *testing.T) {
	f := newFed(t)
	tmp := filepath.Join(f.proc, "10", "root", "tmp")
	if err := os.MkdirAll(tmp, 0o700); err != nil {
		t.Fatal(err)
	}
	f.feed(
		mmapOf(10, 1, 0x1000, 0x1000, 0, "//anon"), mmapOf(10, 2, 0x5000, 0x1000, 0, "/no/c.so"),
		sampleOf(10, 10, 10, 2, contextUser, 0x5010, 0x1011, 0x1021),
		sampleOf(10, 10, 20, 2, contextUser, 0x1400),
		made(recordFork, 0, 30, u32s(20, 10, 20, 10), u64s(30)),
		sampleOf(20, 20, 40, 2, contextUser, 0x1010),
	)
	f.turn(100, 0)
	f.resolve(false)
	if err := os.WriteFile(filepath.Join(tmp, "perf-10.map"),
		[]byte("1010 10 py::inner:/m.py\n1020 10 py::outer:/m.py\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	f.resolve(false)
	f.feed(sampleOf(20, 20, 200, 2, contextUser, 0x1010, 0x1021))
	same(t, f.end(t), "outer (/m.py);inner (/m.py);c.so+0x10", "[jit]+0x400", "inner (/m.py)",
		"outer (/m.py);inner (/m.py)")
}

func TestSamplerSwitchesAndTasks(t *testing.T) {
	f := newFed(t)
	f.feed(
		made(recordSwitch, 0, 5),
		made(recordSwitch, miscSwitchOut|miscPreempted, 9),
		made(recordComm, 0, 10, u32s(10, 11), name("main")),
		made(recordComm, 0, 11, u32s(10, 11), name("main")),
		made(recordFork, 0, 12, u32s(10, 10, 12, 11), u64s(12)),
		made(recordLost, 0, 13, u64s(1, 4)), made(recordThrottle, 0, 14, u64s(14, 1, 1)),
		[]byte{1}, made(99, 0, 1),
	)
	f.end(t)
	wantSwitches := []spool.Switch{{Time: 5, Pid: 10, Tid: 11, CPU: 3, In: 1},
		{Time: 9, Pid: 10, Tid: 11, CPU: 3, Preempted: 1}}
	if !slices.Equal(f.r.switches, wantSwitches) {
		t.Errorf("%+v", f.r.switches)
	}
	var tasks []string
	for _, task := range f.r.tasks {
		tasks = append(tasks, fmt.Sprintf("%d %d %s", task.Pid, task.Tid, f.r.texts[task.Name]))
	}
	same(t, tasks, "10 11 main", "10 12 main")
	var s Stats
	if f.account(&s); s.Switches != 2 || s.Lost != 4 || s.Throttle != 1 || s.Broken != 1 {
		t.Errorf("%+v", s)
	}
}

// Stacks have a bound; what goes over it keeps its samples and is counted. The stacks of processes that have ended
// are let go.
func TestSamplerBounds(t *testing.T) {
	f := newFed(t)
	chain := make([]uint64, MaxDepth)
	chain[0] = contextUser
	feed := func(pid uint32, n int) {
		f.feed(mmapOf(pid, 1, 0x1000, 1<<40, 0, "/no/a.so"))
		for i := range n {
			for j := 1; j < len(chain); j++ {
				chain[j] = uint64(0x1000 + i*200 + j)
			}
			f.feed(sampleOf(pid, pid, uint64(10+i), 2, chain...))
		}
		f.turn(^uint64(0), 0)
	}
	feed(10, 40_000)
	if f.stackBytes > maxStackBytes || f.stackBytes < maxStackBytes/2 {
		t.Errorf("%d bytes of stacks", f.stackBytes)
	}
	f.fresh = f.fresh[:100] // the others would only take time
	f.feed(made(recordExit, 0, 100_000, u32s(10, 1, 10, 1), u64s(100_000)))
	f.turn(^uint64(0), 0)
	f.resolve(false)
	if f.stackBytes != 0 || len(f.spaces) != 0 {
		t.Errorf("%d bytes of stacks of a process that has ended, %d processes", f.stackBytes, len(f.spaces))
	}
	feed(11, 10)
	f.end(t)
	var s Stats
	if f.account(&s); s.Samples != 40_010 || s.Over == 0 || s.Over > 30_000 {
		t.Errorf("%+v", s)
	}
	if len(s.remarks()) == 0 {
		t.Error("nothing is said of it")
	}
}

// Stacks of a long recording go on being taken: those that were resolved are forgotten where there is no room for more.
func TestStacksAreForgotten(t *testing.T) {
	f := newFed(t)
	f.feed(mmapOf(10, 1, 0x1000, 1<<40, 0, "/no/a.so"))
	chain := make([]uint64, 127)
	chain[0] = contextUser
	for round := range uint64(5) {
		for i := range uint64(10_000) {
			for j := range chain[1:] {
				chain[1+j] = 0x1000 + (round*10_000+i)*200 + uint64(j)
			}
			f.feed(sampleOf(10, 10, 10+i, 2, chain...))
		}
		f.turn(^uint64(0), 0)
		for _, w := range f.waiting {
			if w.stack == f.over {
				t.Fatalf("round %d: a stack is left out", round)
			}
		}
		if f.stackBytes > maxStackBytes || f.freshBytes > maxStackBytes {
			t.Fatalf("round %d: %d bytes of stacks, %d to be resolved", round, f.stackBytes, f.freshBytes)
		}
		f.fresh, f.waiting, f.freshBytes = nil, nil, 0 // as resolve does, in less time
	}
}

// What limits the samples is told, each thing once and from one sample in twenty on.
func TestRemarks(t *testing.T) {
	for _, test := range []struct {
		s    Stats
		want []string
	}{
		{Stats{}, nil},
		{Stats{Samples: 100, Cut: 5, Astray: 5, OneFrame: 5}, nil},
		{Stats{Samples: 100, Cut: 40}, []string{"40 of 100 samples (40%) have deeper stacks"}},
		{Stats{Samples: 100, Astray: 40, OneFrame: 38}, []string{"38 of 100 samples (38%) have one frame only"}},
		{Stats{Samples: 100, Astray: 40, OneFrame: 2},
			[]string{"40 of 100 samples (40%) have stacks that end at code"}},
	} {
		got := test.s.remarks()
		if len(got) != len(test.want) || len(got) > 0 && !strings.HasPrefix(got[0], test.want[0]) {
			t.Errorf("%+v: %q, want %q", test.s, got, test.want)
		}
	}
}

func TestFramesBound(t *testing.T) {
	f := newFed(t)
	for i := range uint32(maxFrames - 1) {
		f.tree.nodes[node{parent: i, symbol: 1}] = i + 1
	}
	f.feed(mmapOf(10, 1, 0x1000, 0x1000, 0, "/no/a.so"), sampleOf(10, 10, 10, 2, contextUser, 0x1010, 0x1021))
	f.turn(^uint64(0), 0)
	f.resolve(true)
	var s Stats
	if f.account(&s); s.Over != 1 || len(f.tree.nodes) != maxFrames {
		t.Errorf("%+v, %d frames", s, len(f.tree.nodes))
	}
}
