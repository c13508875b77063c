package pages

import (
	"fmt"

	"lacuna/internal/answer/report"
	"lacuna/internal/base/unit"
	"lacuna/internal/faces/page"
)

// phaseWords is what the parts of a capture are called.
var phaseWords = map[string]string{
	"start": "start-up", "unseen": "GPU busy with work from before the capture", "main": "main part", "end": "end",
}

// How many things that the host does a phase names, and the share of the longest phase under which one is not shown.
const (
	maxPhaseCauses = 3
	minPhaseShare  = 0.001
)

// phaseCount is how many phases are shown.
func phaseCount(r *report.Report) (n int) {
	total := 0.0
	for _, p := range r.Phases {
		total = max(total, p.DurMs)
	}
	for _, p := range r.Phases {
		if p.DurMs >= minPhaseShare*total {
			n++
		}
	}
	return n
}

// phases is the parts of a capture in which nothing marks steps: what is before and behind the part that the rest of
// the report is of.
func phases(r *report.Report) []page.Block {
	if r.Steps.Source != "none" || phaseCount(r) < 2 {
		return nil
	}
	total := 0.0
	for _, p := range r.Phases {
		total = max(total, p.DurMs)
	}
	var lines []page.Text
	for _, p := range r.Phases {
		if p.DurMs < minPhaseShare*total {
			continue
		}
		busy := page.Sayf("GPU busy %s", page.Num(unit.Percent(p.GPUBusyMs/p.DurMs)+" %"))
		if p.Kind == "unseen" {
			busy = page.T("what ran is not recorded")
		}
		ms := page.Num(unit.Fixed(p.DurMs, unit.MsDigits(total)) + " ms")
		line := page.Sayf("%s: %s, %s", phaseWords[p.Kind], ms, busy)
		var host []page.Text
		for _, h := range p.Host[:min(len(p.Host), maxPhaseCauses)] {
			host = append(host, hostTimeWords(h))
		}
		if len(host) > 0 {
			line = page.Sayf("%s; the host: %s", line, page.List(host, ", "))
		}
		lines = append(lines, page.Join(line, page.T(".")))
	}
	return section("Phases of the capture", false, listed(lines)...)
}

// hostTimeWords is "cudaHostAlloc 815 ms (3 calls)".
func hostTimeWords(h report.HostTime) page.Text {
	what := h.What
	if what == "" {
		what = "code outside any range"
	}
	ms := unit.Fixed(h.Ms, unit.MsDigits(h.Ms)) + " ms"
	if h.Calls > 1 {
		return page.Sayf("%s %s (%s)", what, page.Num(ms), fmt.Sprintf("%s calls", unit.FormatCount(int64(h.Calls))))
	}
	return page.Sayf("%s %s", what, page.Num(ms))
}
