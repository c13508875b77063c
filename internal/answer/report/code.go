package report

import (
	"cmp"
	"slices"

	"lacuna/internal/timeline/facts"
)

// CodeOfCause is the functions that the host ran during the idle time of one cause of IdleByHost. Of the idle time
// that neither Code nor OffCPUMs hold it is not known.
type CodeOfCause struct {
	Cause string  `json:"cause"`
	Ms    float64 `json:"ms"` // idle time of this cause
	// Samples is how many CPU samples lie in it, of which times are estimated; 0: times are exact.
	Samples  int64      `json:"samples,omitempty"`
	OffCPUMs float64    `json:"off_cpu_ms,omitempty"` // where times are not exact: the thread was on no CPU
	Code     []CodeTime `json:"code"`                 // most first
}

// CodeTime is a function of the host and the idle time in which it ran.
type CodeTime struct {
	Name     string  `json:"name"` // for people: tokenize (data/tok.py:88)
	Function string  `json:"function"`
	File     string  `json:"file,omitempty"` // of Python code
	Line     int     `json:"line,omitempty"` // where the function begins, or where it was
	Module   string  `json:"module,omitempty"`
	Ms       float64 `json:"ms"`
	Share    float64 `json:"share"`             // of the idle time of the cause, 0 to 1
	Samples  int64   `json:"samples,omitempty"` // 0: Ms is exact
	Called   string  `json:"called,omitempty"`  // a function that it called itself and that took most of Ms
}

// maxCode is how many functions are listed of each cause, and minCodeShare from which share of its idle time on.
const (
	maxCode      = 5
	minCodeShare = 0.01
)

// codeSum adds up what is known of the idle time of one cause, on one device or several.
type codeSum struct {
	CodeOfCause
	by map[facts.Code]*CodeTime
}

// add adds idle time of which a nanosecond counts for msPerNs milliseconds.
func (s *codeSum) add(x *facts.IdleCode, msPerNs float64) {
	s.Ms += float64(x.Ns) * msPerNs
	s.OffCPUMs += float64(x.OffNs) * msPerNs
	s.Samples += x.Samples
	for _, c := range x.Code {
		row := s.by[c.Code]
		if row == nil {
			row = &CodeTime{Name: c.Text(), Function: c.Function, File: c.File, Line: c.Line, Module: c.Module,
				Called: c.Called}
			s.by[c.Code] = row
		}
		if c.Called != row.Called {
			row.Called = "" // devices differ
		}
		row.Ms += float64(c.Ns) * msPerNs
		row.Samples += c.Samples
	}
}

// top is the functions that take most.
func (s *codeSum) top() CodeOfCause {
	var list []CodeTime
	for _, c := range s.by {
		if c.Share = c.Ms / s.Ms; c.Share >= minCodeShare {
			list = append(list, *c)
		}
	}
	slices.SortFunc(list, func(a, b CodeTime) int {
		return cmp.Or(cmp.Compare(b.Ms, a.Ms), cmp.Compare(a.Name, b.Name), cmp.Compare(a.File, b.File))
	})
	s.Code = append([]CodeTime{}, list[:min(len(list), maxCode)]...)
	return s.CodeOfCause
}

// idleByCode is the functions behind the idle time, in ms of a step of one device, by cause, most first.
func idleByCode(all []*one) []CodeOfCause {
	devices := 0
	for _, o := range all {
		devices += len(o.budgets)
	}
	by := make(map[string]*codeSum)
	for _, o := range all {
		for _, gaps := range o.gaps {
			for _, x := range o.f.IdleCode(gaps) {
				key := o.f.CauseText(x.Cause)
				if by[key] == nil {
					by[key] = &codeSum{CodeOfCause{Cause: key}, make(map[facts.Code]*CodeTime)}
				}
				by[key].add(&x, o.perStep/1e6/float64(devices))
			}
		}
	}
	var out []CodeOfCause
	for _, s := range by {
		if c := s.top(); len(c.Code) > 0 || c.OffCPUMs >= minCodeShare*c.Ms {
			out = append(out, c)
		}
	}
	slices.SortFunc(out, func(a, b CodeOfCause) int {
		return cmp.Or(cmp.Compare(b.Ms, a.Ms), cmp.Compare(a.Cause, b.Cause))
	})
	return out
}

// gapCode is the functions behind a gap, as far as its largest cause goes; nil: none is known.
func (o *one) gapCode(g facts.IdleGap, cause facts.Cause) *CodeOfCause {
	for _, x := range o.f.IdleCode([]facts.IdleGap{g}) {
		if x.Cause == cause {
			s := codeSum{CodeOfCause{Cause: o.f.CauseText(cause)}, make(map[facts.Code]*CodeTime)}
			s.add(&x, 1e-6)
			if c := s.top(); len(c.Code) > 0 {
				return &c
			}
		}
	}
	return nil
}
