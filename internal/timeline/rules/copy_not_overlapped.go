package rules

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"lacuna/internal/timeline/model"
)

var copyNotOverlapped = Rule{
	ID:    "copy_not_overlapped",
	Title: "Host-to-device copies do not overlap with kernels",
	Since: "0.2",
	Needs: []Need{needWork, needCalls, needMemKinds},
	Doc: `
Data is copied to the GPU from pinned memory. A copy engine could do that while kernels run, but the GPU computes
nothing meanwhile: the copies are on the kernels' stream, or kernels that do not need the data yet wait for it.

The rule counts copies of over 64 KiB from pinned memory, by the time in which the GPU neither computes nor
communicates. Overlap needs as much computation, so the saving is at most the smaller of the two; it must be 2 % of
the step. In a capture without steps such copies and kernels must take turns three times: there is nothing to overlap a
single upload with. Copies on a stream of their own that overlap with kernels for half of their time are overlapped already.
Without steps each of the outermost ranges of the program is judged by itself: copies may take turns with kernels in one
and overlap in the next.`,
	Limits: `
A batch that depends on the previous step cannot be copied ahead. Copies that share memory bandwidth with kernels slow
them a little. Copies of pageable memory are pageable_copy's.`,
	Fix: `
Copy the next batch on a stream of its own while this one is computed:

    copier = torch.cuda.Stream()
    with torch.cuda.stream(copier):
        following = batch.to("cuda", non_blocking=True)
    ...                                        # forward, backward of the current batch
    torch.cuda.current_stream().wait_stream(copier)
    following.record_stream(torch.cuda.current_stream())`,
	FixC: `Use two buffers and two streams: cudaMemcpyAsync into one on the copy stream while kernels read the
other; cudaStreamWaitEvent between them.`,
	Confirm:   `The copies overlap with kernels: exposed copy time falls below 2 % of the step.`,
	RefutedBy: `The step does not get shorter when the same batch on the GPU is used in every step, without a copy.`,
	Check:     checkCopyNotOverlapped,
}

// mostlyHidden is the share of the copies' time beside kernels from which copies on a stream of their own are
// overlapped already: what is left is the start and end of the capture, or a link that is slower than the kernels.
const mostlyHidden = 0.5

func checkCopyNotOverlapped(c *Case, out *Findings) {
	all := c.pinnedUploads()
	sum, inLine, bytes, starts := c.newCopySum(), c.newTally(), c.newTally(), []int64{}
	var in []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		p := all[name]
		if p.aside() && p.hidden() > mostlyHidden {
			continue // they run ahead, but there is more to copy than to compute at times
		}
		for _, x := range p.copies {
			sum.add(c, x)
			bytes.add(x.startNs, float64(x.bytes)*float64(x.exposed)/float64(max(1, x.ns)))
			starts = append(starts, x.startNs)
			if x.inLine {
				inLine.add(x.startNs, float64(x.exposed)/c.deviceCount())
			}
		}
		in = append(in, name)
	}
	slices.Sort(starts)
	var computeNs int64
	for _, b := range c.Budgets {
		computeNs += b.ComputeNs
	}
	atMost := min(sum.exposed.perStep(), float64(computeNs)*c.PerStep/c.deviceCount())
	if !sum.n.usual() || atMost < minIdleShare*c.StepNs || c.wholeCapture() && c.rounds(starts) < minSeen {
		return
	}
	hidden := 1 - sum.exposed.perStep()/max(1, sum.ns.perStep())
	confidence, how := 0.6, "they have a stream of their own, but for that time no kernel runs"
	if 2*inLine.perStep() > sum.exposed.perStep() {
		confidence, how = 0.85, "they are queued on the same stream as kernels"
	}
	f := out.Add(confidence, atMost, "%s per step are copied to the GPU with no overlap%s: %s of %s without computation",
		size(bytes.amount()), inRanges(in), ms(sum.exposed.perStep()), ms(c.StepNs))
	f.Because(fmt.Sprintf("%.0f %% of the time of copies from pinned memory is not overlapped with kernels%s; %s",
		100*(1-hidden), inRanges(in), how), sum.places.rows(4)...)
	if len(in) < len(all) {
		f.Because("in other ranges of the program the copies overlap with kernels for most of their time", overlapped(all,
			in)...)
	}
	f.Repair("overlap-copies")
}

// uploads is copies of pinned memory to the device in a part of the program.
type uploads struct {
	copies              []copied
	ns, exposed, inLine int64
}

// hidden is the share of their time in which the device computes.
func (u *uploads) hidden() float64 { return 1 - float64(u.exposed)/float64(max(1, u.ns)) }

// aside says whether they have a stream of their own.
func (u *uploads) aside() bool { return 2*u.inLine <= u.exposed }

// pinnedUploads is the copies that the rule looks at, by the outermost range that they were issued in; in the steps of
// a loop they are of one kind.
func (c *Case) pinnedUploads() map[string]*uploads {
	out, ranges := make(map[string]*uploads), c.phaseRanges()
	for _, x := range c.copies() {
		if x.kind != model.CopyHtoD || !x.pinned || !x.known || x.bytes <= smallBytes {
			continue
		}
		name := c.phaseOf(ranges, x.row)
		if out[name] == nil {
			out[name] = &uploads{}
		}
		u := out[name]
		u.copies, u.ns, u.exposed = append(u.copies, x), u.ns+x.ns, u.exposed+x.exposed
		if x.inLine {
			u.inLine += x.exposed
		}
	}
	return out
}

// inRanges says in which ranges of the program something is, where they have names.
func inRanges(names []string) string {
	if len(names) == 0 || slices.Contains(names, "") || len(names) > 2 {
		return ""
	}
	return " in " + strings.Join(names, " and ")
}

// overlapped is rows of the ranges that are not among those told of.
func overlapped(all map[string]*uploads, told []string) (rows []string) {
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if slices.Contains(told, name) {
			continue
		}
		u, words := all[name], name
		if words == "" {
			words = "outside any range"
		}
		rows = append(rows, fmt.Sprintf("%s: %.0f %% of %s", words, 100*u.hidden(), ms(float64(u.ns))))
	}
	return rows
}

// rounds is how often a kernel begins between one copy and the next, and behind the last: how often copies and
// kernels take turns. starts is when copies begin, in order.
func (c *Case) rounds(starts []int64) int {
	w, n, next := c.Facts.Work(), 0, 0
	for i := range w.Len() {
		if !w.Kind[i].IsCompute() {
			continue
		}
		before := next
		for next < len(starts) && starts[next] <= w.StartNs[i] {
			next++
		}
		if next > before {
			n++
		}
	}
	return n
}
