package rules

import (
	"fmt"

	"lacuna/internal/timeline/facts"
	"lacuna/internal/timeline/model"
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
func (c *Case) commBytes(row int32) int64 {
	t := c.Trace
	k := c.work().Row[row]
	id := model.NoCollective
	if int(k) < len(t.Kernels.Collective) {
		id = t.Kernels.Collective[k]
	}
	if int(id) < len(t.Collectives.InBytes) && t.Collectives.InBytes[id] > 0 {
		return t.Collectives.InBytes[id]
	}
	if int(id) >= t.Collectives.Len() || int(id) >= len(t.Collectives.InElems) || int(id) >= len(t.Collectives.Dtype) {
		return 0
	}
	return max(0, t.Collectives.InElems[id]) * dtypeBytes(t.Strings.Text(t.Collectives.Dtype[id]))
}

// dtypeBytes is the size of an element by the name that PyTorch gives its type; 0: not known.
func dtypeBytes(name string) int64 {
	switch name {
	case "Double", "Long", "ComplexFloat":
		return 8
	case "Float", "Int":
		return 4
	case "Half", "BFloat16", "Short":
		return 2
	case "Byte", "Char", "Bool", "Float8_e4m3fn", "Float8_e5m2":
		return 1
	}
	return 0
}

// transferNs is how long the kernel of a collective ran once all ranks had come: where all ranks are given, else all
// of it.
func (c *Case) transferNs(row int32) int64 {
	if x := c.together(); x != nil {
		return c.durNs(row) - x.own[row]
	}
	return c.durNs(row)
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
