package rules

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"lacuna/internal/timeline/facts"
	"lacuna/internal/timeline/model"
)

var inputPipeline = Rule{
	ID:    "input_pipeline",
	Title: "Input-bound: the GPU waits for batches",
	Since: "0.1",
	Needs: []Need{needWork, needCalls},
	Doc: `
The GPU is idle with nothing queued while the thread that feeds it makes the next batch: host work between two CUDA
calls, longer than the thread's ordinary pauses, in at least half of the steps.

Such work counts as data loading if it is in a DataLoader without workers, or if its range is named like loading
(data, load, batch, input, prefetch, augment, preprocess, tokenize, collate, fetch, read), or if a copy to the GPU
follows it and most of it is within a Python function of such a name, of a file such as dataset.py, or __getitem__
or __next__: the program's own iterator. A function that also runs the model is none. Work that makes data without
any of these signs belongs to host_data, other work to host_bound. Threshold: 2 % of the step, since steps vary by
less (XProf calls 5 % moderately input-bound). In a capture without steps such work must be seen three times at one
place.`,
	Limits: `
Without ranges, operators and functions (nsys without NVTX and samples) host work has no name, and this rule is silent.
Without OS calls (nsys --trace=osrt) a busy host looks like one that waits for workers. A loader whose workers are too
slow belongs to worker_bound.`,
	Fix: `
Make batches in background workers, ahead of the step:

    loader = DataLoader(dataset, batch_size=64, num_workers=12,
                        prefetch_factor=2, pin_memory=True,
                        persistent_workers=True)`,
	FixC: `Make the next batch on other threads into a ring of pinned buffers while the GPU works.`,
	Confirm: `The range causes less than 2 % of idle time per step. The first kernel of a step follows the last one
of the step before.`,
	RefutedBy: `The step does not get shorter when the same batch is used again in every step.`,
	Check:     checkInputPipeline,
}

const (
	// minIdleShare is the share of the step from which idle time is worth a finding: steps of one loop vary by about
	// as much.
	minIdleShare = 0.02
	// minUnnamedShare is the share from which host work is told of that nothing marks as loading: XProf blames "all
	// other" host time as high from 15 % on, moderate from 3 %.
	minUnnamedShare = 0.10
	// minSeen is how often a capture without steps must show it: what happens once is no loop's habit.
	minSeen = 3
)

func checkInputPipeline(c *Case, out *Findings) {
	for _, s := range c.workSites() {
		confidence, why := c.loads(s)
		if confidence == 0 {
			continue
		}
		perStep := s.idle.perStep()
		f := out.Add(confidence, perStep, s.title(), ms(perStep), ms(c.StepNs))
		f.Because(fmt.Sprintf("for %.1f %% of the step the GPU is idle with nothing queued while the host is %s",
			100*s.idle.share(), s.where()), s.rows(c, 3)...)
		f.Because(why)
		c.becauseOfCode(f, s.longest)
		s.repair(f)
		if s.code != "" {
			f.Fix = ownIterator
		}
	}
}

// workSites is the sites at which the host works, in most steps and long enough for a finding.
func (c *Case) workSites() []*site {
	var out []*site
	for _, s := range c.sites() {
		if s.idle.share() < minIdleShare || !s.idle.usualFrom(minIdleShare/2*c.StepNs) || s.waitsForWorkers() ||
			c.wholeCapture() && s.n < minSeen {
			continue
		}
		if sure, _ := c.waitsForBatches(s); sure > 0 || s.takesFrom != "" {
			continue // worker_bound's, or no work at all
		}
		out = append(out, s)
	}
	return out
}

// repair names the change that makes the site's work ahead. Where a copy follows, it does so without a range too.
func (s *site) repair(f *Finding) {
	if s.rangeName != "" {
		f.Repair("prefetch:" + regexp.QuoteMeta(s.rangeName))
	}
	if 2*s.feeds > s.n {
		f.Repair("prefetch:" + beforeCopies)
	}
}

// A site is a place in the loop where the host works between two calls while the device waits.
type site struct {
	name      string         // of the range, loader or operator, or of what is issued next
	rangeName string         // the range that it lies in: of the user, or a loader's
	rangeID   model.StringID // of the user's range, or 0
	loader    bool           // in a DataLoader
	workers   bool           // in one with workers
	idle      *tally         // ns
	n         int
	feeds     int // how often a copy of data to the device follows
	reads     int // how often a wait for a value precedes
	sleeps    int // how often the host sleeps in it
	longest   []facts.HostPause

	code      string // the function that makes the batches, where functions say so
	takesFrom string // "": the host does not wait in it; else the function or thread that says that it does
	waitsFor  string // "in " that function, "for " that thread
	maker     bool   // that thread is one of the program, and works while the host waits
	asked     bool   // takesFrom is known
}

// sites is the places where long host work delays the device, most idle time first.
func (c *Case) sites() []*site {
	s := c.starved()
	reads := make(map[int32]bool)
	for _, w := range c.waits() {
		if w.purpose == waitRead {
			reads[w.last] = true
		}
	}
	byName := make(map[string]*site)
	var out []*site
	for _, p := range s.pauses {
		x := c.siteOf(p, byName)
		if x.n == 0 {
			x.idle = c.newTally()
			out = append(out, x)
		}
		x.n++
		idleNs := p.IdleNs
		switch _, ns, _ := c.loaderOf(p); {
		case x.loader && ns > 0:
			idleNs = ns
		case p.Range != 0:
			idleNs = p.InRangeNs
		}
		x.idle.add(p.StartNs+p.LenNs()/2, float64(idleNs)/s.devices)
		if c.feedsNext(p) {
			x.feeds++
		}
		if reads[p.Last] {
			x.reads++
		}
		if c.asleep(p) {
			x.sleeps++
		}
		x.longest = append(x.longest, p)
	}
	slices.SortFunc(out, func(a, b *site) int {
		return cmp.Or(cmp.Compare(b.idle.perStep(), a.idle.perStep()), cmp.Compare(a.name, b.name))
	})
	return out
}

// siteOf is the site that a pause belongs to: by its range, else by its loader, else by what the thread issues next.
func (c *Case) siteOf(p facts.HostPause, byName map[string]*site) *site {
	x := site{}
	loader, loaderNs, workers := c.loaderOf(p)
	switch {
	case p.Range != 0:
		x.rangeName, x.rangeID = c.Trace.Strings.Text(p.Range), p.Range
		x.name = x.rangeName
	case workers || 2*loaderNs > p.IdleNs:
		x.name, x.rangeName = loader, loader
	case p.Issues >= 0:
		x.name = "before " + shortName(c.Facts.WorkName(int(p.Issues)))
	default:
		x.name = "after the last launch"
	}
	key := x.name
	if workers {
		key += "\x00"
	}
	if byName[key] == nil {
		x.loader, x.workers = workers || 2*loaderNs > p.IdleNs, workers
		byName[key] = &x
	}
	return byName[key]
}

// waitsForWorkers says whether the host waits in it for others: the affair of worker_bound and host_barrier.
func (s *site) waitsForWorkers() bool { return s.workers || 2*s.sleeps > s.n }

// loads is how sure it is that the site loads data, and why; 0: nothing says so.
func (c *Case) loads(s *site) (confidence float64, why string) {
	most := func(n int) bool { return 2*n > s.n }
	switch {
	case s.loader:
		return 0.95, "a DataLoader without workers makes the batch on the thread that asks for it"
	case s.rangeName != "" && saysLoading(s.rangeName) && most(s.feeds):
		return 0.95, "its name says that it loads data, and a copy of data to the GPU follows it"
	case s.rangeName != "" && saysLoading(s.rangeName):
		return 0.9, "its name says that it loads data"
	case c.wholeCapture() || !most(s.feeds):
		return 0, ""
	}
	if function := c.loadingCode(s); function != "" {
		s.code = function
		return 0.85, "a copy of data to the GPU follows it, and " + function + " runs for most of it, whose name says that it loads data"
	}
	return 0, ""
}

// title is the finding's title as a format for the idle time and the step.
func (s *site) title() string {
	if s.rangeName != "" {
		return "The GPU waits %s of %s per step for " + strings.ReplaceAll(s.rangeName, "%", "%%") +
			", made on the thread that feeds it"
	}
	if s.code != "" {
		return "The GPU waits %s of %s per step for batches that " + strings.ReplaceAll(s.code, "%", "%%") +
			" makes on the thread that feeds it"
	}
	return "The GPU waits %s of %s per step for host work " + strings.ReplaceAll(s.name, "%", "%%")
}

// where says where the host is.
func (s *site) where() string {
	if s.rangeName != "" {
		return "in " + s.rangeName
	}
	return "at work " + s.name
}

// rows names the n longest pauses.
func (s *site) rows(c *Case, n int) []string {
	return c.pauseRows(s.longest, n)
}

// pauseRows names the n longest of pauses within the steps looked at.
func (c *Case) pauseRows(pauses []facts.HostPause, n int) []string {
	pauses = slices.Clone(pauses)
	slices.SortStableFunc(pauses, func(a, b facts.HostPause) int { return cmp.Compare(b.IdleNs, a.IdleNs) })
	var rows []string
	for _, p := range pauses {
		if step := c.stepAt(p.StartNs + p.LenNs()/2); step >= 0 && len(rows) < n {
			rows = append(rows, fmt.Sprintf("step %d: GPU %d idle %s in host work of %s from %s on", step+
				c.Steps.First, p.Device, ms(float64(p.IdleNs)), ms(float64(p.LenNs())), c.sinceStart(p.StartNs)))
		}
	}
	return rows
}

// sinceStart is an instant in ms since the first step looked at.
func (c *Case) sinceStart(ns int64) string {
	return fmt.Sprintf("%.3f ms", float64(ns-c.Steps.Window().StartNs)/1e6)
}
