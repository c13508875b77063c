package rules

import (
	"cmp"
	"fmt"
	"slices"

	"lacuna/internal/base/interval"
	"lacuna/internal/timeline/facts"
)

var hostAsleep = Rule{
	ID:    "host_asleep",
	Title: "The GPU waits while the thread that feeds it sleeps",
	Since: "0.3",
	Needs: []Need{needWork, needCalls, needSched},
	Doc: `
The GPU has nothing queued, and the thread that feeds it is in no CUDA call and on no CPU: it does not work, it waits for
something that no call in the capture names. That can be a device (a camera, a video decoder, a disk), a timer, another
thread, or another process. Context switches show it. While another thread that calls CUDA is on a CPU the thread may
wait for that one, and the time does not count. Time in recorded calls of the operating system belongs to os_wait
and host_barrier, time in which another thread takes the core to cpu_contention.

Threshold: 10 % of the step, in at least half of the steps.`,
	Limits: `
For what the thread waits is not known; the names are those of ranges around it. A source that delivers at a fixed rate
(a camera, a stream) sets the pace: then nothing can be gained by a faster program, however idle the GPU is. The bound
is all of the time asleep.`,
	Fix: `
Find out what the thread waits for, with calls of the operating system recorded:

    nsys profile --trace=cuda,nvtx,osrt --cpuctxsw=process-tree python train.py

If a device or a service sets the pace, several of its streams at once use the GPU better; if another thread does, give
that one less to do, or start it earlier.`,
	FixC: `nsys profile --trace=cuda,nvtx,osrt shows the call and how long it lasts. Ask for the next item before the
GPU works on this one, so that both waits overlap.`,
	Confirm:   `The thread that feeds the GPU sleeps for less than 10 % of the step while the GPU has nothing queued.`,
	RefutedBy: `The program takes as long with its source replaced by data in memory.`,
	Check:     checkHostAsleep,
}

func checkHostAsleep(c *Case, out *Findings) {
	byPlace, idle := c.asleepLong()
	if byPlace == nil {
		return
	}
	atMost := idle.perStep()
	var places []string
	for place, t := range byPlace {
		if t.share() >= minIdleShare {
			places = append(places, place)
		}
	}
	slices.SortFunc(places, func(a, b string) int {
		return cmp.Or(cmp.Compare(byPlace[b].perStep(), byPlace[a].perStep()), cmp.Compare(a, b))
	})
	where := ""
	var rows []string
	for i, place := range places {
		if i == 0 && place != facts.CauseHost {
			where = " in " + hostWorkWords(place)
		}
		rows = append(rows, fmt.Sprintf("%s per step: %s", ms(byPlace[place].perStep()), hostWorkWords(place)))
	}
	f := out.Add(0.7, atMost, "The GPU waits %s of %s per step while the thread that feeds it sleeps%s", ms(atMost),
		ms(c.StepNs), where)
	pace := ""
	if !c.wholeCapture() {
		pace = fmt.Sprintf("; the loop turns %s times per second: if a source of that rate (a camera, a decoder, a timer) "+
			"sets the pace, nothing can be gained", number(1e9/max(1, c.StepNs)))
	}
	f.Because(fmt.Sprintf("for %.1f %% of the step it is on no CPU and in no call that the capture names, so that it waits "+
		"for a device, a timer or another thread%s", 100*idle.share(), pace), rows[:min(len(rows), maxRows)]...)
}

// asleepLong is c.sleeps and their sum, if that is a finding; else nil.
func (c *Case) asleepLong() (byPlace map[string]*tally, sum *tally) {
	byPlace, sum = c.sleeps(), c.newTally()
	for _, t := range byPlace {
		sum = sumOf(sum, t)
	}
	if !sum.usual() || sum.perStep() < minUnnamedShare*c.StepNs {
		return nil, nil
	}
	return byPlace, sum
}

// sleeps is when devices waited for a thread that was on no CPU, and no other one on its core, outside of CUDA calls
// and calls of the operating system: by cause of the idle time, in ns of the mean device.
func (c *Case) sleeps() map[string]*tally {
	if c.memo.sleeps != nil {
		return c.memo.sleeps
	}
	s, out := c.starved(), make(map[string]*tally)
	c.memo.sleeps = out
	if c.Trace.Sched.Len() == 0 {
		return out
	}
	driven, _ := c.drivenOut()
	for _, gaps := range s.gaps {
		for _, g := range gaps {
			c.Facts.HostDoing(g.Thread, g.Span, func(cause facts.Cause, span interval.Span) {
				text := c.Facts.CauseText(cause)
				off, known := c.Facts.OffCPU(g.Thread, span)
				if !known || !isHostWork(text) {
					return
				}
				if out[text] == nil {
					out[text] = c.newTally()
				}
				for _, x := range interval.Subtract(off, driven[g.Thread].Clip(span)) {
					out[text].add(x.StartNs, float64(x.LenNs())/s.devices)
				}
			})
		}
	}
	return out
}
