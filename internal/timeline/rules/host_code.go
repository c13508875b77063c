package rules

import (
	"fmt"

	"lacuna/internal/base/interval"
	"lacuna/internal/timeline/facts"
)

// minCodeShare is from which share of the host's time on a function is named.
const minCodeShare = 0.1

// becauseOfCode says in which functions the host was in pauses, where the capture holds Python functions, stacks or
// CPU samples.
func (c *Case) becauseOfCode(f *Finding, pauses []facts.HostPause) {
	x := c.codeIn(pauses)
	var rows []string
	for _, code := range x.Code {
		share := float64(code.Ns) / float64(max(1, x.Ns))
		if share < minCodeShare || len(rows) == 3 {
			break
		}
		row := fmt.Sprintf("%.0f %% in %s", 100*share, code.Text())
		if code.Called != "" {
			row += ", most of it calling " + code.Called
		}
		if code.Samples > 0 {
			row += fmt.Sprintf(", %d of %d samples", code.Samples, x.Samples)
		}
		rows = append(rows, row)
	}
	if len(rows) > 0 {
		f.Because("what the host runs there", rows...)
	}
}

// codeIn is the functions that the host ran in pauses of one thread, the first pause's.
func (c *Case) codeIn(pauses []facts.HostPause) facts.IdleCode {
	if len(pauses) == 0 {
		return facts.IdleCode{}
	}
	var spans []interval.Span
	for _, p := range pauses {
		if p.Thread == pauses[0].Thread {
			spans = append(spans, p.Span)
		}
	}
	return c.Facts.CodeIn(pauses[0].Thread, spans)
}
