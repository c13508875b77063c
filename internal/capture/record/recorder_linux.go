package record

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"lacuna/internal/capture/spool"
)

const (
	tickPeriod = time.Second
	// clockPeriod is how often the clocks are paired, and all of /proc is looked through for new processes.
	clockPeriod = 5 * time.Second
	// trafficPeriod is how often the PCIe link of one GPU is read.
	trafficPeriod = 500 * time.Millisecond
)

// A recorder writes what is seen of the program from outside.
type recorder struct {
	file  *os.File
	w     *spool.Writer
	names map[[2]int]string // of threads, by process and thread, as last written
	gauge *gauge            // nil: no GPU's state is taken
	over  sync.WaitGroup
	done  chan struct{}
}

// newRecorder begins the recorder's spool.
func newRecorder(dir, session string, o *Options) (*recorder, error) {
	file, err := os.OpenFile(filepath.Join(dir, RecorderSpool), os.O_CREATE|os.O_EXCL|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	host, _ := os.Hostname()
	exe, _ := os.Executable()
	w, err := spool.NewWriter(file, spool.Begin{
		Role: spool.RoleRecorder, Version: o.Version, Session: session, Pid: int64(os.Getpid()),
		Ppid: int64(os.Getppid()),
		Host: host, Boot: oneLine("/proc/sys/kernel/random/boot_id"), Command: o.Args, Exe: exe,
		RealNs: time.Now().UnixNano(),
	})
	if err != nil {
		file.Close()
		return nil, err
	}
	r := &recorder{file: file, w: w, names: make(map[[2]int]string), done: make(chan struct{})}
	if o.GPU != nil && len(o.Visible) > 0 {
		r.gauge = newGauge(o.GPU, o.Visible, w)
	}
	r.clock()
	return r, nil
}

// host notes the machine: what of it matters for what is in the recording and what is not.
func (r *recorder) host(o *Options, perf string) {
	said := struct {
		CPUs   int    `json:"cpus"`
		Kernel string `json:"kernel"`
		Perf   string `json:"perf,omitempty"`
		NVML   string `json:"nvml,omitempty"`
	}{runtime.NumCPU(), oneLine("/proc/version"), perf, o.NoGPU}
	if o.GPU != nil {
		said.NVML = "driver " + o.GPU.Driver()
	}
	_ = r.w.Note("host", said)
}

// clock pairs the clocks: the narrowest of some brackets.
func (r *recorder) clock() {
	best := spool.Clock{Width: ^uint32(0)}
	for range 16 {
		var before, real, after unix.Timespec
		if unix.ClockGettime(unix.CLOCK_MONOTONIC, &before) != nil ||
			unix.ClockGettime(unix.CLOCK_REALTIME, &real) != nil ||
			unix.ClockGettime(unix.CLOCK_MONOTONIC, &after) != nil {
			return
		}
		width := after.Nano() - before.Nano()
		if width >= 0 && width < int64(best.Width) {
			best = spool.Clock{Real: spool.Real(real.Nano()), Mono: spool.Mono(before.Nano() + width/2),
				Width: uint32(width)}
		}
	}
	if best.Real != 0 {
		_ = r.w.Append(best)
	}
}

// watch takes the state of the GPUs until stop. Nothing is taken while idle says so.
func (r *recorder) watch(interval time.Duration, idle func() bool) {
	if r.gauge == nil {
		return
	}
	r.over.Go(func() {
		tick := time.NewTicker(interval)
		defer tick.Stop()
		var traffic time.Time
		for {
			if !idle() {
				r.gauge.sample()
				if now := time.Now(); now.Sub(traffic) >= trafficPeriod {
					traffic = now
					r.gauge.traffic()
				}
			}
			select {
			case <-r.done:
				return
			case <-tick.C:
			}
		}
	})
}

// tasks writes the threads of processes that are new or have another name now.
func (r *recorder) tasks(processes []process) {
	for _, p := range processes {
		for tid, name := range p.threads() {
			key := [2]int{p.pid, tid}
			if was, have := r.names[key]; (!have || was != name) && len(r.names) < maxThreads {
				r.names[key] = name
				_ = r.w.Append(spool.Task{Pid: uint32(p.pid), Tid: uint32(tid), Name: r.w.Text(name)})
			}
		}
	}
}

// maxThreads bounds what is remembered of a program that starts threads without end.
const maxThreads = 1 << 18

// stop ends the spool. The first error of all that was written to it.
func (r *recorder) stop() error {
	close(r.done)
	r.over.Wait()
	r.clock()
	err := r.w.Close()
	if cerr := r.file.Close(); err == nil {
		err = cerr
	}
	return err
}

// oneLine is a file's first line, or "".
func oneLine(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	line, _, _ := strings.Cut(string(text), "\n")
	return line
}
