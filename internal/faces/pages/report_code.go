package pages

import (
	"lacuna/internal/answer/report"
	"lacuna/internal/base/unit"
	"lacuna/internal/faces/page"
	"lacuna/internal/timeline/facts"
)

// Which functions are shown under a cause of idle time: at most so many, each with at least such a share of it, of
// causes that take at least such a share of the step.
const (
	maxCodeRows    = 3
	codeOfItsCause = 0.10
	causeWithCode  = 0.01
)

// codeParts is the functions that the host ran under a cause of idle time, as parts of the step.
func codeParts(b report.Budget, c cause, part func(name page.Text, ms float64) page.Part) (out []page.Part) {
	x := codeOfCause(b, c)
	if x == nil {
		return nil
	}
	add := func(name page.Text, ms float64) {
		p := part(name, ms)
		p.Deeper = true
		out = append(out, p)
	}
	for _, f := range x.Code {
		if len(out) < maxCodeRows && f.Share >= codeOfItsCause {
			add(codeWords(f, x.Samples), f.Ms)
		}
	}
	if x.OffCPUMs >= codeOfItsCause*x.Ms && !waitsByItself[c.key] {
		add(page.T("not running on a CPU"), x.OffCPUMs)
	}
	return out
}

// waitsByItself are causes in which a thread is expected not to run.
var waitsByItself = map[string]bool{facts.CauseSync: true, facts.CauseCopyCall: true, facts.CauseOS: true}

// codeOfCause is what is known of a cause, or nil: of a small one, or where the row shows only a part of its time.
func codeOfCause(b report.Budget, c cause) *report.CodeOfCause {
	const apart = 0.1 // of a cause's time, in calls that have a row of their own
	for i := range b.IdleByCode {
		if x := &b.IdleByCode[i]; x.Cause == c.key {
			if c.ms < causeWithCode*b.StepMs() || c.key == facts.CauseLaunch && c.ms < (1-apart)*x.Ms {
				return nil
			}
			return x
		}
	}
	return nil
}

// codeWords is a function and what is known of it.
func codeWords(f report.CodeTime, samples int64) page.Text {
	s := page.Join(page.T("in "), page.Named(f.Name))
	if f.Called != "" {
		s = page.Sayf("%s, most of it calling %s", s, page.Named(f.Called))
	}
	if f.Samples > 0 {
		s = page.Sayf("%s, %s of %s samples", s, unit.FormatCount(f.Samples), unit.FormatCount(samples))
	}
	return s
}

// gapCodeWords adds the function that took most of a gap to what the host did in it.
func gapCodeWords(x *report.CodeOfCause) page.Text {
	const most = 0.5
	if x == nil || len(x.Code) == 0 || x.Code[0].Share < most {
		return nil
	}
	return page.Sayf(", %s of it %s", page.Num(unit.Percent(x.Code[0].Share)+" %"), codeWords(x.Code[0], x.Samples))
}
