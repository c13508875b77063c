// Package interval does arithmetic on half-open spans of time.
package interval

import (
	"cmp"
	"slices"
)

// A Span is [StartNs, EndNs).
type Span struct{ StartNs, EndNs int64 }

// LenNs is the length of s; never negative.
func (s Span) LenNs() int64 { return max(0, s.EndNs-s.StartNs) }

// Clip is the part of s inside w; it may be empty.
func (s Span) Clip(w Span) Span {
	c := Span{max(s.StartNs, w.StartNs), min(s.EndNs, w.EndNs)}
	if c.EndNs < c.StartNs {
		c.EndNs = c.StartNs
	}
	return c
}

// Contains says whether t lies in s.
func (s Span) Contains(t int64) bool { return s.StartNs <= t && t < s.EndNs }

// A Set is sorted spans that neither touch nor overlap nor are empty.
type Set []Span

// Union makes a Set of spans in any order. It reorders its argument.
func Union(spans []Span) Set {
	slices.SortFunc(spans, func(a, b Span) int { return cmp.Compare(a.StartNs, b.StartNs) })
	return UnionSorted(spans)
}

// UnionSorted is Union of spans that are already sorted by start; it reuses their memory.
func UnionSorted(spans []Span) Set {
	out := spans[:0]
	for _, s := range spans {
		if s.EndNs <= s.StartNs {
			continue
		}
		if n := len(out); n > 0 && s.StartNs <= out[n-1].EndNs {
			out[n-1].EndNs = max(out[n-1].EndNs, s.EndNs)
			continue
		}
		out = append(out, s)
	}
	return Set(out)
}

// TotalNs is the sum of the lengths.
func (a Set) TotalNs() int64 {
	var n int64
	for _, s := range a {
		n += s.EndNs - s.StartNs
	}
	return n
}

// Clip is the part of a inside w.
func (a Set) Clip(w Span) Set {
	lo, _ := slices.BinarySearchFunc(a, w.StartNs, func(s Span, t int64) int { return cmp.Compare(s.EndNs, t+1) })
	var out Set
	for _, s := range a[lo:] {
		if s.StartNs >= w.EndNs {
			break
		}
		if c := s.Clip(w); c.LenNs() > 0 {
			out = append(out, c)
		}
	}
	return out
}

// Subtract is the part of a outside b.
func Subtract(a, b Set) Set {
	var out Set
	j := 0
	for _, s := range a {
		start := s.StartNs
		for j < len(b) && b[j].EndNs <= start {
			j++
		}
		for k := j; k < len(b) && b[k].StartNs < s.EndNs; k++ {
			if b[k].StartNs > start {
				out = append(out, Span{start, b[k].StartNs})
			}
			start = max(start, b[k].EndNs)
		}
		if start < s.EndNs {
			out = append(out, Span{start, s.EndNs})
		}
	}
	return out
}

// Intersect is the part in both a and b.
func Intersect(a, b Set) Set {
	var out Set
	for i, j := 0, 0; i < len(a) && j < len(b); {
		lo, hi := max(a[i].StartNs, b[j].StartNs), min(a[i].EndNs, b[j].EndNs)
		if lo < hi {
			out = append(out, Span{lo, hi})
		}
		if a[i].EndNs < b[j].EndNs {
			i++
		} else {
			j++
		}
	}
	return out
}

// Gaps is the part of w outside a.
func (a Set) Gaps(w Span) Set { return Subtract(Set{w}, a) }
