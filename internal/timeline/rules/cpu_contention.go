package rules

import (
	"fmt"
	"slices"

	"lacuna/internal/base/interval"
	"lacuna/internal/timeline/model"
)

var cpuContention = Rule{
	ID:    "cpu_contention",
	Title: "CPU contention: the thread that feeds the GPU is switched out",
	Since: "0.2",
	Needs: []Need{needWork, needCalls, needSched},
	Doc: `
The GPU has nothing queued, and the thread that should feed it is ready to run but does not: another thread runs on
its core. Loader workers, BLAS threads or another job want more cores than there are.

The rule counts idle time in which that thread is switched out, is in no operating system call and in no
synchronization, and another recorded thread took its core within 0.1 ms. It must be 2 % of the step.`,
	Limits: `
Only recorded threads are seen: nsys --cpuctxsw=process-tree leaves other jobs out. nsys does not say whether a
thread gave up its core; without OS calls (--trace=osrt) a thread that waits for a lock may look like one that was
preempted.`,
	Fix: `
Leave cores to the thread that launches:

    torch.set_num_threads(4)                   # in the training process
    DataLoader(..., num_workers=cores - 4)     # not more workers than cores, one thread each

    taskset -c 0-15 python train.py            # cores of their own, near the GPU (nvidia-smi topo -m)`,
	FixC:      `Pin the launching thread (pthread_setaffinity_np) and keep other threads off its core.`,
	Confirm:   `The launching thread is on a core whenever the GPU waits for it.`,
	RefutedBy: `With half the workers and threads the idle time stays: the thread waits, it is not preempted.`,
	Check:     checkCPUContention,
}

// takenWithinNs is how soon after a thread left its core another one must be on it to have taken it.
const takenWithinNs = 100_000

func checkCPUContention(c *Case, out *Findings) {
	s := c.starved()
	off, takers := c.drivenOut()
	if len(off) == 0 {
		return
	}
	lost := c.newTally()
	for _, gaps := range s.gaps {
		for _, g := range gaps {
			set := interval.Subtract(off[g.Thread].Clip(g.Span), c.explained(g.Thread, g.Span))
			for _, x := range set {
				lost.add(x.StartNs, float64(x.LenNs())/s.devices)
			}
		}
	}
	atMost := lost.perStep()
	if !lost.usual() || atMost < minIdleShare*c.StepNs {
		return
	}
	var rows []string
	for name, n := range takers {
		rows = append(rows, fmt.Sprintf("%s: %d times", name, n))
	}
	slices.Sort(rows)
	f := out.Add(0.7, atMost, "The thread that feeds the GPU is switched out for %s of %s per step while the GPU "+
		"waits for it", ms(atMost), ms(c.StepNs))
	f.Because(fmt.Sprintf("for %.1f %% of the step the GPU has nothing queued while that thread is switched out "+
		"outside of any waiting call, and another thread is on its core", 100*lost.share()),
		rows[:min(len(rows), 5)]...)
	f.Repair("drop-range:off-core")
}

// drivenOut is when each thread was off its core with another one on it, and who those were.
func (c *Case) drivenOut() (map[model.ThreadRow]interval.Set, map[string]int) {
	t := c.Trace
	if len(t.Sched.CPU) == 0 || len(t.Sched.In) == 0 {
		return nil, nil // who was on which core is not recorded
	}
	type leaving struct {
		ns    int64
		cpu   int32
		taken bool
		by    model.ThreadRow
	}
	feeds := make(map[model.ThreadRow]bool)
	for _, gaps := range c.starved().gaps {
		for _, g := range gaps {
			feeds[g.Thread] = true
		}
	}
	left := make(map[model.ThreadRow]*leaving)
	onCPU := make(map[int32]model.ThreadRow) // who left it last
	spans := make(map[model.ThreadRow][]interval.Span)
	takers := make(map[string]int)
	for i, ns := range t.Sched.TimeNs {
		th, cpu := t.Sched.Thread[i], t.Sched.CPU[i]
		if !t.Sched.In[i] {
			if feeds[th] {
				left[th] = &leaving{ns: ns, cpu: cpu}
				onCPU[cpu] = th
			}
			continue
		}
		if before, was := onCPU[cpu]; was && before != th {
			if l := left[before]; l != nil && !l.taken && l.cpu == cpu && ns-l.ns <= takenWithinNs {
				l.taken, l.by = true, th
			}
			delete(onCPU, cpu)
		}
		if l := left[th]; l != nil {
			if l.taken {
				spans[th] = append(spans[th], interval.Span{StartNs: l.ns, EndNs: ns})
				takers[c.threadName(l.by)]++
			}
			delete(left, th)
		}
	}
	out := make(map[model.ThreadRow]interval.Set)
	for th, s := range spans {
		out[th] = interval.Union(s)
	}
	return out, takers
}

// explained is when a thread was, within a span, in calls that wait by themselves.
func (c *Case) explained(th model.ThreadRow, span interval.Span) interval.Set {
	var out []interval.Span
	o := &c.Trace.OSCalls
	n, _ := slices.BinarySearch(o.StartNs, span.EndNs)
	for i := n - 1; i >= 0 && i >= n-maxOSCalls; i-- {
		if o.Thread[i] == th {
			out = append(out, interval.Span{StartNs: o.StartNs[i], EndNs: o.StartNs[i] + o.DurNs[i]})
		}
	}
	for _, w := range c.waits() {
		if w.StartNs < span.EndNs && w.EndNs > span.StartNs && c.Trace.Calls.Thread[w.call] == th {
			out = append(out, w.Span)
		}
	}
	return interval.Union(out)
}

func (c *Case) threadName(th model.ThreadRow) string {
	if int(th) >= len(c.Trace.Threads) {
		return "an unknown thread"
	}
	x := c.Trace.Threads[th]
	if x.Name != "" {
		return fmt.Sprintf("thread %d (%s)", x.Tid, x.Name)
	}
	return fmt.Sprintf("thread %d", x.Tid)
}
