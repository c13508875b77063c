package kernel

import (
	"cmp"
	"slices"

	"lacuna/internal/base/stat"
	"lacuna/internal/kernel/profile"
)

// A Summary is the launches of one kernel: same name, grid, block and device.
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
	for _, s := range out {
		s.measure()
	}
	return out
}

func (s *Summary) measure() {
	type timed struct {
		k  *Kernel
		us float64
	}
	var all []timed
	for _, k := range s.Launches {
		if us, ok := k.Microseconds(); ok {
			all = append(all, timed{k, us})
			s.TotalUs += us
		}
	}
	s.Middle, s.Timed = s.Launches[0], len(all)
	if len(all) == 0 {
		return
	}
	slices.SortStableFunc(all, func(a, b timed) int { return cmp.Compare(a.us, b.us) })
	us := make([]float64, len(all))
	for i, x := range all {
		us[i] = x.us
	}
	s.Middle = all[(len(all)-1)/2].k
	s.MinUs, s.MaxUs = us[0], us[len(us)-1]
	s.MedianUs = stat.Quantile(us, 0.5)
	if len(us) > 1 && s.MedianUs > 0 {
		s.Spread = (stat.Quantile(us, 0.75) - stat.Quantile(us, 0.25)) / s.MedianUs
	}
}
