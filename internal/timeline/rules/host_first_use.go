package rules

import (
	"fmt"
	"slices"
	"strings"

	"lacuna/internal/base/unit"
	"lacuna/internal/timeline/facts"
)

var hostFirstUse = Rule{
	ID:       "host_first_use",
	Title:    "Coming to use the GPU takes a good part of a run that does little on it",
	Since:    "0.3",
	Standing: CostsElse,
	Doc: `
Of a capture with CUDA calls and without GPU work: the calls with which a process comes to use a GPU. The first call that
needs one starts the runtime and makes a context, often as cudaFree(0) in a library's set-up; the first launch loads its
module. The rule adds up the calls of a millisecond and more before the first launch or copy of each process, and that
launch; of allocations the first. Threshold: 5 % of the host's time in one of the processes.`,
	Limits: `
It is paid once per process: in a longer run it is a smaller part. A recording that begins in the middle of a run does
not hold it.`,
	Fix: `
Where real runs are much longer, leave it as it is. Else make the context on a thread while input is read, and keep one
process for many short jobs. A run that does nothing on the GPU needs none: leave out what opens it (torch.cuda.init(),
device properties, handles of libraries), or hide the GPU from it:

    CUDA_VISIBLE_DEVICES= python prepare.py`,
	FixC: `Where real runs are much longer, leave it as it is. Else call cudaFree(0) on a thread while input is read, and
keep one process for many short jobs. A run that does nothing on the GPU needs none: make handles (cublasCreate,
cusolverDnCreate) where they are first used, or hide the GPU from it with an empty CUDA_VISIBLE_DEVICES.`,
	Confirm:   `The long first calls are gone, or beside other work.`,
	RefutedBy: `Real runs last much longer than this one: it is paid once.`,
	Check:     checkHostFirstUse,
}

func checkHostFirstUse(c *Case, out *Findings) {
	if !c.hostOnly() || c.Trace.Calls.Len() == 0 {
		return
	}
	uses, span := c.Facts.FirstUses(), c.Facts.HostSpan()
	if len(uses) == 0 || float64(uses[0].Ns) < minHostShare*float64(span.LenNs()) {
		return
	}
	t := c.Trace
	u := uses[0]
	each := ms(float64(u.Ns)) + " of " + ms(float64(span.LenNs()))
	if n := len(uses); n > 1 {
		total := int64(0)
		for _, x := range uses {
			total += x.Ns
		}
		each = fmt.Sprintf("%s to %s in each of %d processes (%s in all)", ms(float64(uses[n-1].Ns)), each, n,
			ms(float64(total)))
	}
	f := out.Add(0.7, 0, "First calls to the GPU's runtime take %s, once per run: %s", each,
		strings.Join(c.firstUseNames(u), ", "))
	f.Because(fmt.Sprintf("the longest of them is %s, %s: such a call starts the runtime, makes a context or loads code",
		c.Facts.CallName(u.Longest), ms(float64(t.Calls.DurNs[u.Longest]))))
	if c.Facts.NoWork() == facts.WorkNone {
		f.Because("nothing is launched or copied afterwards: what opened the GPU was not needed in this run")
	}
}

// firstUseNames is the calls of a process by name, most first: "2 calls of cudaFree".
func (c *Case) firstUseNames(u facts.FirstUse) (out []string) {
	count := make(map[string]int)
	var names []string
	for _, row := range u.Rows {
		name := c.Facts.CallName(row)
		if count[name]++; count[name] == 1 {
			names = append(names, name)
		}
	}
	slices.SortStableFunc(names, func(a, b string) int { return count[b] - count[a] })
	for _, name := range names[:min(len(names), maxOutsideNames)] {
		if n := count[name]; n > 1 {
			name = unit.Counted(n, "call", "calls") + " of " + name
		}
		out = append(out, name)
	}
	return out
}
