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
output, sleeps, waits for another thread, or gets memory. The rule names the calls and how long they last. Threshold:
10 % of the step. What input_pipeline, worker_bound or host_barrier say of the same time is theirs, and they must leave
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
	{regexp.MustCompile(`^_*(poll|ppoll|p?select|epoll|futex|sem_|mq_|pthread_|recv|send|accept|connect|sched_yield)`),
		"waits for another thread or process"},
	{regexp.MustCompile(`^_*(mmap|munmap|mremap|mprotect|madvise|mlock|s?brk|ioctl)`), "gets or returns memory"},
}

func osKind(call string) string {
	for _, k := range osKinds {
		if k.calls.MatchString(call) {
			return k.does
		}
	}
	return ""
}

func checkOSWait(c *Case, out *Findings) {
	s := c.starved()
	idle, calls, kinds := c.newTally(), c.newGroups(), make(map[string]float64)
	for _, gaps := range append(slices.Clone(s.gaps), c.beforeMigrations()) {
		for _, g := range gaps {
			c.Facts.HostDoing(g.Thread, g.Span, func(cause facts.Cause, span interval.Span) {
				if c.Facts.CauseText(cause) != facts.CauseOS || c.stepAt(span.StartNs) < 0 {
					return
				}
				name, ns := c.Facts.OSCallAt(g.Thread, span.StartNs), float64(span.LenNs())/s.devices
				idle.add(span.StartNs, ns)
				calls.add(name, span.StartNs, ns)
				kinds[osKind(name)] += ns
			})
		}
	}
	atMost := idle.perStep() - c.claimed(out, &inputPipeline, &workerBound, &hostBarrier)
	if !idle.usual() || atMost < minUnnamedShare*c.StepNs || 2*atMost < idle.perStep() {
		return
	}
	rows := calls.rows(5)
	if len(rows) == 0 {
		return
	}
	does, doesNs := "", 0.0
	for kind, ns := range kinds {
		if ns > doesNs || ns == doesNs && kind < does {
			does, doesNs = kind, ns
		}
	}
	_, most, _ := strings.Cut(rows[0], ": ")
	if does == "" {
		does = "is in the operating system"
	}
	f := out.Add(0.8, atMost, "The GPU waits %s of %s per step while the host %s (%s)", ms(idle.perStep()), ms(c.StepNs),
		does, most)
	f.Because(fmt.Sprintf("for %.1f %% of the step the GPU has nothing queued while the thread that feeds it is in "+
		"calls of the operating system", 100*idle.share()), rows...)
}
