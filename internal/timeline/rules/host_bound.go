package rules

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"lacuna/internal/timeline/facts"
)

var hostBound = Rule{
	ID:    "host_bound",
	Title: "Host-bound: the GPU waits for work of the host",
	Since: "0.2",
	Needs: []Need{needWork, needCalls},
	Doc: `
The GPU has nothing queued while the thread that feeds it works: it is in no CUDA call and in no call of the operating
system, context switches, where recorded, show it on a CPU (else see host_asleep), and no known fault explains it. The
rule names what takes most of that time, by the innermost range of the program or, failing that, the operator; where
neither is recorded it says so, and how to record more.

Threshold: 10 % of the step, less what input_pipeline, host_data, worker_bound, host_barrier, recompilation, host_sync,
excess_transfer and decode_host_gap say of it (of host_sync, where such work is most of what the GPU waits for behind the
waits, only the work on values that were read); these must leave more than half, and launching, waiting and
allocating must take less of the waiting than it does.`,
	Limits: `
The name of a range says where the time goes, not why. A range around everything names nothing. Host work that the
result depends on cannot be made faster by a change on the GPU. What the bound counts is the GPU's waiting, not the time
that a faster host would save elsewhere.`,
	Fix: `
Find out what the host does there, then move it off the thread that launches, make it ahead of the loop, or do it on the
GPU:

    lacuna record --sample -- python train.py    # CPU samples: which functions
    with torch.cuda.nvtx.range("preprocess"):    # or ranges around the suspects
        ...`,
	FixC: `nvtxRangePush and nvtxRangePop around the suspects, or nsys profile --sample=process-tree. Give the work to
another thread, or queue more for the GPU before it.`,
	Confirm:   `The GPU has work queued during that part of the host's work.`,
	RefutedBy: `Without that part of the host's work the program takes as long.`,
	After: []*Rule{&inputPipeline, &hostData, &workerBound, &hostBarrier, &recompilation, &hostSync, &excessTransfer,
		&graphCapture},
	Check: checkHostBound,
}

// numbers tell one layer or item from the next, which one cause may be: layer_3 and layer_4 are layer_*.
var numbers = regexp.MustCompile(`[0-9]+`)

func checkHostBound(c *Case, out *Findings) {
	s := c.starved()
	byCause, total, all := maps.Clone(s.byCause), 0.0, s.total.perStep()
	for cause, t := range c.causesOf(c.beforeMigrations()) {
		all += t.perStep()
		byCause[cause] = sumOf(t, byCause[cause])
	}
	var named []string
	ns, one := make(map[string]float64), make(map[string]string) // by name less its numbers; its name, if it has one
	asleep, _ := c.asleepLong()
	for cause, t := range byCause {
		v := t.perStep()
		if off := asleep[cause]; off != nil {
			v -= off.perStep() // host_asleep's
		}
		if isHostWork(cause) && v > 0 {
			family := numbers.ReplaceAllString(cause, "*")
			if one[family] = family; ns[family] == 0 {
				one[family] = cause
			}
			ns[family] += v
			total += v
		}
	}
	for cause := range ns {
		named = append(named, cause)
	}
	atMost := total - c.claimed(out, &inputPipeline, &hostData, &workerBound, &hostBarrier, &recompilation,
		&excessTransfer, &graphCapture, &decodeHostGap) - c.claimedBySyncs(out)
	if len(named) == 0 || atMost < minUnnamedShare*c.StepNs || 2*atMost < total || 2*total < all {
		return
	}
	slices.SortFunc(named, func(a, b string) int {
		return cmp.Or(cmp.Compare(ns[b], ns[a]), cmp.Compare(a, b))
	})
	var rows []string
	for _, cause := range named[:min(len(named), 5)] {
		rows = append(rows, fmt.Sprintf("%s per step: %s", ms(ns[cause]), hostWorkWords(one[cause])))
	}
	most := ns[named[0]]
	confidence := 0.7
	what := fmt.Sprintf("the largest part (%s) in %s", ms(most), hostWorkWords(one[named[0]]))
	if named[0] == facts.CauseHost {
		confidence = 0.6
		what = fmt.Sprintf("%s of it that nothing in the capture names", ms(most))
		if code, samples := c.sampledCode(); code != "" {
			what = fmt.Sprintf("%s of it outside any range, most of that in %s (%s)", ms(most), code, samples)
		}
	}
	f := out.Add(confidence, atMost, "The GPU waits %s of %s per step for work of the host, %s", ms(total), ms(c.StepNs),
		what)
	f.Because(fmt.Sprintf("for %.1f %% of the step the GPU has nothing queued while the thread that feeds it is in no "+
		"CUDA call and in no call of the operating system", 100*total/max(1, c.StepNs)), rows...)
	f.Because("longest such waits", c.pauseRows(s.pauses, 3)...)
	if code, _ := c.sampledCode(); named[0] == facts.CauseHost && code == "" {
		f.Because("to see what the host does there, record CPU samples (lacuna record --sample, nsys profile " +
			"--sample=process-tree) or mark it with NVTX ranges")
	}
}

// sampledCode is the function that takes most of the idle time in host work that no range or operator names, and how
// many CPU samples say so; "" if none takes most of it.
func (c *Case) sampledCode() (code, samples string) {
	var gaps []facts.IdleGap
	for _, g := range c.starved().gaps {
		gaps = append(gaps, g...)
	}
	for _, x := range c.Facts.IdleCode(gaps) {
		if c.Facts.CauseText(x.Cause) != facts.CauseHost || len(x.Code) == 0 || 2*x.Code[0].Ns <= x.Ns {
			continue
		}
		if samples = "by its times"; x.Code[0].Samples > 0 {
			samples = fmt.Sprintf("%d of %d samples", x.Code[0].Samples, x.Samples)
		}
		return x.Code[0].Text(), samples
	}
	return "", ""
}

// isHostWork says whether a cause of idle time is work of the host, not of a CUDA call or the operating system.
func isHostWork(cause string) bool {
	return cause == facts.CauseHost || strings.HasPrefix(cause, "range:") || strings.HasPrefix(cause, "op:")
}

func hostWorkWords(cause string) string {
	if cause == facts.CauseHost {
		return "code outside any range and operator"
	}
	_, name, _ := strings.Cut(cause, ":")
	return name
}
