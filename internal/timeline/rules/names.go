package rules

import "lacuna/internal/timeline/model"

// saying answers what holds of a name, and asks once for each: captures have millions of events and few names.
func (c *Case) saying(holds func(name string) bool) func(model.StringID) bool {
	known := make(map[model.StringID]bool)
	return func(id model.StringID) bool {
		yes, asked := known[id]
		if !asked {
			yes = holds(c.Trace.Strings.Text(id))
			known[id] = yes
		}
		return yes
	}
}
