package changes

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"lacuna/internal/base/stat"
	"lacuna/internal/timeline/facts"
	"lacuna/internal/timeline/replay"
)

// A sizing gives steps of a serving engine another size: their kernels take as much longer or shorter as the steps of
// a capture that have different sizes say.
type sizing struct {
	kinds string                                    // "decode", as --kind takes it
	size  func(b *facts.Batch) int64                // what N is compared with; NotSaid or 0: the mark does not say
	by    func(b *facts.Batch) float64              // what GPU time is fitted by
	as    func(b *facts.Batch, n int64) facts.Batch // the step with N
	what  string                                    // "requests"
}

const (
	// minSizes is how many different sizes a line needs: with fewer, a step or two decide where it lies.
	minSizes = 8
	// minExplained is the share of the variance that the line must explain.
	minExplained = 0.9
	// flatSpread is the spread around the line, as a share of the mean, from which on it must explain anything: steps
	// that differ by less, whatever their size, are a flat line that has nothing to explain. Replays as they are may be
	// off by as much without a word.
	flatSpread = 0.03
	// leastScale bounds from below what a line may make of a step's kernels: its lower bound may be under 0.
	leastScale = 0.01
)

// wholeNumber understands the argument of a change that takes a number of N.
func wholeNumber(change, arg string) (int64, error) {
	n, err := strconv.ParseInt(arg, 10, 64)
	if err != nil || n <= 0 {
		return 0, fmt.Errorf("%s:%s: needs a whole number over 0, such as %s:32", change, arg, change)
	}
	return n, nil
}

// apply gives the steps looked at, and others of their kind, the size n.
func (z *sizing) apply(e *replay.Edit, n int64) (int, error) {
	kind, err := z.kindOf(e)
	if err != nil {
		return 0, err
	}
	fit, err := z.fit(e, kind, n)
	if err != nil {
		return 0, err
	}
	if err := z.seen(e, fit, n); err != nil {
		return 0, err
	}
	each, serving := e.Steps.Engine.Each, e.Facts.Serving(e.Steps)
	factors := make([]struct{ mid, low, high float64 }, len(each))
	for i := range each {
		b, ns := &each[i].Batch, float64(serving[i].KernelNs)
		if b.Kind != kind || z.size(b) <= 0 || ns <= 0 {
			continue
		}
		then := z.as(b, n)
		to := fit.point(&then)
		mid, reach := ns+fit.At(to)-fit.At(fit.point(b)), fit.Within(to)
		f := func(ns2 float64) float64 { return max(leastScale, ns2/ns) }
		factors[i].mid, factors[i].low, factors[i].high = f(mid), f(mid-reach), f(mid+reach)
	}
	steps := make(map[int32]bool)
	for i := range e.Works {
		w := &e.Works[i]
		if w.Call < 0 || w.Dropped || !w.Kind.IsCompute() && w.Kind != facts.WorkComm {
			continue
		}
		step := e.Calls[w.Call].Step
		if step < 0 || int(step) >= len(factors) || factors[step].mid == 0 {
			continue
		}
		e.ScaleDur(int32(i), factors[step].mid, factors[step].low, factors[step].high)
		if e.InWindow(w.Call) {
			steps[step] = true
		}
	}
	z.serve(e, n)
	e.Assume("%s", fit.words)
	return matched(len(steps))
}

// kindOf is the kind of the steps looked at, if they are of one, and marked so that their size is known.
func (z *sizing) kindOf(e *replay.Edit) (facts.StepKind, error) {
	en := e.Steps.Engine
	if en == nil || en.Weak || !e.Steps.Device || e.Steps.First >= e.Steps.Last {
		return "", &NotAllowedError{Why: "no marks of a serving engine say what its steps work on"}
	}
	kind := en.Each[e.Steps.First].Kind
	for i := e.Steps.First; i < e.Steps.Last; i++ {
		b := &en.Each[i].Batch
		if b.Kind != kind {
			return "", &NotAllowedError{Why: fmt.Sprintf("the steps looked at are of several kinds, %s and %s; "+
				"--kind takes one", kind, b.Kind)}
		}
		if z.size(b) <= 0 {
			why := fmt.Sprintf("the steps looked at are %s steps; --kind %s takes others", kind, z.kinds)
			if z.as(b, 1).Kind == kind {
				why = fmt.Sprintf("the marks do not say how many %s a %s step has", z.what, kind)
			}
			return "", &NotAllowedError{Why: why}
		}
	}
	return kind, nil
}

// A sizeFit is the line, or plane, through the GPU time of steps.
type sizeFit struct {
	*stat.Plane
	point    func(b *facts.Batch) []float64
	contexts [2]float64 // least and most tokens to attend to, where it is by these; else 0
	words    string
}

// fit fits the GPU time of the capture's steps of a kind by their size and, where marks say it of all and the points
// tell both apart, by how many tokens running requests attend to.
func (z *sizing) fit(e *replay.Edit, kind facts.StepKind, n int64) (*sizeFit, error) {
	each, serving := e.Steps.Engine.Each, e.Facts.Serving(e.Steps)
	starts := make(map[int]bool)
	for _, s := range e.Steps.Startup {
		starts[s.Index] = true
	}
	var used []*facts.Batch
	var y, context []float64
	sizes := make(map[int64]bool)
	least, most, contexts := int64(math.MaxInt64), int64(0), true
	for i := range each {
		b := &each[i].Batch
		if b.Kind != kind || starts[i] || z.size(b) <= 0 || serving[i].KernelNs <= 0 {
			continue
		}
		used, y = append(used, b), append(y, float64(serving[i].KernelNs))
		sizes[z.size(b)] = true
		least, most = min(least, z.size(b)), max(most, z.size(b))
		contexts, context = contexts && b.Context > 0, append(context, float64(b.Context))
	}
	switch {
	case n < least || n > most:
		has := fmt.Sprintf("%d to %d %s", least, most, z.what)
		if least == most {
			has = fmt.Sprintf("%d %s in each", least, z.what)
		}
		return nil, &NotAllowedError{Why: fmt.Sprintf("the capture has no %s step of that size; it has %s", kind, has)}
	case len(sizes) < minSizes:
		return nil, &NotAllowedError{Why: fmt.Sprintf("%d distinct sizes of %s steps are needed, there are %d", minSizes,
			kind, len(sizes))}
	}
	f := &sizeFit{point: func(b *facts.Batch) []float64 { return []float64{z.by(b)} }}
	words := "a line through their GPU time by size"
	if contexts {
		both := func(b *facts.Batch) []float64 { return []float64{z.by(b), float64(b.Context)} }
		if f.Plane = stat.FitPlane(points(used, both), y); f.Plane != nil {
			f.contexts = [2]float64{slices.Min(context), slices.Max(context)}
			f.point, words = both, "a plane through their GPU time by size and by tokens to attend to"
		}
	}
	if f.Plane == nil {
		f.Plane = stat.FitPlane(points(used, f.point), y)
	}
	if f.Plane == nil || f.R2 < minExplained && f.Sigma > flatSpread*f.Mean {
		explained := 0.0
		if f.Plane != nil {
			explained = f.R2
		}
		return nil, &NotAllowedError{Why: fmt.Sprintf("%s explains %.0f %% of the variance of %d %s steps; %.0f %% are "+
			"needed", words, 100*explained, len(y), kind, 100*minExplained)}
	}
	how := fmt.Sprintf("%s explains %.1f %% of the variance and misses a step by %.1f %%", words, 100*f.R2,
		100*f.Sigma/f.Mean)
	if f.R2 < minExplained {
		how = fmt.Sprintf("they take about as long whatever their size, %.1f %% more or less", 100*f.Sigma/f.Mean)
	}
	f.words = fmt.Sprintf("kernels take what %d %s steps of %d to %d %s say: %s", len(y), kind, least, most, z.what, how)
	return f, nil
}

// seen says whether steps of the new size attend, in the mean, to as many tokens as some of the capture's do.
func (z *sizing) seen(e *replay.Edit, f *sizeFit, n int64) error {
	if f.contexts[1] == 0 {
		return nil
	}
	mean := 0.0
	for i := e.Steps.First; i < e.Steps.Last; i++ {
		b := z.as(&e.Steps.Engine.Each[i].Batch, n)
		mean += float64(b.Context) / float64(e.Steps.Last-e.Steps.First)
	}
	if mean < f.contexts[0] || mean > f.contexts[1] {
		return &NotAllowedError{Why: fmt.Sprintf("steps of that size would attend to %.0f tokens, and those of the capture "+
			"attend to %.0f to %.0f", mean, f.contexts[0], f.contexts[1])}
	}
	return nil
}

func points(all []*facts.Batch, at func(b *facts.Batch) []float64) [][]float64 {
	out := make([][]float64, len(all))
	for i, b := range all {
		out[i] = at(b)
	}
	return out
}

// serve notes what the steps looked at work on then.
func (z *sizing) serve(e *replay.Edit, n int64) {
	s := &replay.Serves{}
	for i := e.Steps.First; i < e.Steps.Last; i++ {
		b := z.as(&e.Steps.Engine.Each[i].Batch, n)
		s.Add(&b)
	}
	e.Serves = s
}
