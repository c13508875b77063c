package facts

import (
	"lacuna/internal/base/interval"
	"lacuna/internal/timeline/model"
)

// GraphCaptures is when each thread captured its launches into a graph: they launch nothing then. A capture that does
// not end is to the thread's last call.
func (f *Facts) GraphCaptures() map[model.ThreadRow]interval.Set {
	return f.kept.graphCaptures.of(f, func(f *Facts) map[model.ThreadRow]interval.Set {
		t := f.Trace
		const begin, end = 1, 2
		is := judge(&t.Strings, func(name string) uint8 {
			switch {
			case beginCaptureCall.MatchString(name):
				return begin
			case endCaptureCall.MatchString(name):
				return end
			}
			return 0
		})
		open, last := make(map[model.ThreadRow]int64), make(map[model.ThreadRow]int64)
		spans := make(map[model.ThreadRow][]interval.Span)
		for i, id := range t.Calls.Name {
			th := t.Calls.Thread[i]
			from, capturing := open[th]
			last[th] = max(last[th], t.Calls.EndNs(i))
			switch kind := is(id); {
			case kind == begin && !capturing:
				open[th] = t.Calls.StartNs[i]
			case kind == end && capturing:
				spans[th] = append(spans[th], interval.Span{StartNs: from, EndNs: t.Calls.EndNs(i)})
				delete(open, th)
			}
		}
		for th, from := range open {
			spans[th] = append(spans[th], interval.Span{StartNs: from, EndNs: last[th]})
		}
		out := make(map[model.ThreadRow]interval.Set, len(spans))
		for th, list := range spans {
			out[th] = interval.Union(list)
		}
		return out
	})
}
