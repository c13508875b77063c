package cpusample

import (
	"errors"
	"fmt"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// layouts are what is tried in turn, the best first: bytes of each CPU's ring, and of the stack that a sample brings
// along (0: frame pointers only), of which the kernel takes at most 65,528. That is 150 calls of Python functions, at
// 430 bytes each (measured on
// 3.12 and 3.13); of a PyTorch program that mostly imports 14 % of the samples are deeper still (docs/sampling.md).
// Each of the first rings holds 15 samples, which a busy CPU takes 75 ms for at 199 Hz. The kernel lets every user
// lock 516 KiB for each CPU by default (kernel.perf_event_mlock_kb), and what ulimit -l says on top.
var layouts = [...]struct{ ring, stack uint32 }{{1 << 20, 65528}, {512 << 10, 32 << 10}, {512 << 10, 0},
	{128 << 10, 0}, {32 << 10, 0}}

// events are perf events that write into one ring a CPU.
type events struct {
	attr     unix.PerfEventAttr
	fds      []int
	rings    []*ring
	first    map[int]int // the event of each CPU whose ring the others use
	attached map[uint32]bool
	root     int // the process attached to
	ring     int // bytes of each
}

// dumps says whether samples have registers and stack.
func (e *events) dumps() bool { return e.attr.Sample_type&sampleDump != 0 }

var _ kernel = (*events)(nil)

// attributes is what is asked of every event. Context switches and comm records need no right of their own.
func attributes(o Options) unix.PerfEventAttr {
	a := unix.PerfEventAttr{
		Type:   unix.PERF_TYPE_SOFTWARE,
		Size:   unix.PERF_ATTR_SIZE_VER5, // ends with sample_max_stack; Linux 4.8
		Config: unix.PERF_COUNT_SW_CPU_CLOCK,
		Sample: uint64(o.Hz),
		Bits: unix.PerfBitDisabled | unix.PerfBitInherit | unix.PerfBitFreq | unix.PerfBitSampleIDAll |
			unix.PerfBitUseClockID |
			unix.PerfBitMmap | unix.PerfBitMmap2 | unix.PerfBitComm | unix.PerfBitCommExec | unix.PerfBitTask |
			unix.PerfBitExcludeHv | unix.PerfBitExcludeCallchainKernel | unix.PerfBitWatermark,
		Sample_type:      sampleType,
		Wakeup:           1 << 31, // nobody waits: the rings are read on a timer
		Clockid:          unix.CLOCK_MONOTONIC,
		Sample_max_stack: MaxDepth,
	}
	if o.Switches {
		a.Bits |= unix.PerfBitContextSwitch
	}
	return a
}

// permitted fits attributes to what this kernel allows: it opens an event on this thread until it succeeds. limits
// are what it could not have.
func permitted(o Options) (a unix.PerfEventAttr, s Stats, limits []*Error, err error) {
	if o.Hz <= 0 {
		o.Hz = DefaultHz
	}
	if most := number("/proc/sys/kernel/perf_event_max_sample_rate", o.Hz); most > 0 && o.Hz > most {
		limits = append(limits, &Error{Why: fmt.Sprintf(
			"samples are taken at %d Hz, not %d, since kernel.perf_event_max_sample_rate says so", most, o.Hz)})
		o.Hz = most
	}
	s.Hz, a = o.Hz, attributes(o)
	if most := number("/proc/sys/kernel/perf_event_max_stack", MaxDepth); most > 0 && most < MaxDepth {
		a.Sample_max_stack = uint16(most)
	}
	err = try(&a)
	if s.Kernel = err == nil; is(err, unix.EACCES, unix.EPERM) {
		a.Bits |= unix.PerfBitExcludeKernel
		if err = try(&a); err == nil {
			paranoid := number("/proc/sys/kernel/perf_event_paranoid", 2)
			limits = append(limits, &Error{
				Why: fmt.Sprintf("time within the kernel is not sampled: kernel.perf_event_paranoid is %d and this "+
					"user has no CAP_PERFMON", paranoid),
				Fix: "as root: sysctl kernel.perf_event_paranoid=1",
			})
		}
	}
	if is(err, unix.EINVAL) && o.Switches {
		a.Bits &^= unix.PerfBitContextSwitch
		if err = try(&a); err == nil {
			limits = append(limits, &Error{Why: "context switches are not recorded: this kernel does not support it"})
		}
	}
	for _, l := range limits {
		s.Notes = append(s.Notes, l.sentence())
	}
	return a, s, limits, err
}

// try opens an event on the calling thread, and closes it.
func try(a *unix.PerfEventAttr) error {
	fd, err := unix.PerfEventOpen(a, 0, -1, -1, unix.PERF_FLAG_FD_CLOEXEC)
	if err == nil {
		_ = unix.Close(fd)
	}
	return err
}

// attach opens events on every thread of a process and of its descendants.
func attach(pid int, o Options) (opened, error) {
	a, stats, _, err := permitted(o)
	if err != nil {
		return opened{}, explain(err, 0)
	}
	e := &events{attr: a, first: map[int]int{}, attached: map[uint32]bool{}, root: pid}
	threads := threadsBelow("/proc", pid)
	if len(threads) == 0 {
		return opened{}, &Error{Why: fmt.Sprintf("there is no process %d", pid), err: unix.ESRCH}
	}
	cpus := allowedCPUs("/proc", threads)
	if err := e.open(threads, cpus); err != nil {
		e.close()
		return opened{}, err
	}
	stats.CPUs = len(e.rings)
	return opened{e, e.dumps(), stats}, nil
}

// launch opens events on a thread of our own that starts the program and then ends: the program inherits them, and
// its exec turns them on. Nothing that we start later can inherit them.
func launch(o Options, start func() error) (opened, error) {
	a, stats, _, err := permitted(o)
	if err != nil {
		return opened{}, explain(err, 0)
	}
	a.Bits |= unix.PerfBitEnableOnExec
	e := &events{attr: a, first: map[int]int{}}
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with this goroutine
		err := e.open([]int{unix.Gettid()}, onlineCPUs("/sys"))
		if err == nil {
			err = start()
		}
		done <- err
	}()
	if err := <-done; err != nil {
		e.close()
		return opened{}, err
	}
	stats.CPUs = len(e.rings)
	return opened{e, e.dumps(), stats}, nil
}

// open opens events, in the best layout that there is room for; later ones in that of the first.
func (e *events) open(threads, cpus []int) error {
	if len(e.rings) > 0 {
		return e.openEach(threads, cpus)
	}
	var err error
	for _, l := range layouts {
		if l.stack > 0 && runtime.GOARCH != "amd64" {
			continue // unwinding knows x86-64 only
		}
		e.ring, e.attr.Sample_type = int(l.ring), sampleType
		e.attr.Sample_regs_user, e.attr.Sample_stack_user = 0, l.stack
		if l.stack > 0 {
			e.attr.Sample_type, e.attr.Sample_regs_user = sampleType|sampleDump, dumpRegs
		}
		if err = e.openEach(threads, cpus); !errors.Is(err, errRing) {
			return err
		}
		e.close()
		clear(e.first)
		clear(e.attached)
	}
	return err
}

// openEach opens an event for each thread and CPU. A thread that has ended meanwhile, and a CPU that went offline,
// are passed over.
func (e *events) openEach(threads, cpus []int) error {
	opened := 0
	for _, tid := range threads {
		for _, cpu := range cpus {
			fd, err := unix.PerfEventOpen(&e.attr, tid, cpu, -1, unix.PERF_FLAG_FD_CLOEXEC)
			if errors.Is(err, unix.ESRCH) {
				break
			}
			if errors.Is(err, unix.ENODEV) && len(cpus) > 1 {
				continue
			}
			if err != nil {
				return explain(err, len(threads)*len(cpus))
			}
			e.fds = append(e.fds, fd)
			if err := e.toRing(fd, cpu); err != nil {
				return err
			}
			if e.attr.Bits&unix.PerfBitEnableOnExec == 0 {
				if err := unix.IoctlSetInt(fd, unix.PERF_EVENT_IOC_ENABLE, 0); err != nil {
					return explain(err, 0)
				}
				e.attached[uint32(tid)] = true
			}
			opened++
		}
	}
	if opened == 0 {
		return &Error{Why: "the process has ended", err: unix.ESRCH}
	}
	return nil
}

// toRing has an event write into its CPU's ring, which the CPU's first event brings.
func (e *events) toRing(fd, cpu int) error {
	if first, ok := e.first[cpu]; ok {
		if err := unix.IoctlSetInt(fd, unix.PERF_EVENT_IOC_SET_OUTPUT, first); err != nil {
			return explain(err, 0)
		}
		return nil
	}
	page := os.Getpagesize()
	mapped, err := unix.Mmap(fd, 0, page+e.ring, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return ringReason(err)
	}
	e.rings = append(e.rings, &ring{cpu: cpu, mapped: mapped, page: mapped[:page], data: mapped[page:]})
	e.first[cpu] = fd
	return nil
}

func (e *events) drain(visit func(cpu int, record []byte)) (broken int64) {
	for _, r := range e.rings {
		broken += r.drain(visit)
	}
	return broken
}

// attachMissing attaches to threads that came up between being listed and being attached to. Those in inherited have
// events from their creator, and would be sampled twice.
func (e *events) attachMissing(inherited map[uint32]bool) error {
	var missing []int
	for _, tid := range threadsBelow("/proc", e.root) {
		if !e.attached[uint32(tid)] && !inherited[uint32(tid)] {
			missing = append(missing, tid)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	err := e.open(missing, allowedCPUs("/proc", missing))
	if errors.Is(err, unix.ESRCH) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("%d threads that started while sampling began are not sampled: %w", len(missing), err)
	}
	return nil
}

func (e *events) nowNs() uint64 {
	var t unix.Timespec
	if unix.ClockGettime(unix.CLOCK_MONOTONIC, &t) != nil {
		return 0 // not on a Linux that has perf events
	}
	return uint64(t.Nano())
}

func (e *events) threadCPUNs() int64 {
	var t unix.Timespec
	if unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t) != nil {
		return 0
	}
	return t.Nano()
}

// pause turns every event off, and those that inherited from it.
func (e *events) pause() {
	for _, fd := range e.fds {
		_ = unix.IoctlSetInt(fd, unix.PERF_EVENT_IOC_DISABLE, 0) // the worst that can come is more samples
	}
}

func (e *events) close() {
	for _, r := range e.rings {
		_ = unix.Munmap(r.mapped)
	}
	for _, fd := range e.fds {
		_ = unix.Close(fd)
	}
	e.rings, e.fds = nil, nil
}

func lockThread() func() {
	runtime.LockOSThread()
	return runtime.UnlockOSThread
}
