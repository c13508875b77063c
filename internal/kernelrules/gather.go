package kernelrules

// gather is the share of executed loads whose address comes from loaded data; unknown without the code.
func (c *Case) gather() float64 { return unknown }
