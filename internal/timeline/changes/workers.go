package changes

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"lacuna/internal/base/interval"
	"lacuna/internal/timeline/model"
	"lacuna/internal/timeline/replay"
)

// What is in the name of the range that PyTorch puts around asking a DataLoader for a batch, with workers and without.
const (
	workersLoader = "MultiProcessingDataLoaderIter"
	ownLoader     = "SingleProcessDataLoaderIter"
)

// sleeping is calls of the operating system in which a thread waits for another.
var sleeping = regexp.MustCompile(`^(poll|ppoll|select|pselect|epoll_wait|epoll_pwait|recv|recvfrom|recvmsg|read|futex|sem_|mq_|pthread_cond)`)

// waitsForWorkers says why ranges whose name re matches hold no work but waiting for a batch that others make; "" if
// they do not. The rule worker_bound judges by the same signs.
func waitsForWorkers(e *replay.Edit, re *regexp.Regexp) string {
	sets := rangeSets(e, re)
	t := e.Facts.Trace
	switch {
	case holdsName(t, sets, workersLoader):
		return "the loop waits for a DataLoader with workers there"
	case holdsName(t, sets, ownLoader):
		return "" // it has none, by definition
	case sleepsIn(t, sets):
		return "the host sleeps there in operating system calls"
	}
	if shortest, longest := extent(sets, e.Steps.HostWindow()); longest > 0 {
		return fmt.Sprintf("it takes %.2g to %.3g ms, as taking from a queue does that is empty now and then",
			float64(shortest)/1e6, float64(longest)/1e6)
	}
	return ""
}

// holdsName says whether a range or operator whose name has a part begins in spans of its thread.
func holdsName(t *model.Trace, sets map[int32]interval.Set, part string) bool {
	names := make(map[model.StringID]bool)
	has := func(id model.StringID) bool {
		yes, seen := names[id]
		if !seen {
			yes = strings.Contains(t.Strings.Text(id), part)
			names[id] = yes
		}
		return yes
	}
	for i, id := range t.Ranges.Name {
		if has(id) && within(sets[int32(t.Ranges.Thread[i])], t.Ranges.StartNs[i]) {
			return true
		}
	}
	for i, id := range t.Ops.Name {
		if has(id) && within(sets[int32(t.Ops.Thread[i])], t.Ops.StartNs[i]) {
			return true
		}
	}
	return false
}

// sleepsIn says whether threads spend most of spans in calls that wait for others.
func sleepsIn(t *model.Trace, sets map[int32]interval.Set) bool {
	asleep := make(map[int32][]interval.Span)
	for i, id := range t.OSCalls.Name {
		th := int32(t.OSCalls.Thread[i])
		if start := t.OSCalls.StartNs[i]; within(sets[th], start) && sleeping.MatchString(t.Strings.Text(id)) {
			asleep[th] = append(asleep[th], interval.Span{StartNs: start, EndNs: start + t.OSCalls.DurNs[i]})
		}
	}
	all, waits := int64(0), int64(0)
	for th, set := range sets {
		all += set.TotalNs()
		for _, s := range interval.Union(asleep[th]) {
			waits += set.Clip(s).TotalNs()
		}
	}
	return waits > all/2
}

// Ranges take from a queue if, of so many, two take so many times as long as two others, or one takes so many times as
// long as the median and that is next to nothing. Loaders that work on the thread vary by 5 to 20 %; a queue that has a
// batch gives it in some 0.05 ms. One short run proves nothing, nor does one in eight: the call that ends an epoch
// finds no batch to make.
const (
	minRuns    = 4
	minWaited  = 2
	minAtOnce  = 2
	endsEpoch  = 8
	unlikeRuns = 10
	atOnceNs   = 500_000
)

// extent is the shortest and the longest of spans within the steps looked at, in ns; 0 if they are about alike or few.
func extent(sets map[int32]interval.Set, window interval.Span) (shortest, longest int64) {
	var runs []int64
	for _, set := range sets {
		for _, s := range set {
			if window.Contains(s.StartNs) {
				runs = append(runs, s.LenNs())
			}
		}
	}
	slices.Sort(runs)
	n := len(runs)
	if n < minRuns {
		return 0, 0
	}
	median, atOnce := runs[n/2], runs[max(minAtOnce, n/endsEpoch+1)-1]
	if runs[n-minWaited] >= unlikeRuns*max(1, atOnce) || median < atOnceNs && runs[n-1] >= unlikeRuns*max(1, median) {
		return runs[0], runs[n-1]
	}
	return 0, 0
}
