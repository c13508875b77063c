package rules

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"lacuna/internal/base/interval"
	"lacuna/internal/timeline/facts"
	"lacuna/internal/timeline/model"
)

// loadingFiles are files whose functions make batches, whatever they are called; loadingFunctions likewise.
var (
	loadingFiles     = []string{"dataset", "datasets", "dataloader", "loader", "loaders", "data"}
	loadingFunctions = []string{"__getitem__", "__getitems__", "__next__"}
)

// pythonPlace is a Python function as captures name it: dir/file.py(12): f by torch.profiler, f (/dir/file.py) in
// samples.
var pythonPlace = regexp.MustCompile(`^(?:.*/)?([^/(]+)\.py\((\d+)\): (.+)$|^(.+) \((?:.*/)?([^/(]+)\.py(?::\d+)?\)$`)

// runsModel begins the words of functions that run a model, whatever they run it on: train_batch, run_on_data.
var runsModel = []string{"train", "fit", "forward", "backward", "step", "infer", "predict", "generate", "run", "main"}

// makesBatches says whether a Python function makes batches, by its name or that of its file: the program's own
// iterator, a data set, a reader.
func makesBatches(name string) bool {
	m := pythonPlace.FindStringSubmatch(name)
	if m == nil {
		return false
	}
	file, function := m[1]+m[5], m[3]+m[4]
	for _, w := range words(function) {
		if startsWithAny(w, runsModel) {
			return false
		}
	}
	if strings.HasPrefix(function, "<") || strings.HasPrefix(function, "dataclass") {
		return false
	}
	return slices.Contains(loadingFunctions, function) || slices.Contains(loadingFiles, strings.ToLower(file)) ||
		saysLoading(function)
}

// codeName is a Python function for a sentence: f (file.py:12), as evidence has it.
func codeName(name string) string {
	switch m := pythonPlace.FindStringSubmatch(name); {
	case m == nil:
		return name
	case m[3] != "":
		return m[3] + " (" + m[1] + ".py:" + m[2] + ")"
	default:
		return m[4] + " (" + m[5] + ".py)"
	}
}

// codeSigns is the functions in a capture that make batches, by thread and in order of start.
type codeSigns struct {
	calls   map[model.ThreadRow][]signedCall
	samples map[model.ThreadRow][]signedSample

	launches map[model.ThreadRow][]int64 // when threads launch kernels
}

type signedCall struct {
	interval.Span
	name model.StringID
}

// A signedSample is a CPU sample with the outermost function on its stack that makes batches; 0: there is none.
type signedSample struct {
	ns    int64
	loads model.StringID
}

func (c *Case) codeSigns() *codeSigns {
	if c.memo.signs != nil {
		return c.memo.signs
	}
	t := c.Trace
	s := &codeSigns{make(map[model.ThreadRow][]signedCall), make(map[model.ThreadRow][]signedSample),
		c.launchTimes()}
	c.memo.signs = s
	known := make(map[model.StringID]bool)
	judge := func(id model.StringID) bool {
		yes, ok := known[id]
		if !ok {
			yes = makesBatches(t.Strings.Text(id))
			known[id] = yes
		}
		return yes
	}
	for i, id := range t.PyCalls.Name {
		if judge(id) && t.PyCalls.DurNs[i] > 0 {
			from, th := t.PyCalls.StartNs[i], t.PyCalls.Thread[i]
			s.calls[th] = append(s.calls[th], signedCall{interval.Span{StartNs: from, EndNs: from + t.PyCalls.DurNs[i]},
				id})
		}
	}
	loads := make(map[model.FrameRow]model.StringID)
	for i, th := range t.Samples.Thread {
		x := signedSample{ns: t.Samples.TimeNs[i]}
		if i < len(t.Samples.Stack) {
			x.loads = outermost(&t.Frames, t.Samples.Stack[i], loads, judge)
		}
		s.samples[th] = append(s.samples[th], x)
	}
	for _, list := range s.calls {
		slices.SortStableFunc(list, func(a, b signedCall) int { return cmp.Compare(a.StartNs, b.StartNs) })
	}
	for _, list := range s.samples {
		slices.SortStableFunc(list, func(a, b signedSample) int { return cmp.Compare(a.ns, b.ns) })
	}
	return s
}

// launchTimes is when each thread launches kernels, in order.
func (c *Case) launchTimes() map[model.ThreadRow][]int64 {
	w, out := c.work(), make(map[model.ThreadRow][]int64)
	for i, call := range w.Call {
		if call != facts.NoCall && w.Kind[i].IsCompute() {
			th := c.Trace.Calls.Thread[call]
			out[th] = append(out[th], c.Trace.Calls.StartNs[call])
		}
	}
	for _, list := range out {
		slices.Sort(list)
	}
	return out
}

// outermost is the outermost function of a stack that makes batches; 0: there is none.
func outermost(frames *model.Frames, at model.FrameRow, known map[model.FrameRow]model.StringID,
	judge func(model.StringID) bool) model.StringID {
	var open []model.FrameRow
	found := model.StringID(0)
	for int(at) < frames.Len() && len(open) <= frames.Len() {
		if id, ok := known[at]; ok {
			found = id
			break
		}
		open = append(open, at)
		at = frames.Parent[at]
	}
	for _, row := range slices.Backward(open) { // callers first
		if id := frames.Symbol[row]; found == 0 && judge(id) {
			found = id
		}
		known[row] = found
	}
	return found
}

// loadingCode is a function that makes batches, if such functions take most of a site's pauses; "": they do not. A
// function that also runs the model is no loader, whatever its name: one that launches kernels, or, where only samples
// show it, of which samples lie elsewhere too.
func (c *Case) loadingCode(s *site) string {
	signs := c.codeSigns()
	var total, found int64
	by := make(map[model.StringID]int64)
	for _, p := range s.longest {
		total += p.LenNs()
		if len(signs.calls[p.Thread]) > 0 {
			found += signs.callsIn(p, by)
		} else {
			found += signs.samplesIn(p, by)
		}
	}
	if 2*found <= total {
		return ""
	}
	best := model.StringID(0)
	for id, ns := range by {
		if ns > by[best] || ns == by[best] && c.Trace.Strings.Text(id) < c.Trace.Strings.Text(best) {
			best = id
		}
	}
	if len(signs.calls[s.longest[0].Thread]) == 0 && !signs.onlyIn(s.longest, best) {
		return ""
	}
	return codeName(c.Trace.Strings.Text(best))
}

// mostlyIn is the share of a loader's samples that lie in the pauses for it, between the steps' own work: the rest is
// where the GPU hides it.
const mostlyIn = 0.9

// onlyIn says whether nearly all samples of a function lie in pauses, of those between the first and the last pause.
func (s *codeSigns) onlyIn(pauses []facts.HostPause, function model.StringID) bool {
	if len(pauses) == 0 {
		return false
	}
	thread, in, all := pauses[0].Thread, 0, 0
	span := pauses[0].Span
	count := func(x interval.Span) (n int) {
		for _, y := range s.samplesOf(thread, x) {
			if y.loads == function {
				n++
			}
		}
		return n
	}
	for _, p := range pauses {
		span = interval.Span{StartNs: min(span.StartNs, p.StartNs), EndNs: max(span.EndNs, p.EndNs)}
		if p.Thread == thread {
			in += count(p.Span)
		}
	}
	all = count(span)
	return float64(in) >= mostlyIn*float64(all)
}

// callsIn is for how long Python functions that make batches run in a pause, by the outermost.
func (s *codeSigns) callsIn(p facts.HostPause, by map[model.StringID]int64) (ns int64) {
	calls := s.calls[p.Thread]
	i, _ := slices.BinarySearchFunc(calls, p.StartNs, func(x signedCall, ns int64) int {
		return cmp.Compare(x.StartNs, ns)
	})
	end := p.StartNs
	for ; i < len(calls) && calls[i].StartNs < p.EndNs; i++ {
		x := calls[i]
		in := x.Clip(p.Span).LenNs()
		if x.StartNs < end || s.launchesIn(p.Thread, x.Span) {
			continue
		}
		end = x.EndNs
		by[x.name] += in
		ns += in
	}
	return ns
}

// launchesIn says whether a thread launches kernels within a span.
func (s *codeSigns) launchesIn(th model.ThreadRow, span interval.Span) bool {
	list := s.launches[th]
	i, _ := slices.BinarySearch(list, span.StartNs)
	return i < len(list) && list[i] < span.EndNs
}

// samplesIn is the part of a pause that samples give to functions that make batches.
func (s *codeSigns) samplesIn(p facts.HostPause, by map[model.StringID]int64) int64 {
	list := s.samplesOf(p.Thread, p.Span)
	if len(list) == 0 {
		return 0
	}
	each, n := p.LenNs()/int64(len(list)), int64(0)
	for _, x := range list {
		if x.loads != 0 {
			by[x.loads] += each
			n++
		}
	}
	return n * each
}

// samplesOf is a thread's samples within a span.
func (s *codeSigns) samplesOf(th model.ThreadRow, span interval.Span) []signedSample {
	at := func(x signedSample, ns int64) int { return cmp.Compare(x.ns, ns) }
	list := s.samples[th]
	from, _ := slices.BinarySearchFunc(list, span.StartNs, at)
	to, _ := slices.BinarySearchFunc(list, span.EndNs, at)
	return list[from:max(from, to)]
}

// takesFrom says what shows that the host waits at a site for what another thread or process hands over, beside calls
// of the operating system; "": nothing.
func (c *Case) takesFrom(s *site) string {
	if s.asked || s.idle.share() < minIdleShare {
		return s.takesFrom
	}
	s.asked = true
	spans := make([]interval.Span, 0, len(s.longest))
	for _, p := range s.longest {
		if p.Thread == s.longest[0].Thread {
			spans = append(spans, p.Span)
		}
	}
	thread := s.longest[0].Thread
	if function := codeName(c.Facts.TakesFrom(thread, spans)); function != "" {
		s.takesFrom = function + " runs for most of it, which waits for another thread or process"
		s.waitsFor = "in " + function
	}
	if other, _, ok := c.Facts.WorksInstead(thread, spans); ok {
		name := "another thread"
		if text := c.Trace.Threads[other].Name; text != "" {
			name = "the thread " + text
		}
		s.takesFrom = "CPU samples show that the host hardly runs in it, and that " + name + " of the program works meanwhile"
		s.waitsFor, s.maker = "for "+name, true
	}
	return s.takesFrom
}

// ownIterator is the fix of batches that the program's own iterator makes.
const ownIterator = `
Make batches in processes of their own, ahead of the step. An iterator of the program's own can be the data set of a
loader; each worker then makes its own part of the batches:

    class Batches(torch.utils.data.IterableDataset):
        def __iter__(self):
            me = torch.utils.data.get_worker_info()
            yield from make_batches(part=me.id, parts=me.num_workers)

    loader = DataLoader(Batches(), batch_size=None, num_workers=12, pin_memory=True)`

// beforeCopies is the what-if change's word for host work without a range in front of copies to the device.
const beforeCopies = "before-copies"

// waitsIn is in or for what the host waits.
func (s *site) waitsIn() string {
	switch {
	case s.waitsFor != "":
		return s.waitsFor
	case s.rangeName != "":
		return "in " + s.rangeName
	}
	return s.name
}
