package rules

import (
	"fmt"
	"strings"

	"lacuna/internal/timeline/facts"
	"lacuna/internal/timeline/model"
)

var allocatorChurn = Rule{
	ID:    "allocator_churn",
	Title: "Allocator churn: GPU memory is allocated and freed through the driver in every step",
	Since: "0.2",
	Needs: []Need{needWork, needCalls},
	Doc: `
cudaMalloc, cudaFree, cudaHostAlloc and the like run inside the steady loop. They take tens of microseconds to
milliseconds, and cudaFree waits until the GPU has finished everything, so the queue drains. A framework's caching
allocator calls them in the first steps only. They return in every step when empty_cache() is called, when shapes
vary so that no cached block fits, or when a program allocates by hand.

The rule counts such calls in at least half of the steps, on threads that feed a GPU. The fix saves at most what the
host spends in them and until the GPU has work again, and at most what the GPU waits for the host. The calls must take
2 % of the step. In a capture without steps memory must be allocated again after it was freed, ten times or more: a
program that allocates at its start and frees at its end is not meant.`,
	Limits: `
Calls in start-up steps, and calls in stalled steps only, are not counted. The allocator's host work around the
calls is not either. Allocations without releases are memory_growth's.`,
	Fix: `
Leave the memory in the caching allocator:

    # torch.cuda.empty_cache()                 # not inside the loop
    # PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True   where shapes vary

Pad batches to a few sizes, and make buffers once, before the loop.`,
	FixC: `
Allocate once before the loop, or use cudaMallocAsync with a pool whose cudaMemPoolAttrReleaseThreshold is high.`,
	Confirm:   `No cudaMalloc or cudaFree is left in the steps.`,
	RefutedBy: `Another part of the program makes the calls, or the step does not get shorter without them.`,
	Check:     checkAllocatorChurn,
}

func checkAllocatorChurn(c *Case, out *Findings) {
	t, s := c.Trace, c.starved()
	causes := c.Facts.CallCauses()
	feeds := make(map[model.ThreadRow]bool)
	for _, gaps := range s.gaps {
		for _, g := range gaps {
			feeds[g.Thread] = true
		}
	}
	spent, restart, n := c.newTally(), c.newTally(), c.newTally()
	places := c.newGroups()
	endOf := make(map[model.ThreadRow]int64)
	freed, back := make(map[model.ThreadRow]bool), 0 // how often memory is allocated behind a release
	for i := range t.Calls.Len() {
		th := t.Calls.Thread[i]
		nested := t.Calls.StartNs[i] < endOf[th]
		endOf[th] = max(endOf[th], t.Calls.EndNs(i))
		if nested || !feeds[th] || facts.CauseName(causes[i]) != facts.CauseAlloc {
			continue
		}
		if c.stepAt(t.Calls.StartNs[i]) >= 0 {
			frees := releases(c.Facts.CallName(int32(i)))
			if freed[th] && !frees {
				back++
			}
			freed[th] = frees
		}
		ns := float64(t.Calls.DurNs[i])
		spent.add(t.Calls.StartNs[i], ns)
		restart.add(t.Calls.StartNs[i], s.restIdleNs(t.Calls.EndNs(i)))
		n.add(t.Calls.StartNs[i], 1)
		places.add(c.place(int32(i)), t.Calls.StartNs[i], ns)
	}
	atMost := min(spent.perStep()+restart.perStep(), s.total.perStep())
	if !n.usual() || !c.again(float64(back)) || min(spent.perStep(), atMost) < minIdleShare*c.StepNs {
		return
	}
	f := out.Add(0.9, atMost, "GPU memory is allocated and freed through the driver %s per step: the host spends "+
		"%s of %s in it",
		times(n.amount()), ms(spent.perStep()), ms(c.StepNs))
	f.Because("calls that allocate or free memory in the steps", places.rows(4)...)
	f.Because(fmt.Sprintf("the GPU is idle %s per step while the host is inside them, %s per step in all while it "+
		"waits for the host", ms(s.of(facts.CauseAlloc).perStep()), ms(s.total.perStep())))
	f.Repair("drop-allocs")
}

// releases says whether a call that manages memory gives it back: cudaFree, cuMemHostUnregister, hipHostFree.
func releases(name string) bool {
	for _, word := range []string{"Free", "Unregister", "Unmap", "Release", "Destroy"} {
		if strings.Contains(name, word) {
			return true
		}
	}
	return false
}
