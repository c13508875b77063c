package kernel

// FixedWait is how many cycles a warp waits on average after an instruction before it may issue the next, by what the
// compiler wrote into the code: results of fixed latency have no scoreboard, so that the instruction itself says how
// long (0 to 15 cycles). From the stall reason Wait, else from the kernel's machine code, each instruction as often as
// it ran, or once where that was not counted.
func (k *Kernel) FixedWait() (cycles float64, ok bool) {
	if s := k.Stalls(); s != nil && !s.Sampled {
		for _, r := range s.Reasons {
			if r.Reason == "wait" {
				return r.PerIssue, true
			}
		}
	}
	c := k.Code()
	if c == nil {
		return 0, false
	}
	executed := c.Counts("inst_executed")
	var n, sum float64
	for i := range c.Instructions {
		if c.Instructions[i].Name == "" { // code that is not in the report says nothing
			continue
		}
		weight := 1.0
		if executed != nil {
			weight = executed[i]
		}
		n += weight
		sum += weight * max(0, float64(c.Instructions[i].Stall)-1) // in the first of them it issues
	}
	return over(sum, true, n, n > 0)
}
