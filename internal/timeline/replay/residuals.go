package replay

// Residuals is by how much the record differs from the rules at each node of the unmodified program.
// With them the unmodified run is exact, which proves nothing, and changed runs stay close to the
// record: a residual is used only where the same thing decides as in the unmodified run.
type Residuals struct {
	works []int64
	bound []Bound
	calls []int64
}

func (r *Residuals) work(i int32, b Bound) int64 {
	if r == nil || r.bound[i] != b {
		return 0
	}
	return r.works[i]
}

func (r *Residuals) call(i int32) int64 {
	if r == nil {
		return 0
	}
	return r.calls[i]
}

// Residuals compares the record with the rules: each node's rule is applied to what was recorded
// before it, so that one difference does not spread to the nodes behind it.
func (p *Program) Residuals() *Residuals {
	res := &Residuals{works: make([]int64, len(p.Works)), bound: make([]Bound, len(p.Works)),
		calls: make([]int64, len(p.Calls))}
	p.simulate(Options{}, res)
	return res
}
