package kernel

import (
	"cmp"
	"slices"

	"lacuna/internal/base/stat"
	"lacuna/internal/kernel/profile"
)

// A Summary is the launches of one kernel: same name, grid, block and device, and durations without a gap (see apart).
type Summary struct {
	Launches []*Kernel // in the report's order
	// the one of median duration, to stand for all; the first, if none was timed
	Middle                          *Kernel
	Timed                           int // launches with a duration; the rest of the fields is of these
	MedianUs, MinUs, MaxUs, TotalUs float64
	// Spread is the distance of the quartiles over the median: how much launches differ. 0 with fewer than two.
	Spread float64
}

// Summarise puts launches of one kernel together, in the order of their first ones.
func Summarise(all []*Kernel) []*Summary {
	type key struct {
		name        string
		device      int
		grid, block [3]uint32
	}
	of := func(l *profile.Launch) key { return key{l.Name, l.Device, l.Grid, l.Block} }
	byKey := make(map[key]*Summary)
	var out []*Summary
	for _, k := range all {
		s := byKey[of(k.Launch)]
		if s == nil {
			s = &Summary{}
			byKey[of(k.Launch)], out = s, append(out, s)
		}
		s.Launches = append(s.Launches, k)
	}
	var parts []*Summary
	for _, s := range out {
		parts = append(parts, s.apart()...)
	}
	for _, s := range parts {
		s.measure()
	}
	return parts
}

// Launches of the same size do not do the same work where one takes more than otherWork times as long as the next
// shorter one and LaunchUs more: loops went over other data, or a recursion is at another depth. The clock explains
// less: the profiler holds it, and boost over base is 1.1 to 1.9 on the chips seen. So do caches, which it flushes.
const otherWork = 2

// apart is the launches that do like work, in the order of their first ones: what is true of one is not true of one
// that takes many times as long.
func (s *Summary) apart() []*Summary {
	all := s.byTime()
	part := make(map[*Kernel]int) // those without a time are with the shortest
	n := 0
	for i, x := range all {
		if i > 0 && x.us > otherWork*all[i-1].us && x.us-all[i-1].us > LaunchUs {
			n++
		}
		part[x.k] = n
	}
	if n == 0 {
		return []*Summary{s}
	}
	parts := make([]*Summary, n+1)
	var out []*Summary
	for _, k := range s.Launches {
		at := part[k]
		if parts[at] == nil {
			parts[at] = &Summary{}
			out = append(out, parts[at])
		}
		parts[at].Launches = append(parts[at].Launches, k)
	}
	return out
}

type timedLaunch struct {
	k  *Kernel
	us float64
}

// byTime is the launches that have a duration, the shortest first.
func (s *Summary) byTime() []timedLaunch {
	var all []timedLaunch
	for _, k := range s.Launches {
		if us, ok := k.Microseconds(); ok {
			all = append(all, timedLaunch{k, us})
		}
	}
	slices.SortStableFunc(all, func(a, b timedLaunch) int { return cmp.Compare(a.us, b.us) })
	return all
}

func (s *Summary) measure() {
	all := s.byTime()
	s.Middle, s.Timed = s.Launches[0], len(all)
	if len(all) == 0 {
		return
	}
	us := make([]float64, len(all))
	for i, x := range all {
		us[i] = x.us
		s.TotalUs += x.us
	}
	middle := all[(len(all)-1)/2]
	s.Middle, s.MedianUs = middle.k, middle.us // of an even number the shorter one: a time that one of them took
	s.MinUs, s.MaxUs = us[0], us[len(us)-1]
	if len(us) > 1 && s.MedianUs > 0 {
		s.Spread = (stat.Quantile(us, 0.75) - stat.Quantile(us, 0.25)) / s.MedianUs
	}
}
