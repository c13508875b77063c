package kernelrules

import (
	"slices"
	"strings"

	"lacuna/internal/kernel"
)

var dramBoundAtPeak = Rule{
	ID:      "dram_bound_at_peak",
	Title:   "DRAM-bound at peak: only fewer bytes help",
	Since:   "0.2",
	Healthy: true,
	Needs:   []Need{needTime, needDRAM},
	Doc: `
The kernel reaches the DRAM bandwidth that good kernels reach: 80 % of the peak, or 72 % where a fifth or more is
written, since the bus must turn around. No fault was found. Waiting for loads is normal then, and neither occupancy
nor instructions matter. The rule is silent where coalescing or local memory were not collected.`,
	Limits: `
Bytes may still be avoidable in ways that counters do not show: a smaller type, fusion with the kernel before.`,
	Fix: `
Nothing inside the kernel. Move fewer bytes: fuse it with its neighbours, use smaller types, keep what is read again
in L2.`,
	RefutedBy: `A copy of the same number of bytes (cudaMemcpyDeviceToDevice) takes much less time.`,
	Check:     checkDRAMPeak,
}

const (
	dramFull       = 0.80 // streaming kernels on six chips reach it
	dramFullWrites = 0.72
)

func checkDRAMPeak(c *Case, out *Findings) {
	u := c.use(kernel.DRAM)
	if !(u >= dramFull) && !(u >= dramFullWrites && c.writes()) {
		return
	}
	if out.cannotJudge("uncoalesced_access", "register_spills") {
		return
	}
	bytes, writes := c.dramBytes()
	f := out.Add(0.9, "DRAM is at %s of its peak, as in good kernels", percent(u))
	if bytes > 0 {
		f.Because("%s, of which %s are written", bytesText(bytes), percent(writes))
	}
	f.Because("only fewer bytes help: a smaller type, or more done with each byte before it is left " +
		"(several rows at once, the next kernel fused with this one)")
	out.unsure(f, "whether all of its bytes are needed")
	f.PredictedUs, f.LowUs, f.HighUs, f.Next = c.us(), c.us(), c.us(), nameOf(kernel.DRAM)
}

// cannotJudge abstains from a healthy verdict where one of the rules abstains that would find the unit's work to be
// waste: a unit that is busy is then no more than busy.
func (o *Findings) cannotJudge(rules ...string) bool {
	for _, a := range o.Abstained {
		if slices.Contains(rules, a.Rule.ID) {
			o.Abstained = append(o.Abstained, Abstention{o.rule, "it to tell needed work from waste: " + a.Missing,
				a.Section})
			return true
		}
	}
	return false
}

// unsureHealthy is under a half: that a unit is busy is measured, that it is busy with what is needed is not.
const unsureHealthy = 0.4

// unsure lowers what is claimed of a healthy kernel where the rules about faults could not judge.
func (o *Findings) unsure(f *Finding, what string) {
	if len(o.Abstained) == 0 {
		return
	}
	f.Confidence = unsureHealthy
	var sections []string
	for _, a := range o.Abstained {
		if !slices.Contains(sections, a.Section) {
			sections = append(sections, a.Section)
		}
	}
	slices.Sort(sections)
	f.Because("%s is unknown from this report: %d diagnoses lack counters; collect --section %s", what,
		len(o.Abstained), strings.Join(sections, " --section "))
}
