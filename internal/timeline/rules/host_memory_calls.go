package rules

import (
	"fmt"
	"strings"

	"lacuna/internal/timeline/facts"
)

var hostMemoryCalls = Rule{
	ID:    "host_memory_calls",
	Title: "Allocating and freeing GPU memory takes the host's time",
	Since: "0.3",
	Doc: `
Of a capture with CUDA calls and without GPU work: the share of the host's time in cudaMalloc, cudaFree, cudaHostAlloc
and the like. PyTorch's allocator calls cudaFree only if an allocation does not fit into what is free: it gives its
cached blocks back and tries again. cudaFree waits until the GPU has finished everything. Calls before the first launch
and the first allocation are not counted, nor is that allocation where it is long: they make the context; nor is the first release inside a matrix product or a
convolution: a library's first use. Threshold: 5 % of the step.`,
	Limits: `
Part of the time in cudaFree may be the GPU's work that it waits for, which stays. The first steps of a program allocate
in any case: without steps the capture does not show whether later ones do.`,
	Fix: `
Leave the memory in the caching allocator, and leave room on the GPU:

    # torch.cuda.empty_cache()                 # not inside the loop
    # PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True   where shapes vary

Work on smaller pieces where one tensor takes most of the memory, and write results into a buffer made once (out=).`,
	FixC: `
Allocate once before the loop, or use cudaMallocAsync with a pool whose cudaMemPoolAttrReleaseThreshold is high.`,
	Confirm:   `No cudaMalloc or cudaFree is left in the steps.`,
	RefutedBy: `The step does not get shorter without them: the host waits for the GPU in the next call instead.`,
	Check:     checkHostMemoryCalls,
}

func checkHostMemoryCalls(c *Case, out *Findings) {
	if !c.hostOnly() || c.Trace.Calls.Len() == 0 {
		return
	}
	o, t := c.Facts.OpTree(), c.Trace
	causes := c.Facts.CallCauses()
	begun := false // something was allocated or launched
	first := make(map[int32]bool)
	for _, u := range c.Facts.FirstUses() {
		for _, row := range u.Rows {
			first[row] = true
		}
	}
	library := false // a library of matrix products has begun
	parts := c.hostParts(func(i int) string {
		if o.Kind[i] != facts.HostCall {
			return ""
		}
		row := int32(o.Row[i])
		name := facts.BaseCallName(t.Strings.Text(t.Calls.Name[row]))
		if facts.CauseName(causes[row]) != facts.CauseAlloc {
			begun = begun || strings.Contains(name, "Launch")
			return ""
		}
		begun = begun || !releases(name)
		if !begun || first[row] {
			return ""
		}
		if product := kindOfOp(c.around(int32(i), func(string) bool { return false })) != ""; product && !library &&
			releases(name) {
			library = true
			return ""
		}
		return name
	})
	ns := sumOfParts(parts)
	if c.Share(ns) < minHostShare {
		return
	}
	perStep := c.hostPerStep(ns)
	f := out.Add(0.8, perStep, "Allocating and freeing GPU memory takes %s of %s per step (%s)", ms(perStep),
		ms(c.StepNs), c.shareOfHost(ns))
	f.Because("calls that allocate or free memory", c.partRows(parts, 4)...)
	var longest *hostPart
	var at int32
	for _, p := range parts {
		for _, i := range p.events {
			if longest == nil || o.DurNs[i] > o.DurNs[at] {
				longest, at = p, i
			}
		}
	}
	if 2*o.DurNs[at] > ns {
		where := c.around(at, func(string) bool { return false })
		if where != "" {
			where = " in " + where
		}
		f.Because(fmt.Sprintf("one %s%s takes %s of it", longest.name, where, ms(float64(o.DurNs[at]))))
	}
	for _, p := range parts {
		if releases(p.name) && 2*p.ns > ns {
			f.Because("the GPU has to finish what is queued before " + p.name + " returns: part of that time may be the " +
				"GPU's work, which this capture does not hold")
			break
		}
	}
}
