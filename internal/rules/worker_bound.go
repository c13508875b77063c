package rules

import "fmt"

var workerBound = Rule{
	ID:    "worker_bound",
	Title: "The loader's workers are too slow",
	Since: "0.2",
	Needs: []Need{needWork, needCalls, needSteps},
	Doc: `
Batches are made by worker processes or threads, and the GPU idles while the thread that feeds it waits for the next one: the
workers, or the hand-over of what they made, are the limit.

That the host waits and does not work is told by a range of a DataLoader with workers (PyTorch's
_MultiProcessingDataLoaderIter), or by calls of the operating system (poll, select, read, a semaphore or condition) that take
most of the pause, where the pause lies in a range named like loading or a copy of data to the device follows it. It must be
in half of the steps and 2 % of the step.`,
	Limits: `
The workers themselves are in no trace of the training process: whether they lack cores, disk or network must be looked up there.
Without OS calls (nsys --trace=osrt) and without PyTorch's ranges waiting cannot be told from working: input_pipeline then
says that the host is busy.`,
	Fix: `
Give it more workers, or less to do for each, and hand batches over pinned:

    loader = DataLoader(dataset, batch_size=64,
                        num_workers=os.cpu_count() - 2, prefetch_factor=4,
                        pin_memory=True, persistent_workers=True)

Decode and augment on the GPU (nvJPEG, DALI, torchvision.transforms.v2 on CUDA tensors), store what can be decoded once, and set
torch.set_num_threads(1) in the workers so that they do not fight for cores.`,
	FixC:      `Add producer threads, deepen the ring of buffers, or move the work to the GPU.`,
	Confirm:   `The wait in front of the copy disappears, and the workers' queue is not empty when the loop asks.`,
	RefutedBy: `With twice the workers the wait is as long: then their source (disk, network, one lock) or the hand-over is the limit.`,
	Check:     checkWorkerBound,
}

func checkWorkerBound(c *Case, out *Findings) {
	for _, s := range c.sites() {
		if s.idle.share() < minIdleShare || !s.idle.usual() || !s.waitsForWorkers() {
			continue
		}
		confidence, why := 0.9, "a DataLoader with workers is asked for the next batch, and has none"
		if !s.workers {
			switch {
			case 2*s.feeds > s.n:
				confidence, why = 0.75, "the host sleeps in calls of the operating system, and then copies data to the device"
			case s.rangeName != "" && saysLoading(s.rangeName):
				confidence, why = 0.75, "its name says that it loads data, and the host sleeps in it in calls of the operating system"
			default:
				continue
			}
		}
		perStep := s.idle.perStep()
		f := out.Add(confidence, perStep, "The GPU waits %s of %s a step for batches that workers have not finished", ms(perStep), ms(c.StepNs))
		f.Because(fmt.Sprintf("%.1f %% of the step the GPU idles with nothing queued while the host waits %s", 100*s.idle.share(), s.where()), c.pauseRows(s.longest, 3)...)
		f.Because(why)
		s.repair(f)
	}
}
