package kernelreport

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"lacuna/internal/kernel"
	"lacuna/internal/kernel/profile"
	"lacuna/internal/timeline/model"
)

// Options says which launches to look at. The zero value is all of them, most time first.
type Options struct {
	Kernel *regexp.Regexp // only kernels in whose name it occurs; nil: all
	Launch int            // only the launch at this position of the report; -1: all
	Sort   string         // SortTime, SortGain, SortName
}

// The orders of kernels.
const (
	SortTime = "time" // of all launches, most first
	SortGain = "gain" // what the best fix saves of all launches, most first
	SortName = "name"
)

// A NoMatchError says that no launch is left.
type NoMatchError struct{ Why string }

func (e *NoMatchError) Error() string { return e.Why }

// Build makes the answer of one or several reports.
func Build(in []*profile.Report, opt Options) (*Report, error) {
	r := &Report{Schema: Schema}
	var groups []*group
	for i, p := range in {
		r.Inputs = append(r.Inputs, inputOf(p))
		addCapture(&r.Capture, p, len(in) > 1)
		picked := pick(p, opt)
		groups = append(groups, grouped(i, p, picked)...)
	}
	if len(groups) == 0 {
		return nil, noMatch(in, opt)
	}
	devices := newDevices(in)
	for _, g := range groups {
		r.Kernels = append(r.Kernels, g.kernel())
		devices.use(in[g.input], g.Middle.Launch.Device)
	}
	if len(devices.used) > 0 {
		r.Device = devices.used[0]
	}
	if len(devices.used) > 1 {
		r.Devices = devices.used
	}
	share(r.Kernels)
	r.Short = shortLaunches(groups)
	sortKernels(r.Kernels, opt.Sort)
	return r, nil
}

// Pick is a report with the launches that opt asks for; their IDs stay.
func Pick(p *profile.Report, opt Options) (*profile.Report, error) {
	some := *p
	some.Launches = pick(p, opt)
	if len(some.Launches) == 0 && len(p.Launches) > 0 {
		return nil, noMatch([]*profile.Report{p}, opt)
	}
	return &some, nil
}

func pick(p *profile.Report, opt Options) []*profile.Launch {
	var out []*profile.Launch
	for _, l := range p.Launches {
		if opt.Launch >= 0 && l.ID != opt.Launch {
			continue
		}
		if opt.Kernel != nil && !opt.Kernel.MatchString(l.Name) && !opt.Kernel.MatchString(l.Base) {
			continue
		}
		out = append(out, l)
	}
	return out
}

// maxNamed is how many names an error lists.
const maxNamed = 5

// noMatch says why no launch is left, and what there is.
func noMatch(in []*profile.Report, opt Options) error {
	n, last := 0, 0
	var names []string
	for _, p := range in {
		n += len(p.Launches)
		for _, l := range p.Launches {
			last = max(last, l.ID)
			if name := nameOf(l); !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	switch {
	case n == 0:
		return &NoMatchError{"the report holds no kernel launch"}
	case opt.Kernel != nil:
		more := ""
		if len(names) > maxNamed {
			names, more = names[:maxNamed], fmt.Sprintf(" and %d more", len(names)-maxNamed)
		}
		what := fmt.Sprintf("--kernel %s: matches no kernel", opt.Kernel)
		if opt.Launch >= 0 {
			what = fmt.Sprintf("--kernel %s --launch %d: matches no launch", opt.Kernel, opt.Launch)
		}
		return &NoMatchError{fmt.Sprintf("%s (have %s%s)", what, strings.Join(names, ", "), more)}
	}
	return &NoMatchError{fmt.Sprintf("--launch %d: there is no such launch (have 0 to %d)", opt.Launch, last)}
}

func nameOf(l *profile.Launch) string {
	if l.Base != "" {
		return l.Base
	}
	return l.Name
}

// A group is the launches of one kernel.
type group struct {
	input int
	*kernel.Summary
	all []*kernel.Kernel // every launch of the report: what rules look at around one
}

// grouped puts launches of the same function, size and device together, in the order of their first ones.
func grouped(input int, p *profile.Report, launches []*profile.Launch) []*group {
	all := make([]*kernel.Kernel, len(p.Launches))
	of := make(map[*profile.Launch]*kernel.Kernel, len(p.Launches))
	for i, l := range p.Launches {
		all[i] = kernel.Of(l)
		of[l] = all[i]
	}
	var picked []*kernel.Kernel
	for _, l := range launches {
		picked = append(picked, of[l])
	}
	var out []*group
	for _, s := range kernel.Summarise(picked) {
		out = append(out, &group{input, s, all})
	}
	return out
}

// kernel is what is known of a group.
func (g *group) kernel() Kernel {
	k := g.Middle
	l := k.Launch
	out := Kernel{Input: g.input, Launch: l.ID, Name: l.Name, Base: nameOf(l), Mangled: l.Mangled, Device: l.Device,
		Grid: l.Grid, Block: l.Block, Count: len(g.Launches), TotalUs: g.TotalUs}
	if len(l.Ranges) > 0 {
		out.Range = l.Ranges[0].Stack
	}
	for _, k := range g.Launches {
		out.Launches = append(out.Launches, k.Launch.ID)
	}
	if g.Timed > 0 {
		out.DurationUs = &g.MedianUs
	}
	if g.Timed > 1 {
		out.Spread = &Spread{MinUs: g.MinUs, MaxUs: g.MaxUs, MeanUs: g.TotalUs / float64(g.Timed),
			QuartilesOverMedian: g.Summary.Spread}
	}
	out.clockOf(k)
	out.solOf(k)
	out.rooflineOf(k)
	out.stallsOf(k)
	out.occupancyOf(k)
	out.memoryOf(k)
	out.mixOf(k)
	out.linesOf(k)
	out.gapsOf(k)
	out.profilerOf(k)
	out.findingsOf(g.all, k)
	return out
}

// share fills in what each kernel takes of the time of all.
func share(all []Kernel) {
	sum := 0.0
	for i := range all {
		sum += all[i].TotalUs
	}
	for i := range all {
		if sum > 0 {
			all[i].Share = all[i].TotalUs / sum
		}
	}
}

// GainUs is what the best fix saves of all launches of a kernel together; 0: none is predicted.
func (k *Kernel) GainUs() float64 {
	best := 0.0
	for i := range k.Findings {
		if f := &k.Findings[i]; f.PredictedUs > 0 && !f.Healthy && k.DurationUs != nil && *k.DurationUs > 0 {
			best = max(best, (1 - f.PredictedUs / *k.DurationUs)*k.TotalUs)
		}
	}
	return best
}

// sortKernels puts kernels in the order asked for; ties stay in the order of the report.
func sortKernels(all []Kernel, by string) {
	slices.SortStableFunc(all, func(a, b Kernel) int {
		switch by {
		case SortGain:
			return cmp.Or(cmp.Compare(b.GainUs(), a.GainUs()), cmp.Compare(b.TotalUs, a.TotalUs))
		case SortName:
			return cmp.Or(cmp.Compare(a.Base, b.Base), cmp.Compare(a.Name, b.Name))
		}
		return cmp.Compare(b.TotalUs, a.TotalUs)
	})
}

func inputOf(p *profile.Report) Input {
	s := &p.Session
	in := Input{Path: p.Path, Format: p.Format, Producer: p.Producer, Host: s.Target.Name, Command: s.CommandLine,
		Program: programOf(p), Launches: len(p.Launches)}
	if in.Host == "" {
		in.Host = s.Host.Name
	}
	if s.Created > 0 {
		in.Created = time.Unix(s.Created, 0).UTC().Format(time.RFC3339)
	}
	return in
}

// programOf is the command that was profiled, without the profiler and its options: what begins with the executable.
func programOf(p *profile.Report) string {
	paths := []string{p.Session.Executable}
	for _, x := range p.Session.Processes {
		paths = append(paths, x.Path)
	}
	words := strings.Fields(p.Session.CommandLine)
	for _, path := range paths {
		for i, w := range words {
			if i > 0 && path != "" && base(w) == base(path) {
				return strings.Join(words[i:], " ")
			}
		}
	}
	return ""
}

// base is the last part of a path of any system.
func base(path string) string { return path[strings.LastIndexAny(path, `/\`)+1:] }

// addCapture adds what one report says of itself. The path stands in front if there are several.
func addCapture(c *Capture, p *profile.Report, several bool) {
	front := ""
	if several {
		front = p.Path + ": "
	}
	c.Launches += len(p.Launches)
	for _, l := range p.Losses.All() {
		c.Losses = append(c.Losses, Loss{string(l.Code), l.Count, front + l.Example})
	}
	for _, w := range p.Warnings {
		c.Warnings = append(c.Warnings, front+w)
	}
	if n := p.Losses.Count(model.LossTruncated); n > 0 && len(p.Warnings) == 0 {
		c.Warnings = append(c.Warnings, front+"the file ends too early: what came before was read")
	}
}
