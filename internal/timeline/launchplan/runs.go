package launchplan

import (
	"cmp"
	"fmt"
	"slices"

	"lacuna/internal/base/interval"
	"lacuna/internal/kernel/kernelname"
	"lacuna/internal/timeline/facts"
	"lacuna/internal/timeline/model"
)

// order brings the kernels of the process into the order of their launches, which is the one that ncu counts in: that
// of the calls where they are recorded, else that of the GPU.
func (c *chooser) order(base string) {
	k, calls := &c.t.Kernels, c.f.Launches().Kernels
	type launch struct {
		row    int
		callNs int64
	}
	var all []launch
	for i := range k.Len() {
		if processOf(k, i) != c.process {
			continue
		}
		x := launch{i, k.StartNs[i]}
		if call := calls[i]; call != facts.NoCall {
			x.callNs = c.t.Calls.StartNs[call]
		}
		all = append(all, x)
	}
	slices.SortStableFunc(all, func(a, b launch) int {
		return cmp.Or(cmp.Compare(a.callNs, b.callNs),
			cmp.Compare(a.row, b.row))
	})
	names := make(map[model.StringID]string)
	for _, x := range all {
		c.launched = append(c.launched, x.row)
		c.filter = append(c.filter, c.filterOf(x.row, base, names))
	}
}

// filterOf is what ncu's filter compares of a launch.
func (c *chooser) filterOf(row int, base string, known map[model.StringID]string) string {
	k := &c.t.Kernels
	if base == "mangled" {
		return c.t.Strings.Text(k.Mangled[row])
	}
	id := k.Name[row]
	name, ok := known[id]
	if !ok {
		name = kernelname.Of(c.t.Strings.Text(id)).Base
		known[id] = name
	}
	return name
}

// marker is the NVTX range of the first steady step whose name is not used twice in the process, so that ncu can be
// told to look only there, and when it was open. "": there is none; ncu then counts from the first launch.
func (c *chooser) marker() (string, interval.Span) {
	window := c.steps.Window()
	c.thread = model.NoThread
	if c.steps.Source != facts.StepsNVTX || !c.steps.Device {
		return "", window
	}
	r := &c.t.Ranges
	named := make(map[model.StringID]int)
	for i := range r.Name {
		named[r.Name[i]]++
	}
	for n := c.steps.First; n < min(c.steps.Last, len(c.steps.Markers)); n++ {
		m := c.steps.Markers[n]
		i, _ := slices.BinarySearch(r.StartNs, m.StartNs)
		for ; i < len(r.StartNs) && r.StartNs[i] == m.StartNs; i++ {
			if r.EndNs(i) == m.EndNs && r.Kind[i] == model.RangePushPop &&
				(i >= len(r.Domain) || r.Domain[i] == model.NoDomain) && named[r.Name[i]] == 1 {
				if i < len(r.Thread) {
					c.thread = r.Thread[i]
				}
				return c.t.Strings.Text(r.Name[i]), m
			}
		}
	}
	return "", window
}

// launch chooses the launch of a pick: the first of its size inside where, which is the time of its call where ncu
// looks into a range, else that of the steady steps; failing that the first of its size in the steps.
func (c *chooser) launch(p *Pick, where interval.Span) {
	k, window := &c.t.Kernels, c.steps.Window()
	for _, inside := range []func(int) bool{
		func(row int) bool { return c.inside(row, where) },
		func(row int) bool { return window.Contains(k.StartNs[row]) },
		func(int) bool { return true },
	} {
		for i, row := range c.launched {
			if c.t.Strings.Text(k.Name[row]) == p.Name && sizeOf(k, row) == [2][3]int32{p.Grid, p.Block} &&
				inside(row) {
				p.row, p.at = row, i
				return
			}
		}
	}
}

// inside says whether a kernel was launched within a span.
func (c *chooser) inside(row int, s interval.Span) bool {
	if call := c.f.Launches().Kernels[row]; call != facts.NoCall {
		return s.Contains(c.t.Calls.StartNs[call])
	}
	return s.Contains(c.t.Kernels.StartNs[row])
}

// runs divides the picks into runs of ncu.
func (c *chooser) runs(p *Plan, marker string, where interval.Span) {
	var left []int
	for i := range p.Picks {
		left = append(left, i)
	}
	slices.SortStableFunc(left, func(a, b int) int { return cmp.Compare(p.Picks[a].at, p.Picks[b].at) })
	var run PlannedRun
	flush := func() {
		if len(run.Picks) > 0 {
			p.Runs = append(p.Runs, run)
		}
	}
	for _, i := range left {
		together := c.run(p, append(slices.Clone(run.Picks), i), marker, where)
		if len(run.Picks) > 0 && (together.Count > maxReplayed || together.Range != run.Range) {
			flush()
			together = c.run(p, []int{i}, marker, where)
		}
		run = together
	}
	flush()
}

// run is the run of ncu that profiles picks together: from the first of their launches to the last.
func (c *chooser) run(p *Plan, picks []int, marker string, where interval.Span) PlannedRun {
	out := PlannedRun{Picks: picks, Range: marker}
	var names []string
	first, last := p.Picks[picks[0]].at, 0
	for _, i := range picks {
		if x := p.Picks[i].Match; !slices.Contains(names, x) {
			names = append(names, x)
		}
		first, last = min(first, p.Picks[i].at), max(last, p.Picks[i].at)
		if marker != "" && !c.inside(p.Picks[i].row, where) {
			out.Range = "" // launched in another step only
		}
	}
	out.Name = kernelname.Exactly(names)
	for i := 0; i <= last; i++ {
		switch {
		case !slices.Contains(names, c.filter[i]) || out.Range != "" && !c.inside(c.launched[i], where):
		case i < first:
			out.Skip++
		default:
			out.Count++
		}
		out.Threads = out.Threads || out.Range != "" && slices.Contains(names, c.filter[i]) &&
			c.elsewhere(c.launched[i])
	}
	return out
}

// elsewhere says whether a kernel was launched by another thread than the one that opened the marker: PyTorch's
// backward pass runs on one of its own.
func (c *chooser) elsewhere(row int) bool {
	call := c.f.Launches().Kernels[row]
	return call != facts.NoCall && c.thread != model.NoThread && int(call) < len(c.t.Calls.Thread) &&
		c.t.Calls.Thread[call] != c.thread
}

// assume says what the plan rests on.
func (c *chooser) assume(p *Plan, marker string) {
	counted := false
	for _, r := range p.Runs {
		counted = counted || r.Range == ""
	}
	if marker != "" {
		p.Assumes = append(p.Assumes, fmt.Sprintf(
			"the program opens the NVTX range %q once again, and launches inside it what it launched when the "+
				"timeline was recorded", marker))
	}
	if counted {
		p.Assumes = append(p.Assumes, "launches are counted from the first one of the timeline; if the program "+
			"launched such kernels before, an earlier launch is profiled: grid and block of what was profiled are "+
			"compared with the timeline's")
	}
	if c.others {
		p.Assumes = append(p.Assumes, "several processes launch kernels; the positions are those in the one that "+
			"computes most, and ncu applies them to each process")
	}
	if p.Base == "function" {
		p.Assumes = append(p.Assumes, "the timeline has no mangled names: kernels are found by their function's "+
			"name, which instances of one template share")
	}
}

// A Mismatch says that what was profiled is of another size than what was chosen.
type Mismatch struct {
	Name string
	Why  string
}

// A Profiled is a launch in a report of ncu.
type Profiled struct {
	Name        string
	Mangled     string
	Grid, Block [3]uint32
}

// Check compares what ncu profiled with what was chosen.
func (p *Plan) Check(done []Profiled) (out []Mismatch) {
	for _, k := range p.Picks {
		sizes, sized := "", k.Grid != [3]int32{}
		found, same := false, false
		for _, d := range done {
			if !p.is(k, d) {
				continue
			}
			found = true
			same = same || !sized || sizeIs(k.Grid, d.Grid) && sizeIs(k.Block, d.Block)
			sizes = fmt.Sprintf("grid %v, block %v", d.Grid, d.Block)
		}
		switch {
		case !found:
			out = append(out, Mismatch{k.Name, short(k.Name) +
				": is not in the reports: the launch profiled is of another kernel of that name"})
		case !same:
			out = append(out, Mismatch{k.Name, fmt.Sprintf(
				"%s: the launch chosen has grid %v and block %v, profiled was %s: the program launched such "+
					"kernels before the timeline began, or does other work this time", short(k.Name), k.Grid, k.Block,
				sizes)})
		}
	}
	return out
}

// is says whether a launch is of the kernel that was picked.
func (p *Plan) is(k Pick, d Profiled) bool {
	if p.Base == "mangled" && d.Mangled != "" {
		return d.Mangled == k.Match
	}
	a, b := kernelname.Of(k.Name), kernelname.Of(d.Name)
	return a.Whole == b.Whole || a.Base == b.Base && (a.Words == b.Words || a.Bare || b.Bare)
}

func sizeIs(a [3]int32, b [3]uint32) bool {
	return int64(a[0]) == int64(b[0]) && int64(a[1]) == int64(b[1]) && int64(a[2]) == int64(b[2])
}
