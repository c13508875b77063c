package rules

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"

	"lacuna/internal/timeline/facts"
	"lacuna/internal/timeline/model"
)

var forwardHeavy = Rule{
	ID:    "forward_heavy",
	Title: "Forward takes far longer than backward: the host reads values back in it",
	Since: "0.1",
	Needs: []Need{needWork, needCalls, needSteps, needBackward},
	Doc: `
Backward does about twice the work of forward, so forward usually takes half as long. Here forward takes at least
1.5 times as long as backward on the GPU, and most of that is not computing: the GPU is idle, or copies to the host,
while the host reads values of forward (.item(), .cpu(), print of a tensor) and works on them, in at least half of
the steps.

The fix saves at most the time of forward without computing. Threshold: 5 % of the step.`,
	Limits: `
Needs a capture in which backward can be recognized: autograd's thread, its operators or a range. Waits between
forward and backward (reading the loss) count as forward. A forward that is slow without waiting for the GPU
(Python, data loading) is another fault, which this rule does not report.`,
	Fix: `
Keep metrics on the GPU, and read them after the step, every N steps:

    stats.append(h.detach().float().norm())      # no .cpu(), no .item()
    if step % 100 == 0:
        log(torch.stack(stats).cpu())`,
	FixC: `
Reduce on the GPU into a buffer; copy it to pinned memory with cudaMemcpyAsync and read it one step later.`,
	Confirm:   `Forward takes about half as long as backward, and no call in it waits for the GPU.`,
	RefutedBy: `Forward depends on the values (a loop that ends by them): they must be read.`,
	Check:     checkForwardHeavy,
}

const (
	heavyForward    = 1.5  // times backward; usual is 0.5, with an unoptimised forward up to 1
	minForwardShare = 0.05 // of the step, that forward does not compute
	minWaitingPart  = 0.5  // of forward, that it does not compute: else forward is long because it computes
)

func checkForwardHeavy(c *Case, out *Findings) {
	times := c.passTimes()
	forward, backward := times[facts.PassForward], times[facts.PassBackward]
	lost := forward.elapsedNs - forward.busyNs
	if backward.elapsedNs == 0 || float64(forward.elapsedNs) < heavyForward*float64(backward.elapsedNs) ||
		float64(lost)*c.PerStep < minForwardShare*c.StepNs ||
		float64(lost) < minWaitingPart*float64(forward.elapsedNs) {
		return
	}
	waits, steps := c.forwardWaits()
	if 2*steps < len(c.Steps.Steady()) {
		return // in most steps nothing in forward waits for the device: the host is slow, but not for this
	}
	ratio := float64(forward.elapsedNs) / float64(backward.elapsedNs)
	f := out.Add(min(0.9, 0.5+0.1*ratio), float64(lost)*c.PerStep,
		"Forward takes %.1f times as long as backward: %s, of which the GPU computes %s", ratio,
		ms(float64(forward.elapsedNs)*c.PerStep), ms(float64(forward.computeNs)*c.PerStep))
	rows, places := c.waitRows(waits)
	f.Because(fmt.Sprintf("in forward the host waits for the GPU %s times per step",
		number(float64(len(waits))*c.PerStep)), rows...)
	if copies := c.readBacks(forward.rows); copies != "" {
		f.Because(copies)
	}
	if len(places) == 1 && places[0] != "" {
		f.Repair("drop-syncs:" + regexp.QuoteMeta(places[0]))
	}
	f.Repair("drop-syncs")
}

// forwardWaits is the calls that wait for the device, or copy from it while the host waits, between two launches of
// forward or between its last and backward's first, and in how many of the steps there are any.
func (c *Case) forwardWaits() (out []int32, steps int) {
	passes, w, t := c.Facts.Passes(), c.work(), c.Trace
	type launch struct {
		ns    int64
		pass  facts.Pass
		batch bool // of a copy to the device: who waits behind it waits for the copy
	}
	var launches []launch
	for i, call := range w.Call {
		if call != facts.NoCall && passes.Of[i] != facts.PassUnknown {
			launches = append(launches, launch{t.Calls.StartNs[call], passes.Of[i], c.isBatch(int32(i))})
		}
	}
	slices.SortStableFunc(launches, func(a, b launch) int { return cmp.Compare(a.ns, b.ns) })
	seen := make(map[int]bool)
	for row, cause := range c.Facts.CallCauses() {
		if name := facts.CauseName(cause); name != facts.CauseSync && name != facts.CauseCopyCall {
			continue
		}
		ns := t.Calls.StartNs[row]
		// A blocking copy is a launch itself: the last one at or before its own start.
		next, _ := slices.BinarySearchFunc(launches, ns+1,
			func(l launch, ns int64) int { return cmp.Compare(l.ns, ns) })
		if next == 0 || next == len(launches) || launches[next-1].pass != facts.PassForward ||
			launches[next-1].batch || launches[next].pass == facts.PassUpdate {
			continue
		}
		if step := c.stepAt(ns); step >= 0 {
			out, seen[step] = append(out, int32(row)), true
		}
	}
	return out, len(seen)
}

// waitRows names the waits by call and place, most time first, and the places.
func (c *Case) waitRows(waits []int32) (rows, places []string) {
	t := c.Trace
	type place struct {
		name  string
		count int
		ns    int64
	}
	var all []place
	for _, row := range waits {
		where := c.Facts.Where(t.Calls.Thread[row], t.Calls.StartNs[row])
		if !slices.Contains(places, where) {
			places = append(places, where)
		}
		name := facts.BaseCallName(t.Strings.Text(t.Calls.Name[row]))
		if where != "" {
			name += " in " + where
		}
		n := slices.IndexFunc(all, func(p place) bool { return p.name == name })
		if n < 0 {
			n, all = len(all), append(all, place{name: name})
		}
		all[n].count++
		all[n].ns += t.Calls.DurNs[row]
	}
	slices.SortStableFunc(all, func(a, b place) int { return cmp.Compare(b.ns, a.ns) })
	for _, p := range all[:min(len(all), maxRows)] {
		rows = append(rows, fmt.Sprintf("%s per step, %s per step: %s", number(float64(p.count)*c.PerStep),
			ms(float64(p.ns)*c.PerStep), p.name))
	}
	return rows, places
}

// readBacks says what is copied to the host among rows, or "".
func (c *Case) readBacks(rows []int32) string {
	w, t := c.work(), c.Trace
	n, bytes, ns := 0, int64(0), int64(0)
	for _, r := range rows {
		if w.Kind[r] == facts.WorkCopy && t.Copies.Kind[w.Row[r]] == model.CopyDtoH {
			n++
			ns += c.durNs(r)
			if int(w.Row[r]) < len(t.Copies.Bytes) {
				bytes += t.Copies.Bytes[w.Row[r]]
			}
		}
	}
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("%s copies to the host per step in forward, %.1f MB, %s", number(float64(n)*c.PerStep),
		float64(bytes)*c.PerStep/1e6, ms(float64(ns)*c.PerStep))
}
