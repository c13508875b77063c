package rules

import (
	"fmt"

	"lacuna/internal/base/interval"
	"lacuna/internal/timeline/facts"
	"lacuna/internal/timeline/model"
)

// minCodeShare is from which share of the host's time on a function is named.
const minCodeShare = 0.1

// becauseOfCode says in which functions the host was in pauses, where the capture holds Python functions, stacks or
// CPU samples.
func (c *Case) becauseOfCode(f *Finding, pauses []facts.HostPause) {
	spans := make(map[model.ThreadRow][]interval.Span)
	var first model.ThreadRow
	for i, p := range pauses {
		if i == 0 {
			first = p.Thread
		}
		spans[p.Thread] = append(spans[p.Thread], p.Span)
	}
	if len(pauses) == 0 {
		return
	}
	x := c.Facts.CodeIn(first, spans[first])
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
