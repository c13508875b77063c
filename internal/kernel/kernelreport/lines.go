package kernelreport

import (
	"slices"

	"lacuna/internal/kernel"
)

// maxHotLines is how many lines of a kernel are in the answer.
const maxHotLines = 20

// linesOf is where in the source warps wait: samples of waiting warps by the instruction that makes them wait.
func (out *Kernel) linesOf(k *kernel.Kernel) {
	s := k.Stalls()
	if s == nil {
		return
	}
	var waits []string
	for _, r := range s.Reasons {
		if r.Group != kernel.NoWait {
			waits = append(waits, sampled(r.Reason))
		}
	}
	places := k.HotStalls(waits...)
	out.LinesOf = "the time that warps wait"
	if len(places) == 0 {
		places = k.Hot("inst_executed")
		out.LinesOf = "instructions executed"
		s = nil
	}
	if len(places) == 0 {
		out.LinesOf = ""
		return
	}
	for i := range places[:min(len(places), maxHotLines)] {
		out.Lines = append(out.Lines, lineOf(&places[i]))
	}
	if s != nil {
		out.reasonsOf(k, s)
	}
}

// sampled is a stall reason's name among samples, which differs for one.
func sampled(reason string) string {
	if reason == "no_instruction" {
		return "no_instructions"
	}
	return reason
}

// maxReasons is how many stall reasons are looked at to say why warps wait at a line: the others are small.
const maxReasons = 5

// reasonsOf says of each line for what warps mostly wait there.
func (out *Kernel) reasonsOf(k *kernel.Kernel, s *kernel.Stalls) {
	most := make([]float64, len(out.Lines))
	n := 0
	for _, r := range s.Reasons {
		if r.Group == kernel.NoWait || n == maxReasons {
			continue
		}
		n++
		for _, p := range k.HotStalls(sampled(r.Reason)) {
			i := slices.IndexFunc(out.Lines, func(l Line) bool {
				return l.File == p.File && l.Line == p.Line &&
					(l.Line > 0 || l.Function == p.Function && l.Offset == p.Offset)
			})
			if i >= 0 && p.Share*r.Share > most[i] {
				most[i], out.Lines[i].Why, out.Lines[i].Reason = p.Share*r.Share, r.Group, r.Reason
			}
		}
	}
}
