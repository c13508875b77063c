package rules

import "strings"

// inCapture says "in the capture" where a text says "per step".
var inCapture = strings.NewReplacer(" per step", " in the capture", " of the step", " of the capture", "in every step",
	"again")

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
