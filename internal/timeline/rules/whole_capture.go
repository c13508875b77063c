package rules

import (
	"strings"

	"lacuna/internal/timeline/facts"
)

// inCapture says "in the capture" where a text says "per step".
var inCapture = strings.NewReplacer(" per step", " in the capture", " of the step", " of the capture", " in the steps",
	" in the capture", "in every step", "again and again", "step 0: ", "")

// ofCapture rewords findings about a capture in which no steps were found: it is taken as one step, and called what
// it is.
func (o *Findings) ofCapture() {
	for i := range o.All {
		f := &o.All[i]
		f.Title = inCapture.Replace(f.Title)
		for k := range f.Evidence {
			e := &f.Evidence[k]
			e.Text = inCapture.Replace(e.Text)
			for j := range e.Rows {
				e.Rows[j] = inCapture.Replace(e.Rows[j])
			}
		}
	}
}

// wholeCapture says whether the case is of a capture in which no steps were found, taken as one.
func (c *Case) wholeCapture() bool { return c.Steps.Source == facts.StepsNone }

// minAgain is how often something must happen in a capture without steps to be a habit of a loop that nothing marks,
// and not what a program does once at its start or its end. Fixes that go round a loop need a loop.
const minAgain = 10

// again says whether something that happens n times a step is what a loop does. Where steps were found they say so
// (tally.usual); in a capture without steps it must happen often.
func (c *Case) again(n float64) bool { return !c.wholeCapture() || n >= minAgain }
