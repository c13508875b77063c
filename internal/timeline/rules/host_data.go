package rules

import "fmt"

var hostData = Rule{
	ID:    "host_data",
	Title: "The GPU waits for data that the host makes",
	Since: "0.3",
	Needs: []Need{needWork, needCalls, needSteps},
	Doc: `
The GPU is idle with nothing queued while the thread that feeds it works between two CUDA calls, and the first thing
that it does then with the GPU is to copy 4 KiB or more to it: the work made that data. It may be a batch, the part of a
computation that the program does on the CPU, or a result of the GPU that the host changes and sends back. Where a
loader, a name or a function says that it loads data, it belongs to input_pipeline.

The work must be longer than the thread's ordinary pauses, in at least half of the steps, and take 2 % of the step. If in
most cases data was read back from the GPU right before, the work needs it and cannot be made ahead: then no gain of
making it ahead is replayed.`,
	Limits: `
What a copy holds is not recorded: work before it may have nothing to do with it. Whether the data depends on the step
before only the program knows; if it does, it cannot be made ahead. A thread that waits for another one without any
call of the operating system looks as if it worked, where neither those calls nor context switches are recorded.`,
	Fix: `
Compute it on the GPU, or make it ahead on another thread:

    noise = torch.randn(shape, device="cuda")     # instead of torch.randn(shape).cuda()
    following = pool.submit(make_data, i + 1)     # while the GPU works on i; from pinned memory, non_blocking=True`,
	FixC: `Write a kernel for it, or let other threads make the next data into a ring of pinned buffers while the GPU
works. Use all cores for it (OpenMP, a vectorised library) where it must stay on the host.`,
	Confirm:   `The work causes less than 2 % of idle time per step.`,
	RefutedBy: `The step does not get shorter when the same data is used again in every step.`,
	Check:     checkHostData,
}

func checkHostData(c *Case, out *Findings) {
	for _, s := range c.workSites() {
		if sure, _ := c.loads(s); sure > 0 || 2*s.feeds <= s.n {
			continue
		}
		perStep, where := s.idle.perStep(), "work"
		confidence := 0.7
		if s.rangeName != "" {
			where, confidence = s.rangeName, 0.75
		}
		f := out.Add(confidence, perStep, "The GPU waits %s of %s per step for %s on the host, and data is copied to "+
			"the GPU right behind it", ms(perStep), ms(c.StepNs), where)
		f.Because(fmt.Sprintf("for %.1f %% of the step the GPU is idle with nothing queued while the host is %s",
			100*s.idle.share(), s.where()), s.rows(c, 3)...)
		c.becauseOfCode(f, s.longest)
		if 2*s.reads > s.n {
			f.Because("data is read back from the GPU right before: the host works on it, so that this cannot be made ahead")
			continue
		}
		s.repair(f)
	}
}
