package facts

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"lacuna/internal/base/interval"
	"lacuna/internal/timeline/model"
)

// A first step is start-up while it is slower than the later ones and does what only a start does.
const (
	// startupSpread is how many robust standard deviations (1.4826 MAD, Rousseeuw and Croux 1993)
	// above the later median a step must be; 3 is the usual bound for an outlier.
	startupSpread = 3
	// startupFloor is the least share by which it must be slower, for loops that hardly vary.
	startupFloor = 0.05
	madToSigma   = 1.4826
)

// startupWork is the calls that a program makes once, by what they do. A call that every step
// makes does not count: only what a step has more of than the later ones.
var startupWork = []struct {
	what  string
	calls *regexp.Regexp
}{
	{"loads modules", regexp.MustCompile(`^(cu|hip)(Module|Library)(Load|GetFunction|GetKernel)|^cuKernelGetFunction|^cuInit|^cuDevicePrimaryCtxRetain|^cuCtxCreate`)},
	{"compiles", regexp.MustCompile(`^(cuLink|nvrtc|hiprtc)`)},
	{"captures a graph", regexp.MustCompile(`^(cuda|cu|hip)(StreamBeginCapture|StreamEndCapture|GraphInstantiate|GraphCreate)`)},
	{"allocates", regexp.MustCompile(`^(cuda|cu|hip)(Malloc|MemAlloc|HostAlloc|MemHostAlloc|MemCreate|MemMap|MallocHost|MallocAsync|MemPoolCreate)`)},
}

// startupRanges is operators and ranges that say that something is compiled or tuned.
var startupRanges = regexp.MustCompile(`(?i)torchdynamo|_compile_|inductor.*compile|compile_fx|autotun|benchmark_all_configs|triton.*(compile|tune)|cudnn.*find`)

// dropStartup sets s.First behind the start-up steps.
func (f *Facts) dropStartup(s *Steps) {
	if s.Engine != nil {
		return // chooseRun has, of steps of one kind
	}
	n := len(s.All)
	evidence := f.startupEvidence(s)
	k := 0
	for ; k < n-1; k++ {
		if !slower(s.All[k], s.All[k+1:]) {
			break
		}
		why, own := evidence(k)
		if why == "" && longest(s.All[k], s.All[k+1:]) {
			why, own = "takes much longer than any later one", true
		}
		if why == "" {
			break
		}
		s.Startup = append(s.Startup, StartupStep{k, why, own})
	}
	for reach := s.reach(); k < reach; k++ {
		why := "comes before a step that takes longer than all later ones together"
		if k == reach-1 {
			why = "takes longer than all later ones together"
		}
		s.Startup = append(s.Startup, StartupStep{k, why, true})
	}
	if k > n/2 {
		s.Startup = nil
		s.Note = join(s.Note, fmt.Sprintf("%d of %d steps look like start-up: all are kept", k, n))
		return
	}
	s.First = k
}

func join(a, b string) string {
	switch {
	case a == "":
		return b
	case b == "":
		return a
	}
	return a + "; " + b
}

// slower says whether step is longer than the later ones beyond their spread.
func slower(step interval.Span, later []interval.Span) bool {
	durs := make([]int64, len(later))
	for i, s := range later {
		durs[i] = s.LenNs()
	}
	median := medianOf(durs)
	for i, d := range durs {
		durs[i] = max(d-median, median-d)
	}
	spread := startupSpread * madToSigma * float64(medianOf(durs))
	return float64(step.LenNs()-median) > max(spread, startupFloor*float64(median))
}

// A first turn needs no recorded reason where it is the longest of many by far. Page faults, imports and caches that
// are filled leave none. One of six is the longest by chance; by half as much again it is not.
const (
	minLater  = 5
	farLonger = 1.5
)

// longest says whether a step is far longer than each of enough later ones.
func longest(step interval.Span, later []interval.Span) bool {
	if len(later) < minLater {
		return false
	}
	var most int64
	for _, s := range later {
		most = max(most, s.LenNs())
	}
	return float64(step.LenNs()) >= farLonger*float64(most)
}

// medianOf reorders its argument. Of an even number it is the lower middle.
func medianOf(v []int64) int64 {
	if len(v) == 0 {
		return 0
	}
	slices.Sort(v)
	return v[(len(v)-1)/2]
}

// startupEvidence returns a function that says what of a start step k does more often than the
// later steps do, or "", and whether any of it is the program's own doing.
func (f *Facts) startupEvidence(s *Steps) func(k int) (why string, own bool) {
	var counts map[string][]int // per kind of work and step; made when first asked for
	var waits func(int) bool
	return func(k int) (string, bool) {
		if counts == nil {
			counts, waits = f.startupCounts(s), f.waitsToStart(s)
		}
		var found []string
		own := false
		if waits(k) {
			found = append(found, "waits for another rank to start")
		}
		for _, kind := range append(startupKinds(), "compiles or tunes", firstUse, migrates) {
			c := counts[kind]
			if len(c) <= k || c[k] == 0 {
				continue
			}
			later := make([]int64, 0, len(c))
			for _, x := range c[k+1:] {
				later = append(later, int64(x))
			}
			if int64(c[k]) > 2*medianOf(later) {
				found, own = append(found, kind), true
			}
		}
		return strings.Join(found, ", "), own
	}
}

func startupKinds() []string {
	var out []string
	for _, w := range startupWork {
		out = append(out, w.what)
	}
	return out
}

// startupCounts counts start-up work by kind in the host's time of each step: from its marker's start to the next
// one's.
func (f *Facts) startupCounts(s *Steps) map[string][]int {
	t := f.Trace
	edges := startsOf(s.Markers)
	if len(edges) == 0 {
		edges = startsOf(s.All)
	}
	stepAt := func(ns int64) int {
		i, exact := slices.BinarySearch(edges, ns)
		if !exact {
			i--
		}
		return i
	}
	counts := make(map[string][]int)
	count := func(kind string, ns int64) {
		if counts[kind] == nil {
			counts[kind] = make([]int, len(edges))
		}
		if i := stepAt(ns); i >= 0 {
			counts[kind][i]++
		}
	}
	callKind := judge(&t.Strings, func(name string) string {
		for _, w := range startupWork {
			if w.calls.MatchString(name) {
				return w.what
			}
		}
		return ""
	})
	for i, id := range t.Calls.Name {
		if kind := callKind(id); kind != "" {
			count(kind, t.Calls.StartNs[i])
		}
	}
	rangeKind := judge(&t.Strings, func(name string) string {
		if startupRanges.MatchString(name) {
			return "compiles or tunes"
		}
		return ""
	})
	for i, id := range t.Ranges.Name {
		if kind := rangeKind(id); kind != "" {
			count(kind, t.Ranges.StartNs[i])
		}
	}
	for i, id := range t.Ops.Name {
		if kind := rangeKind(id); kind != "" {
			count(kind, t.Ops.StartNs[i])
		}
	}
	for _, ns := range f.firstUses() {
		count(firstUse, ns)
	}
	counts[migrates] = f.migrationsIn(s.All)
	return counts
}

// judge remembers the answer for each text: a trace repeats few names often.
func judge[T any](texts *model.Strings, ask func(string) T) func(model.StringID) T {
	known := make([]T, texts.Len())
	asked := make([]bool, texts.Len())
	return func(id model.StringID) T {
		if int(id) >= len(known) {
			var zero T
			return zero
		}
		if !asked[id] {
			known[id], asked[id] = ask(texts.Text(id)), true
		}
		return known[id]
	}
}
