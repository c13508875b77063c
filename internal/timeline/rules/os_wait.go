package rules

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"lacuna/internal/base/interval"
	"lacuna/internal/timeline/facts"
)

var osWait = Rule{
	ID:    "os_wait",
	Title: "The GPU waits while the host is in the operating system",
	Since: "0.2",
	Needs: []Need{needWork, needCalls, needOSCalls},
	Doc: `
The GPU has nothing queued, and the thread that feeds it is in a call of the operating system: it reads a file, writes
output, sleeps, waits for another thread, or gets memory. The rule names the calls and how long they last. Where most of
that time lies in waits for another thread that begin while the GPU still works and end after it has finished, the host
may wait for the GPU's own results, which another thread hands over. Threshold: 10 % of the step. What input_pipeline,
worker_bound or host_barrier say of the same time is theirs, and they must leave
more than half.`,
	Limits: `
Calls inside CUDA calls (the driver's own ioctl) do not count. A wait for a person at the keyboard, or for a file that
another program writes, looks like any other. Nsight Systems leaves calls of under a microsecond out, so many short ones
are not seen. Reading through mmap shows as no call.`,
	Fix: `
Read or write on another thread, ahead of the loop or behind it, and keep what is used again in memory:

    with ThreadPoolExecutor(1) as io:
        following = io.submit(read_batch, path)   # while the GPU works on this one
        ...
        batch = following.result()`,
	FixC: `Read with large buffers on a thread of its own into pinned memory; write results from another thread;
replace sleeps and polling by waits on an event; allocate host memory once.`,
	Confirm:   `The calls' share of idle time falls below 10 %.`,
	RefutedBy: `With the data in memory, or the output switched off, the program takes as long.`,
	After:     []*Rule{&inputPipeline, &workerBound, &hostBarrier},
	Check:     checkOSWait,
}

var needOSCalls = Need{"calls of the operating system", func(f *facts.Facts) bool { return f.Trace.OSCalls.Len() > 0 },
	"nsys profile --trace=cuda,nvtx,osrt"}

// osKinds is what calls of the operating system do, in words that follow "the host". The first that matches counts.
var osKinds = []struct {
	calls *regexp.Regexp
	does  string
}{
	{regexp.MustCompile(`^_*(p?readv?(64)?|preadv2?|fread|f?getc(har)?|fgets|getline|getdelim|f?scanf|io_getevents)`),
		"reads"},
	{regexp.MustCompile(`^_*(p?writev?(64)?|pwritev2?|fwrite|f?put[cs]|v?f?printf|fflush|f(data)?sync|fclose|close)`),
		"writes or closes files"},
	{regexp.MustCompile(`^_*(f?open(at)?(64)?|l?f?statx?(64)?|access|readdir|opendir)`), "opens or looks for files"},
	{regexp.MustCompile(`^_*(nanosleep|clock_nanosleep|u?sleep)`), "sleeps"},
	{regexp.MustCompile(`^_*(fork|vfork|clone|exec|system|popen|posix_spawn|wait(pid|id|3|4)?$)`),
		"starts other programs or waits for them"},
	{regexp.MustCompile(`^_*(futex|pthread_|sched_yield)`), forThread},
	{regexp.MustCompile(`^_*(sem_|mq_)`), "waits for another thread or process"},
	{regexp.MustCompile(`^_*(poll|ppoll|p?select|epoll)`), "waits for a file, a socket, a device or a timer"},
	{regexp.MustCompile(`^_*(recv|send|accept|connect)`), "waits for another process"},
	{regexp.MustCompile(`^_*(mmap|munmap|mremap|mprotect|madvise|mlock|s?brk)`), "gets or returns memory"},
	{regexp.MustCompile(`^_*ioctl`), "is in the driver of a device"}, // CUDA's own are inside of its calls
}

// forThread is what calls do that threads of one process wait for each other in.
const forThread = "waits for another thread of the program"

func osKind(call string) string {
	for _, k := range osKinds {
		if k.calls.MatchString(call) {
			return k.does
		}
	}
	return ""
}

func checkOSWait(c *Case, out *Findings) {
	o := c.osTime()
	atMost := o.idle.perStep() - c.claimed(out, &inputPipeline, &workerBound, &hostBarrier)
	if !o.idle.usual() || atMost < minUnnamedShare*c.StepNs || 2*atMost < o.idle.perStep() {
		return
	}
	rows := o.calls.rows(5)
	if len(rows) == 0 {
		return
	}
	does, doesNs := "", 0.0
	for kind, ns := range o.kinds {
		if ns > doesNs || ns == doesNs && kind < does {
			does, doesNs = kind, ns
		}
	}
	does += " (" + o.longest(does) + ")"
	if strings.HasPrefix(does, " ") {
		does = "is in the operating system" + does
	}
	var f *Finding
	if doesNs >= nearlyAll*o.idle.perStep() {
		f = out.Add(0.8, atMost, "The GPU waits %s of %s per step while the host %s", ms(o.idle.perStep()), ms(c.StepNs), does)
	} else {
		f = out.Add(0.8, atMost, "The GPU waits %s of %s per step while the host is in calls of the operating system; for %s "+
			"of it the host %s", ms(o.idle.perStep()), ms(c.StepNs), ms(doesNs), does)
	}
	if o.ownNs > o.idle.perStep()/2 {
		f.Because("most of these waits begin while the GPU still works and end after it has finished: the host may wait " +
			"for the GPU's own results, which another thread of the program hands over; then let it run ahead, and wait " +
			"only where a result is used")
		f.Fix = runAhead
	} else if o.kinds[forThread] > o.idle.perStep()/2 {
		f.Fix = otherThread
	}
	f.Because(fmt.Sprintf("for %.1f %% of the step the GPU has nothing queued while the thread that feeds it is in "+
		"calls of the operating system", 100*o.idle.share()), rows...)
	if o.feedNs > o.idle.perStep()/2 {
		f.Because("a copy of data to the GPU is the first thing that follows most of them: the host may wait for data that " +
			"other threads or processes prepare, such as the workers of a loader")
	}
}

// nearlyAll is the share of the time from which one kind of calls is given as what the host does.
const nearlyAll = 0.9

// The fixes where the host waits for another thread.
const (
	runAhead = `
Let the host run ahead of the GPU: dispatch the next steps before the results of this one are read:

    for step in range(n):
        state = update(state)        # returns before the GPU is done
    state.block_until_ready()        # JAX: once behind the loop, or every few steps`
	otherThread = `
See what the other thread does meanwhile, and start it earlier or give it less to do:

    nsys profile --sample=process-tree --trace=cuda,nvtx,osrt python program.py
    lacuna record --sample -- python program.py`
)

// An osTime is the idle time in which the host is in calls of the operating system.
type osTime struct {
	idle   *tally
	calls  *groups
	kinds  map[string]float64            // ns per step by what the calls do
	byName map[string]map[string]float64 // and, of each kind, by the call
	// of the time: of waits for other threads that began while the device worked; of calls that a copy to it follows
	ownNs, feedNs float64
}

// longest is the call of a kind that takes most time.
func (o *osTime) longest(kind string) string {
	best := ""
	for name, ns := range o.byName[kind] {
		if m := o.byName[kind][best]; ns > m || ns == m && name < best {
			best = name
		}
	}
	return best
}

func (c *Case) osTime() *osTime {
	s := c.starved()
	o := &osTime{idle: c.newTally(), calls: c.newGroups(), kinds: make(map[string]float64),
		byName: make(map[string]map[string]float64)}
	for _, gaps := range append(slices.Clone(s.gaps), c.beforeMigrations()) {
		for _, g := range gaps {
			c.Facts.HostDoing(g.Thread, g.Span, func(cause facts.Cause, span interval.Span) {
				if c.Facts.CauseText(cause) != facts.CauseOS || c.stepAt(span.StartNs) < 0 {
					return
				}
				name, call := c.Facts.OSCallAt(g.Thread, span.StartNs)
				ns, kind := float64(span.LenNs())/s.devices, osKind(name)
				o.idle.add(span.StartNs, ns)
				place := name
				if in := c.Facts.Where(g.Thread, span.StartNs); in != "" {
					place += ", in " + in
				}
				o.calls.add(place, span.StartNs, ns)
				if c.stalls()[c.stepAt(span.StartNs)] {
					return
				}
				ns *= c.PerStep
				o.kinds[kind] += ns
				if o.byName[kind] == nil {
					o.byName[kind] = make(map[string]float64)
				}
				o.byName[kind][name] += ns
				if kind == forThread && call.StartNs < g.StartNs {
					o.ownNs += ns
				}
			})
		}
	}
	for _, p := range s.pauses {
		if c.asleep(p) && c.feedsNext(p) && c.stepAt(p.StartNs+p.LenNs()/2) >= 0 {
			o.feedNs += float64(p.OSNs) / s.devices * c.PerStep
		}
	}
	return o
}
