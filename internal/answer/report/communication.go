package report

import (
	"cmp"
	"slices"

	"lacuna/internal/timeline/facts"
)

// Communication is what a step communicates in one process group: the mean of the slowest input's devices.
type Communication struct {
	Group string `json:"group"` // what it is for, as the program says, else the capture's number; "": not recorded
	Name  string `json:"name"`  // the capture's number of it
	Ranks string `json:"ranks,omitempty"`
	Size  int32  `json:"size,omitempty"` // ranks in it; 0: not recorded

	Ms           float64 `json:"ms"`            // its kernels run, each instant once
	ExposedMs    float64 `json:"exposed_ms"`    // with no compute; those of all groups sum to comm_exposed
	OverlappedMs float64 `json:"overlapped_ms"` // with compute
	// WaitMs is how long its kernels waited for other ranks, of KernelMs that they ran in sum; nil: one rank is given.
	WaitMs     *float64        `json:"wait_ms,omitempty"`
	KernelMs   float64         `json:"kernel_ms"`
	Operations []CommOperation `json:"operations"` // most time first
}

// CommOperation is one operation of a group.
type CommOperation struct {
	Name         string  `json:"name"`
	CallsPerStep float64 `json:"calls_per_step"`
	Ms           float64 `json:"ms"` // sum of its kernels
	// MB that a rank puts in, per call; 0: not recorded.
	MBPerCall float64 `json:"mb_per_call,omitempty"`
	// GB/s that pass a rank's link one way while its kernels run, waiting left out where it is known; 0: not known.
	BusGBs float64 `json:"bus_gb_per_s,omitempty"`
}

// communication is the groups of an input, most exposed first. waitNs is how long each row of Work waited for other
// ranks; nil: not known.
func (o *one) communication(waitNs map[int32]int64) []Communication {
	var out []Communication
	devices := float64(max(1, len(o.budgets)))
	ms := func(ns int64) float64 { return o.ms(ns) / devices }
	for i := range o.budgets {
		for _, g := range o.f.CommGroups(o.budgets[i].Device, o.window) {
			same := func(c Communication) bool { return c.Name == g.Name && c.Group == groupName(g) }
			at := slices.IndexFunc(out, same)
			if at < 0 {
				at = len(out)
				out = append(out, Communication{Group: groupName(g), Name: g.Name, Ranks: g.Ranks, Size: g.Size})
			}
			c := &out[at]
			c.Ms += ms(g.CommNs)
			c.ExposedMs += ms(g.ExposedNs)
			c.OverlappedMs += ms(g.HiddenNs)
			wait, sizedWait := o.waitOf(&g, waitNs)
			for _, op := range g.Ops {
				c.KernelMs += ms(op.Ns)
				op.BytesNs -= sizedWait[op.Name]
				c.addOperation(op, g.Size, ms(op.Ns), float64(op.Count)*o.perStep/devices)
			}
			if waitNs != nil {
				sum := ms(wait)
				if c.WaitMs != nil {
					sum += *c.WaitMs
				}
				c.WaitMs = &sum
			}
		}
	}
	slices.SortStableFunc(out, func(a, b Communication) int {
		return cmp.Or(cmp.Compare(b.ExposedMs, a.ExposedMs), cmp.Compare(b.Ms, a.Ms))
	})
	return out
}

// waitOf is how long the kernels of a group waited for other ranks, and those of each of its operations whose size is
// recorded.
func (o *one) waitOf(g *facts.CommGroup, waitNs map[int32]int64) (all int64, sized map[string]int64) {
	sized = make(map[string]int64)
	for _, row := range g.Rows {
		if ns := waitNs[row]; ns > 0 {
			all += ns
			if o.f.CommBytes(row) > 0 {
				sized[o.f.CommOpOf(row)] += ns
			}
		}
	}
	return all, sized
}

// groupName is what a group is called.
func groupName(g facts.CommGroup) string { return cmp.Or(g.Desc, g.Name) }

// addOperation adds what one device does of an operation. Sizes and rates are those of the device that is met first.
func (c *Communication) addOperation(op facts.CommOp, ranks int32, ms, calls float64) {
	i := slices.IndexFunc(c.Operations, func(x CommOperation) bool { return x.Name == op.Name })
	if i < 0 {
		i = len(c.Operations)
		x := CommOperation{Name: op.Name}
		if op.BytesNs > 0 {
			x.MBPerCall = float64(op.Bytes) / 1e6 / float64(op.Sized)
			x.BusGBs = rateGBs(int64(float64(op.Bytes)*facts.BusFactor(op.Name, ranks)), op.BytesNs)
		}
		c.Operations = append(c.Operations, x)
	}
	c.Operations[i].Ms += ms
	c.Operations[i].CallsPerStep += calls
}
