package rules

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"

	"lacuna/internal/base/interval"
	"lacuna/internal/timeline/facts"
	"lacuna/internal/timeline/model"
)

var hostBarrier = Rule{
	ID:    "host_barrier",
	Title: "GPU and host are idle, waiting for another process",
	Since: "0.2",
	Needs: []Need{needWork, needCalls, needHostWaits},
	Doc: `
The GPU has nothing queued, and the thread that feeds it does not work either: it waits for another process, in MPI,
in a CPU collective (gloo), in a barrier, or in an operating system call. A call that receives from a socket or waits for
a process says so by itself; poll, epoll_wait, futexes, conditions and semaphores count only where the capture shows that
the program is one of several: other ranks, MPI, communication on the GPU or a CPU collective. Otherwise threads of one
process wait for each other in them, and os_wait has it.

The rule counts the idle time of such waits in at least half of the steps; it must be 2 % of the step. Waits for
loader workers belong to worker_bound, waits for the GPU itself to host_sync.`,
	Limits: `
The other process's capture shows which process is late: give all ranks (lacuna report rank0 rank1 ...). Waits
inside NCCL kernels keep the GPU busy and belong to comm_exposed. Without MPI, OS or framework records a wait looks
like work. In a capture without steps, calls of the operating system are os_wait's, and MPI's opening and closing is left
out.`,
	Fix: `
Remove barriers from the loop, and move rank 0's extra work elsewhere:

    # dist.barrier()                           # not in every step
    if step % 100 == 0:
        dist.all_reduce(metrics, async_op=True)  # on the GPU, read later

Balance the ranks: the same number of samples, sequences of similar length, evaluation on all ranks.`,
	FixC:      `Use MPI_Iallreduce, or NCCL on a stream, and keep launching; wait where the result is used.`,
	Confirm:   `The wait's share of idle time falls below 2 % of the step.`,
	RefutedBy: `All ranks arrive together and the wait is as long: the exchange itself takes the time.`,
	Check:     checkHostBarrier,
}

// cpuCollective is operators that wait for other processes on the CPU.
var cpuCollective = regexp.MustCompile(`(?i)^(gloo:|c10d::(barrier|monitored_barrier|recv)|mpi:|ucc:|store::|.*\bbarrier\b)`)

// opening is the calls with which a program joins and leaves its job, once.
var opening = regexp.MustCompile(`^MPI_(Init|Finalize)`)

func checkHostBarrier(c *Case, out *Findings) {
	s := c.starved()
	mpi, collective := c.mpiByThread(), c.saying(cpuCollective.MatchString)
	idle, sites := make(map[string]*tally), make(map[string][]facts.HostPause)
	for _, p := range s.pauses {
		name, ns := c.waitsForOthers(p, mpi, collective)
		if name == "" || c.wholeCapture() && (opening.MatchString(name) || blocking.MatchString(name)) {
			continue
		}
		if idle[name] == nil {
			idle[name] = c.newTally()
		}
		idle[name].add(p.StartNs+p.LenNs()/2, float64(ns)/s.devices)
		sites[name] = append(sites[name], p)
	}
	var names []string
	for name, t := range idle {
		if t.usual() && t.share() >= minIdleShare {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(idle[b].perStep(), idle[a].perStep()), cmp.Compare(a, b))
	})
	for _, name := range names {
		perStep := idle[name].perStep()
		confidence := 0.8
		if mpi == nil && !cpuCollective.MatchString(name) {
			confidence = 0.55 // the operating system does not say for whom the host waits
		}
		f := out.Add(confidence, perStep, "GPU and host wait %s of %s per step for another process, in %s",
			ms(perStep), ms(c.StepNs), name)
		f.Because(fmt.Sprintf("for %.1f %% of the step the GPU has nothing queued while the host waits in %s",
			100*idle[name].share(), name), c.pauseRows(sites[name], 3)...)
		f.Repair("drop-range:" + regexp.QuoteMeta(name))
	}
}

// waitsForOthers is what a thread waits for another process in during a pause, and for how much of the idle time; ""
// if it does not.
func (c *Case) waitsForOthers(p facts.HostPause, mpi map[model.ThreadRow][]mark,
	collective func(model.StringID) bool) (string, int64) {
	best, bestNs := "", int64(0)
	calls := mpi[p.Thread]
	first, _ := slices.BinarySearchFunc(calls, p.StartNs,
		func(m mark, ns int64) int { return cmp.Compare(m.span.EndNs, ns) })
	for _, m := range calls[first:] {
		if m.span.StartNs >= p.EndNs {
			break
		}
		if ns := m.span.Clip(p.Span).LenNs(); ns > bestNs {
			best, bestNs = m.name, ns
		}
	}
	if 2*bestNs > p.IdleNs {
		return best, min(bestNs, p.IdleNs)
	}
	for cause, ns := range p.Names {
		if 2*ns <= p.IdleNs {
			continue // not most of the pause, and that is what counts below
		}
		if name := c.Trace.Strings.Text(cause.Name); collective(cause.Name) && ns > bestNs {
			best, bestNs = name, ns
		}
	}
	if 2*bestNs > p.IdleNs {
		return best, bestNs
	}
	if !c.asleep(p) {
		return "", 0
	}
	loader, _, _ := c.loaderOf(p)
	loads := loader != "" || c.feedsNext(p) || p.Range != 0 && saysLoading(c.Trace.Strings.Text(p.Range))
	if loads {
		return "", 0
	}
	name := c.longestOSCall(p)
	if !blocking.MatchString(name) || !c.ofJob() && !forProcess.MatchString(name) {
		return "", 0
	}
	return name, p.OSNs
}

// forProcess is calls of the operating system that wait for another process, whatever the program is.
var forProcess = regexp.MustCompile(`^(recv|recvfrom|recvmsg|accept|connect|waitpid|wait4|mq_)`)

// ofJob says whether the capture shows that its program is one of several processes that work together.
func (c *Case) ofJob() bool {
	if c.Ranks != nil || len(c.Trace.MPI.Name) > 0 {
		return true
	}
	for _, k := range c.work().Kind {
		if k == facts.WorkComm {
			return true
		}
	}
	collective := c.saying(cpuCollective.MatchString)
	for _, names := range [][]model.StringID{c.Trace.Ops.Name, c.Trace.Ranges.Name} {
		for _, id := range names {
			if collective(id) {
				return true
			}
		}
	}
	return false
}

// blocking is calls of the operating system that wait for somebody else. Files, memory and sleeping are not among them.
var blocking = regexp.MustCompile(`^(poll|ppoll|select|pselect|epoll_wait|epoll_pwait|recv|recvfrom|recvmsg|accept|connect|futex|sem_|mq_|pthread_(cond|barrier|join|mutex|rwlock)|waitpid|wait4|sched_yield)`)

// longestOSCall is the name of the OS call that lasts longest within a pause of a thread.
func (c *Case) longestOSCall(p facts.HostPause) string {
	o := &c.Trace.OSCalls
	best, bestNs := "", int64(0)
	n, _ := slices.BinarySearch(o.StartNs, p.EndNs)
	for i := n - 1; i >= 0 && i >= n-maxOSCalls; i-- {
		if o.Thread[i] != p.Thread {
			continue
		}
		if ns := (interval.Span{StartNs: o.StartNs[i], EndNs: o.StartNs[i] +
			o.DurNs[i]}).Clip(p.Span).LenNs(); ns > bestNs {
			best, bestNs = c.Trace.Strings.Text(o.Name[i]), ns
		}
	}
	return best
}

// maxOSCalls is how many OS calls back, of all threads, one is looked for.
const maxOSCalls = 4096

// mpiByThread is the calls of MPI by thread; nil if there are none.
func (c *Case) mpiByThread() map[model.ThreadRow][]mark {
	m := &c.Trace.MPI
	var out map[model.ThreadRow][]mark
	for i, id := range m.Name {
		if out == nil {
			out = make(map[model.ThreadRow][]mark)
		}
		out[m.Thread[i]] = append(out[m.Thread[i]],
			mark{c.Trace.Strings.Text(id), interval.Span{StartNs: m.StartNs[i], EndNs: m.StartNs[i] + m.DurNs[i]},
				true})
	}
	return out
}
