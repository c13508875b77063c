package cpusample

import (
	"hash/maphash"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"lacuna/internal/capture/spool"
)

// maxWaiting bounds the samples that wait to be resolved: 40 s of 128 busy CPUs.
const maxWaiting = 1 << 20

// maxSpare bounds the stacks of dumps, of up to 64 KiB, that are kept to be used again.
const maxSpare = 1 << 9

// maxNamesOfTasks bounds the threads whose names are remembered.
const maxNamesOfTasks = 1 << 16

// A sampler makes rows of records. take and turn are called by the goroutine that drains, resolve by another.
type sampler struct {
	w    *spool.Writer
	tree *tree // of resolve

	// Of take and turn.
	early  []record  // not yet in order
	unwind *unwinder // nil: samples have no dumps
	spare  [][]byte  // for the stacks of dumps, which have gone

	mu         sync.Mutex
	spaces     map[uint32]*space
	tasks      map[uint32]string // names that were written, by thread
	forked     map[uint32]bool   // threads that inherited events; nil once nobody asks
	fresh      []*stack          // to be resolved
	waiting    []sample
	stackBytes int64 // of the stacks that spaces remember
	freshBytes int64 // of fresh
	key        []byte
	seed       maphash.Seed
	stats      Stats
	over       *stack // of samples whose stack has no room
}

// A sample waits for its stack's frame.
type sample struct {
	timeNs, weightNs uint64
	pid, tid, cpu    uint32
	stack            *stack
}

func newSampler(w *spool.Writer, s *symbols) *sampler {
	return &sampler{
		w: w, tree: newTree(w, s), spaces: map[uint32]*space{}, tasks: map[uint32]string{}, forked: map[uint32]bool{},
		over: &stack{shortened: true}, seed: maphash.MakeSeed(),
	}
}

// known takes in a process that runs already, and its descendants: their memory and their threads' names.
func (s *sampler) known(root int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	proc := s.tree.symbols.proc
	for _, pid := range processesBelow(proc, root) {
		s.space(uint32(pid))
		dir := filepath.Join(proc, strconv.Itoa(pid), "task")
		for _, tid := range numbersIn(dir) {
			if b, err := os.ReadFile(filepath.Join(dir, strconv.Itoa(tid), "comm")); err == nil {
				s.task(uint32(pid), uint32(tid), strings.TrimSuffix(string(b), "\n"))
			}
		}
	}
}

// inherited is the threads that sampled threads have created so far. It is asked for once.
func (s *sampler) inherited() map[uint32]bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.forked
	s.forked = nil
	return out
}

// take takes a record from a ring. Context switches are written at once; the rest waits for its turn.
func (s *sampler) take(_ int, b []byte) {
	r, ok := parse(b, s.unwind != nil)
	if !ok {
		s.stats.Broken++
		return
	}
	switch r.kind {
	case recordSwitch:
		if r.tid == noTask {
			return // of a thread that has ended already
		}
		s.stats.Switches++
		_ = s.w.Append(spool.Switch{Time: spool.Mono(r.timeNs), Pid: r.pid, Tid: r.tid, CPU: r.cpu, In: bit(!r.out),
			Preempted: bit(r.preempted)})
	case recordLost, recordLostSample:
		s.stats.Lost += int64(r.count)
	case recordThrottle:
		s.stats.Throttle++
	case recordSample:
		if r.dump != nil {
			r.dump.stack = append(s.buffer(), r.dump.stack...)
		}
		s.early = append(s.early, r)
	case recordMmap2, recordComm, recordFork, recordExit:
		s.early = append(s.early, r)
	}
}

// buffer is an empty one for a stack.
func (s *sampler) buffer() (b []byte) {
	if n := len(s.spare); n > 0 {
		b, s.spare = s.spare[n-1], s.spare[:n-1]
	}
	return b[:0]
}

// noTask is the ID of a thread that is gone.
const noTask = ^uint32(0)

func bit(b bool) uint8 {
	if b {
		return 1
	}
	return 0
}

// turn handles what was taken up to a time, in order of time: rings of several CPUs are each in order, but not
// together.
func (s *sampler) turn(until uint64, broken int64) {
	slices.SortStableFunc(s.early, func(a, b record) int {
		switch {
		case a.timeNs < b.timeNs:
			return -1
		case a.timeNs > b.timeNs:
			return 1
		}
		return 0
	})
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stats.Broken += broken
	n := 0
	for ; n < len(s.early) && s.early[n].timeNs <= until; n++ {
		s.handle(&s.early[n])
	}
	rest := copy(s.early, s.early[n:])
	clear(s.early[rest:]) // lets go of stacks
	s.early = s.early[:rest]
}

func (s *sampler) handle(r *record) {
	switch r.kind {
	case recordSample:
		s.sample(r)
	case recordMmap2:
		m := &mapping{start: r.start, end: r.start + r.size, offset: r.offset, inode: r.inode, path: r.name}
		if !s.space(r.pid).add(m) {
			s.stats.Broken++
		}
	case recordComm:
		if r.exec {
			s.renew(r.pid, newSpace(r.pid))
		}
		s.task(r.pid, r.tid, r.name)
	case recordFork:
		if s.forked != nil {
			s.forked[r.tid] = true
		}
		if r.pid != r.parent {
			s.renew(r.pid, s.space(r.parent).fork(r.pid))
		}
		if name := s.tasks[r.parentTid]; name != "" {
			s.task(r.pid, r.tid, name)
		}
	case recordExit:
		delete(s.tasks, r.tid)
		if sp := s.spaces[r.pid]; sp != nil && r.pid == r.tid {
			sp.ended = true
		}
	}
}

// renew gives a process new memory; the old is let go once its stacks are resolved.
func (s *sampler) renew(pid uint32, with *space) {
	if old := s.spaces[pid]; old != nil {
		s.stackBytes -= old.stackBytes
	}
	s.spaces[pid] = with
}

// space is the memory of a process: one that is not known yet is asked for.
func (s *sampler) space(pid uint32) *space {
	sp := s.spaces[pid]
	if sp == nil {
		sp = newSpace(pid)
		sp.readMaps(s.tree.symbols.proc)
		s.spaces[pid] = sp
	}
	return sp
}

// task writes a thread's name, unless it was.
func (s *sampler) task(pid, tid uint32, name string) {
	if s.tasks[tid] == name || name == "" {
		return
	}
	if len(s.tasks) < maxNamesOfTasks {
		s.tasks[tid] = name
	}
	_ = s.w.Append(spool.Task{Pid: pid, Tid: tid, Name: s.w.Text(name)})
}

func (s *sampler) sample(r *record) {
	if len(s.waiting) >= maxWaiting {
		s.stats.Lost++
		return
	}
	s.stats.Samples++
	sp := s.space(r.pid)
	if r.dump != nil {
		s.walk(sp, r)
	}
	if r.cut {
		s.stats.Cut++
	}
	st := s.intern(sp, r)
	if st == nil {
		st = s.over
	}
	s.waiting = append(s.waiting, sample{r.timeNs, r.weightNs, r.pid, r.tid, r.cpu, st})
}

// walk takes the stack by call frame information instead of that by frame pointers, unless it is the shorter one.
func (s *sampler) walk(sp *space, r *record) {
	stack, end := s.unwind.walk(sp, r.dump)
	if end == atStart || len(stack) >= inCode(sp, r.stack) {
		r.stack, r.cut = stack, end == tooDeep
	}
	switch end {
	case atStart:
		s.stats.Whole++
	case astray:
		s.stats.Astray++
	}
	if len(s.spare) < maxSpare {
		s.spare = append(s.spare, r.dump.stack)
	}
	r.dump = nil
}

// inCode is how many frames of a stack lie in code.
func inCode(sp *space, stack []uint64) int {
	for i, a := range stack {
		if i > 0 && sp.at(a-1) == nil {
			return i
		}
	}
	return len(stack)
}

// resolve names the stacks that are new and writes the samples that wait. final: the program has ended, or sampling
// has.
func (s *sampler) resolve(final bool) {
	s.mu.Lock()
	waiting, fresh := s.waiting, s.fresh
	s.waiting, s.fresh, s.freshBytes = nil, nil, 0
	places := make([][]place, len(fresh))
	for i, st := range fresh {
		places[i] = st.places()
	}
	s.mu.Unlock()

	for i, st := range fresh {
		var whole bool
		st.alone = len(places[i]) == 1 && !st.kernel
		st.frame, whole = s.tree.resolve(st.space, places[i], st.kernel)
		st.shortened = !whole
	}
	var over, alone int64
	for _, w := range waiting {
		if w.stack.shortened {
			over++
		}
		if w.stack.alone {
			alone++
		}
		_ = s.w.Append(spool.Sample{Time: spool.Mono(w.timeNs), Pid: w.pid, Tid: w.tid, CPU: w.cpu,
			Frame: w.stack.frame, Weight: w.weightNs})
	}
	s.tree.nameLate(final)

	s.mu.Lock()
	defer s.mu.Unlock()
	s.stats.Over += over
	s.stats.OneFrame += alone
	for pid, sp := range s.spaces {
		if sp.ended && !final {
			s.stackBytes -= sp.stackBytes
			delete(s.spaces, pid)
		}
	}
	if final {
		s.tree.symbols.close()
	}
}

// account adds what was counted.
func (s *sampler) account(to *Stats) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.stats
	to.Samples, to.Switches, to.Lost, to.Broken, to.Whole = c.Samples, c.Switches, c.Lost, c.Broken, c.Whole
	to.OneFrame, to.Cut, to.Astray, to.Over, to.Throttle = c.OneFrame, c.Cut, c.Astray, c.Over, c.Throttle
	to.Unnamed = s.tree.unnamed
}
