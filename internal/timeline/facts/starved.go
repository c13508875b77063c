package facts

// Starved is the gaps that began with nothing queued: the call that issued the work which ended the gap
// had not returned when the gap began, so the device waited for the host. In the other gaps the next work
// was queued already: they are the device's own, the pause between two kernels or a wait for another stream.
// Gaps whose next work has no recorded call are in neither, nor are those in which work may have run that was not
// recorded, nor is the time by which work starts late (LateStart).
func (f *Facts) Starved(gaps []IdleGap) []IdleGap {
	t, w := f.Trace, f.Work()
	var out []IdleGap
	for _, g := range gaps {
		if g.After < 0 || w.Call[g.After] == NoCall {
			continue
		}
		call := w.Call[g.After]
		if g.Before >= 0 && w.Call[g.Before] == call {
			continue // between two nodes of one graph launch
		}
		if f.knownIdle(g) != g.Span {
			continue // what was launched before it and not recorded may have run
		}
		if t.Calls.EndNs(int(call)) > g.StartNs {
			if late := f.LateStart(g); late.LenNs() > 0 {
				g.EndNs = late.StartNs
			}
			out = append(out, g)
		}
	}
	return out
}

// WorkOfCalls is the first row of Work that each call issued, or -1.
func (f *Facts) WorkOfCalls() []int32 {
	return f.kept.workOfCalls.of(f, func(f *Facts) []int32 {
		out := make([]int32, f.Trace.Calls.Len())
		for i := range out {
			out[i] = -1
		}
		for i, call := range f.Work().Call {
			if call != NoCall && out[call] < 0 {
				out[call] = int32(i)
			}
		}
		return out
	})
}
