package rules

import (
	"fmt"

	"lacuna/internal/timeline/facts"
)

// commRows is the communication within the steps looked at. A program on one GPU has none: rules about it stay
// silent there rather than abstain.
func (c *Case) commRows() []int32 {
	var out []int32
	for _, l := range c.lanes() {
		for _, r := range l {
			if c.work().Kind[r] == facts.WorkComm {
				out = append(out, r)
			}
		}
	}
	return out
}

// commBytes is how much a rank puts into the collective of a kernel; 0: not recorded.
func (c *Case) commBytes(row int32) int64 { return c.Facts.CommBytes(row) }

// transferNs is how long the kernel of a collective ran once all ranks had come: where all ranks are given, else all
// of it.
func (c *Case) transferNs(row int32) int64 {
	if x := c.together(); x != nil {
		return c.durNs(row) - x.own[row]
	}
	return c.durNs(row)
}

// noWaits says why waiting for other ranks is not known.
func (c *Case) noWaits() string {
	if why := c.apart(); why != "" {
		return "the ranks cannot be laid side by side (" + why + ")"
	}
	return "only one rank is given (give the captures of all ranks)"
}

// exposedNs is the communication that no computation hides, of all devices over the window.
func (c *Case) exposedNs() int64 {
	var ns int64
	for _, b := range c.Budgets {
		ns += b.CommExposedNs
	}
	return ns
}

// commShare says how much of the communication is exposed, for people.
func (c *Case) commShare() string {
	var all int64
	for _, b := range c.Budgets {
		all += b.CommNs
	}
	return fmt.Sprintf("%s of the %s of communication per step is exposed", ms(c.perStep(c.exposedNs())),
		ms(c.perStep(all)))
}
