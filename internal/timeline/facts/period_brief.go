package facts

import (
	"fmt"
	"slices"

	"lacuna/internal/base/interval"
	"lacuna/internal/base/unit"
)

// minRest is the share of the time from a loop's start to the last GPU work that the loop must last, all its runs
// together. Idle time before a loop does not count, as start-up comes once however long the loop goes on. But where a
// loop has ended, and the program goes on using the GPU for a hundred times as long, the loop is part of its start-up
// or a check: were all of it saved, what remains would take 1 % less.
const minRest = 0.01

// isBrief says whether pieces that repeat, in runs that last spans, are next to nothing of what the program does from
// then on, and notes it in p.
func (f *Facts) isBrief(p *period, spans ...interval.Span) bool {
	if len(spans) == 0 {
		return false
	}
	loopNs := int64(0)
	for _, s := range spans {
		loopNs += s.LenNs()
	}
	restNs := slices.Max(f.Work().EndNs) - spans[0].StartNs
	if float64(loopNs) >= minRest*float64(restNs) {
		return false
	}
	p.brief = fmt.Sprintf("take %s ms of the %s ms from their start to the last GPU work", unit.About(float64(loopNs)/1e6),
		unit.About(float64(restNs)/1e6))
	if p.median > 0 && len(spans) == 1 {
		p.brief = fmt.Sprintf("do so %d at a time and %d times, and %s", p.median, p.pieces(), p.brief)
	}
	return true
}

// noteBrief remembers, of the pieces that were no steps because they are so short, the first.
func (s *Steps) noteBrief(p *period) {
	if p.brief != "" && s.parts == "" {
		s.parts = p.brief
	}
}

// window is from the start of the first piece to the end of the last one.
func (p *period) window(f *Facts) interval.Span {
	starts := f.startsAt(p)
	return interval.Span{StartNs: starts[0], EndNs: starts[len(starts)-1]}
}
