package rules

import (
	"fmt"
	"slices"

	"lacuna/internal/timeline/model"
)

var workerBound = Rule{
	ID:    "worker_bound",
	Title: "Data loader workers are too slow",
	Since: "0.2",
	Needs: []Need{needWork, needCalls, needSteps},
	Doc: `
Worker processes or threads make the batches, and the GPU is idle while the thread that feeds it waits for the next
one: the workers, or the transfer from them, are the limit.

The host waits rather than works if it is in a range of a DataLoader with workers (PyTorch's
_MultiProcessingDataLoaderIter), or if operating system calls (poll, select, read, a semaphore or condition) take
most of the pause, or context switches show the thread on no CPU for most of it, and the pause is in a range named
like loading. Sleep that no name calls loading belongs to os_wait and host_asleep.

A copy to the GPU that follows and one of two more signs say the same: a Python function that takes from a queue or
waits for a lock, a future or a pipe runs for most of the pause; or CPU samples show that the thread hardly runs in
it while another thread of the program, which calls no CUDA, works. That one makes the data, and its work can be
given to others.

Where neither is recorded, the durations of a loading range decide: a range that makes its batches takes about as
long each time; one that takes them from a queue takes almost nothing while the queue lasts, so that two or more
take ten times as long as others, of which there are two and more than one in eight (the call that ends an epoch
takes nothing either).

Threshold: 2 % of the step, in two steps or more. Batches of several workers come in bursts, and a loop may wait for
every fourth only.`,
	Limits: `
A trace of the training process does not contain the workers: look there for whether they lack cores, disk or
network. The gain of more workers is replayed only where a thread of the program is seen at work; else the wait is the upper
bound. Without OS calls (nsys
--trace=osrt) and PyTorch's ranges, a loader that reads a shard every N batches looks like one that waits. A few
steps while a queue fills or drains do not represent a long run: capture after the first few dozen steps.`,
	Fix: `
Use more workers, or give each less work, and pin the batches:

    loader = DataLoader(dataset, batch_size=64,
                        num_workers=os.cpu_count() - 2, prefetch_factor=4,
                        pin_memory=True, persistent_workers=True)

Decode and augment on the GPU (nvJPEG, DALI, torchvision.transforms.v2 on CUDA tensors), store what can be decoded
once, and set torch.set_num_threads(1) in the workers so that they do not compete for cores.`,
	FixC:    `Add producer threads, deepen the ring of buffers, or move the work to the GPU.`,
	Confirm: `The wait before the copy disappears, and the workers' queue is not empty when the loop asks.`,
	RefutedBy: `
With twice the workers the wait is as long: their source (disk, network, a lock) or the transfer is the limit.`,
	Check: checkWorkerBound,
}

// otherWorkers is the fix where no DataLoader is seen.
const otherWorkers = `
Have what the host waits for ready before it asks: more threads or processes that prepare it, a deeper queue between them
and this thread, or a request that is sent before the GPU works on the item before. See what the others do meanwhile
(lacuna record --sample, nsys profile --sample=process-tree), since this capture shows only that the host waits.`

// minWaits is in how many steps the loop must wait: once is an accident.
const minWaits = 2

func checkWorkerBound(c *Case, out *Findings) {
	for _, s := range c.sites() {
		confidence, why := c.waitsForBatches(s)
		perStep, steps := s.idle.everyStep()
		if confidence == 0 || steps < minWaits || perStep < minIdleShare*c.StepNs {
			continue
		}
		f := out.Add(confidence, perStep, "The GPU waits %s of %s per step for batches that loader workers have "+
			"not finished", ms(perStep), ms(c.StepNs))
		if !s.workers {
			f.Title = fmt.Sprintf("The GPU waits %s of %s per step while the host waits %s", ms(perStep), ms(c.StepNs),
				s.waitsIn())
			f.Fix = otherWorkers
		}
		f.Because(fmt.Sprintf("for %.1f %% of the step the GPU is idle with nothing queued while the host waits "+
			"%s, in %d of %d steps", 100*perStep/c.StepNs, s.waitsWhere(), steps, len(c.Steps.Steady())),
			c.pauseRows(s.longest, 3)...)
		f.Because(why)
		if s.maker && 2*s.feeds > s.n && 2*s.reads <= s.n {
			f.Repair("prefetch:" + beforeCopies)
		}
	}
}

// waitsForBatches is how sure it is that the host waits at a site for batches that others make, and why; 0: it does
// not.
func (c *Case) waitsForBatches(s *site) (confidence float64, why string) {
	loads := s.rangeName != "" && saysLoading(s.rangeName)
	switch {
	case s.workers:
		return 0.9, "a DataLoader with workers has no batch ready"
	case c.takesFrom(s) != "" && (loads || 2*s.feeds > s.n):
		return 0.75, s.takesFrom
	case s.takesFrom != "":
		return 0, ""
	case 2*s.sleeps > s.n && loads:
		return 0.75, "its name says that it loads data, and the host sleeps in it"
	case 2*s.sleeps > s.n || !loads && 2*s.feeds <= s.n:
		return 0, ""
	}
	if shortest, longest := c.extent(s); longest > 0 {
		return 0.6, fmt.Sprintf("the range %s takes %s to %s: making batches takes about as long each time, taking "+
			"them from a queue waits only when it is empty", s.rangeName, ms(shortest), ms(longest))
	}
	return 0, ""
}

// waitsWhere says where the host waits.
func (s *site) waitsWhere() string {
	if s.rangeName != "" {
		return "in " + s.rangeName
	}
	return s.name // before memcpy HtoD
}

// A range takes from a queue if, of so many runs of it, two are so many times as long as two others. Loaders that work
// on the thread vary by 5 to 20 % (corpus), but for an accident; a queue that has a batch gives it in some 0.05 ms. One
// short run proves nothing, nor does one in eight: the call that ends an epoch finds no batch to make.
const (
	minRuns    = 4
	minWaited  = 2
	minAtOnce  = 2
	endsEpoch  = 8
	unlikeRuns = 10
)

// extent is the shortest and the longest of the runs of a site's range behind start-up, in ns; 0 if they are about
// alike or few.
func (c *Case) extent(s *site) (shortest, longest float64) {
	if s.rangeID == 0 {
		return 0, 0
	}
	r, names, fromNs := &c.Trace.Ranges, c.Facts.RangeNames(), c.Steps.HostWindow().StartNs
	var runs []float64
	for i, id := range r.Name {
		if names[id] == s.rangeID && r.StartNs[i] >= fromNs && r.DurNs[i] != model.OpenDurNs {
			runs = append(runs, float64(r.DurNs[i]))
		}
	}
	slices.Sort(runs)
	n := len(runs)
	if n < minRuns || runs[n-minWaited] < unlikeRuns*runs[max(minAtOnce, n/endsEpoch+1)-1] {
		return 0, 0
	}
	return runs[0], runs[n-1]
}
