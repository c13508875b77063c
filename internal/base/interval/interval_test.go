package interval

import (
	"fmt"
	"math/rand"
	"testing"
)

// size is the length of the line on which the tests try every instant.
const size = 40

// instants is which instants of the line the spans cover.
func instants(spans []Span) (on [size]bool) {
	for _, s := range spans {
		for t := max(s.StartNs, 0); t < min(s.EndNs, size); t++ {
			on[t] = true
		}
	}
	return on
}

// checkSet says what a Set must not be.
func checkSet(a Set) error {
	for i, s := range a {
		if s.EndNs <= s.StartNs {
			return fmt.Errorf("span %v is empty", s)
		}
		if i > 0 && s.StartNs <= a[i-1].EndNs {
			return fmt.Errorf("spans %v and %v touch", a[i-1], s)
		}
	}
	return nil
}

// Every operation is what it says at every instant, on random spans.
func TestSets(t *testing.T) {
	random := rand.New(rand.NewSource(1))
	spans := func() []Span {
		out := make([]Span, random.Intn(8))
		for i := range out {
			start := random.Int63n(size)
			out[i] = Span{start, start + random.Int63n(12) - 2} // empty and backward ones too
		}
		return out
	}
	for range 5000 {
		x, y := spans(), spans()
		inX, inY := instants(x), instants(y)
		start := random.Int63n(size)
		w := Span{start, min(start+random.Int63n(20), size)}
		inW := instants([]Span{w})
		text := fmt.Sprint(x, y, w)
		a, b := Union(x), Union(y)
		for name, op := range map[string]struct {
			got  Set
			want func(i int) bool
		}{
			"union":     {a, func(i int) bool { return inX[i] }},
			"subtract":  {Subtract(a, b), func(i int) bool { return inX[i] && !inY[i] }},
			"intersect": {Intersect(a, b), func(i int) bool { return inX[i] && inY[i] }},
			"clip":      {a.Clip(w), func(i int) bool { return inX[i] && inW[i] }},
			"gaps":      {a.Gaps(w), func(i int) bool { return inW[i] && !inX[i] }},
		} {
			if err := checkSet(op.got); err != nil {
				t.Fatalf("%s of %s: %v", name, text, err)
			}
			have, total := instants(op.got), int64(0)
			for i := range size {
				if have[i] != op.want(i) {
					t.Fatalf("%s of %s is %v: wrong at %d", name, text, op.got, i)
				}
			}
			for _, s := range op.got {
				total += s.LenNs()
			}
			if got := op.got.TotalNs(); got != total {
				t.Fatalf("total of %v is %d, want %d", op.got, got, total)
			}
		}
	}
}

func TestSpan(t *testing.T) {
	s := Span{10, 20}
	for _, test := range []struct{ w, want Span }{
		{Span{0, 100}, Span{10, 20}}, {Span{12, 15}, Span{12, 15}}, {Span{15, 30}, Span{15, 20}},
		{Span{20, 30}, Span{20, 20}}, {Span{0, 5}, Span{10, 10}},
	} {
		if got := s.Clip(test.w); got != test.want || got.LenNs() < 0 {
			t.Errorf("%v in %v is %v, want %v", s, test.w, got, test.want)
		}
	}
	if !s.Contains(10) || s.Contains(20) || s.Contains(9) {
		t.Error("a span is not half-open")
	}
	if got := (Span{5, 3}).LenNs(); got != 0 {
		t.Errorf("a backward span is %d long", got)
	}
}

func BenchmarkUnion(b *testing.B) {
	random := rand.New(rand.NewSource(1))
	spans := make([]Span, 100_000)
	scratch := make([]Span, len(spans))
	for i := range spans {
		start := random.Int63n(1e9)
		spans[i] = Span{start, start + random.Int63n(20_000)}
	}
	for b.Loop() {
		copy(scratch, spans)
		Union(scratch)
	}
}
