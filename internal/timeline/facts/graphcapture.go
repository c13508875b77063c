package facts

import (
	"regexp"

	"lacuna/internal/base/interval"
	"lacuna/internal/timeline/model"
)

// A launchedCall is a call that must lead to work on the device.
type launchedCall struct {
	call  int32
	graph bool
}

// launching is what became of the calls that launch kernels and graphs, each of them once, in order of their start.
type launching struct {
	run      []launchedCall                   // that must lead to work on the device
	captured []int32                          // that put a kernel into a graph and ran nothing
	captures map[model.ThreadRow]interval.Set // when each thread captured
}

// launchCalls is the calls that must lead to work on the device: launches, but for those that are captured into a
// graph.
func (f *Facts) launchCalls() []launchedCall { return f.launching().run }

// CapturedLaunches is the calls that put a kernel into a graph that is being captured: they run nothing.
func (f *Facts) CapturedLaunches() []int32 { return f.launching().captured }

// GraphCaptures is when each thread captured its launches into a graph: they launch nothing then. A capture that does
// not end is to the thread's last call.
func (f *Facts) GraphCaptures() map[model.ThreadRow]interval.Set { return f.launching().captures }

func (f *Facts) launching() launching {
	return f.kept.launching.of(f, func(f *Facts) launching {
		var out launching
		t, is, repeated := f.Trace, f.launchKind(), f.repeatedCalls()
		open, last := make(map[model.ThreadRow]int64), make(map[model.ThreadRow]int64)
		spans := make(map[model.ThreadRow][]interval.Span)
		for i, id := range t.Calls.Name {
			th, row := t.Calls.Thread[i], int32(i)
			from, capturing := open[th]
			last[th] = max(last[th], t.Calls.EndNs(i))
			switch kind := is(id); {
			case kind == beginsCapture && !capturing:
				open[th] = t.Calls.StartNs[i]
			case kind == endsCapture && capturing:
				spans[th] = append(spans[th], interval.Span{StartNs: from, EndNs: t.Calls.EndNs(i)})
				delete(open, th)
			case kind == launchesGraph && !repeated[row], kind == launchesKernel && !capturing && !repeated[row]:
				out.run = append(out.run, launchedCall{row, kind == launchesGraph})
			case kind == launchesKernel && !repeated[row]:
				out.captured = append(out.captured, row)
			}
		}
		for th, from := range open {
			spans[th] = append(spans[th], interval.Span{StartNs: from, EndNs: last[th]})
		}
		out.captures = make(map[model.ThreadRow]interval.Set, len(spans))
		for th, list := range spans {
			out.captures[th] = interval.Union(list)
		}
		return out
	})
}

// What a call does with launches.
const (
	launchesKernel uint8 = iota + 1
	launchesGraph
	beginsCapture
	endsCapture
)

// Calls that launch something, or put it into a graph.
var (
	launchCall       = regexp.MustCompile(`^(cuda|cu|hip)(Launch(Cooperative)?Kernel|GraphLaunch)|^hip(Ext)?(Module)?LaunchKernel`)
	beginCaptureCall = regexp.MustCompile(`^(cuda|cu|hip)StreamBeginCapture`)
	endCaptureCall   = regexp.MustCompile(`^(cuda|cu|hip)StreamEndCapture`)
	graphLaunchCall  = regexp.MustCompile(`^(cuda|cu|hip)GraphLaunch`)
)

// launchKind says of a call's name what it does with launches; 0 is nothing.
func (f *Facts) launchKind() func(model.StringID) uint8 {
	return judge(&f.Trace.Strings, func(name string) uint8 {
		switch {
		case graphLaunchCall.MatchString(name):
			return launchesGraph
		case launchCall.MatchString(name):
			return launchesKernel
		case beginCaptureCall.MatchString(name):
			return beginsCapture
		case endCaptureCall.MatchString(name):
			return endsCapture
		}
		return 0
	})
}

// LaunchCalls is the rows of the calls that must lead to work on the device, in their order.
func (f *Facts) LaunchCalls() []int32 {
	var out []int32
	for _, l := range f.launchCalls() {
		out = append(out, l.call)
	}
	return out
}
