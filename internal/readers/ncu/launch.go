package ncu

import (
	"cmp"
	"fmt"
	"iter"
	"unsafe"

	"google.golang.org/protobuf/encoding/protowire"

	"lacuna/internal/kernel/profile"
)

// result reads a kernel result.
func (f *filler) result(msg []byte) {
	f.read += int64(len(msg))
	l := &profile.Launch{PID: f.process.PID, Process: f.process.Path, Host: f.process.Host}
	var ref uint64
	c := cursor{rest: msg}
	for c.next() {
		switch c.num {
		case resultThread:
			l.Thread = c.whole
		case resultCall:
			l.Call = c.whole
		case resultMangled:
			l.Mangled = c.text()
		case resultBase:
			l.Base = c.text()
		case resultDemangled:
			l.Name = c.text()
		case resultGrid:
			l.Grid = f.axes(c.bytes)
		case resultBlock:
			l.Block = f.axes(c.bytes)
		case resultMetric:
			f.metric(l, c.bytes)
		case resultTime:
			l.StartUnix = float64(c.whole)
		case resultSource:
			ref = f.sourceRef(c.bytes)
		case resultSection:
			l.Sections = keep(f, l.Sections, f.section(c.bytes))
		case resultRule:
			l.Rules = keep(f, l.Rules, f.rule(c.bytes))
		case resultNVTX:
			l.Ranges = f.nvtx(c.bytes)
		case resultContext:
			l.Context = c.whole
		case resultStream:
			l.Stream = c.whole
		case resultClocks:
			l.Clocks = f.clocks(c.bytes)
		case resultStack:
			f.losses.Add(lossStack, 1, "kernel "+l.Name)
		case resultProgram, resultKernel, resultDimensions, resultOffset, resultComments, resultAPI, resultSectionNote,
			resultUnsupported, resultSeries, resultScope, resultEmpty2025, resultDriver:
		default:
			f.unknown("kernel result", c.num)
		}
	}
	f.whole("kernel result", &c, len(msg))
	f.forget(l)
	if l.Name == "" {
		l.Name = cmp.Or(l.Base, l.Mangled)
	}
	if l.Name == "" && len(l.Metrics) == 0 {
		f.damaged("kernel result %d has neither name nor metrics", len(f.report.Launches))
		return
	}
	l.SortMetrics()
	f.launch(l, ref)
}

// launch adds a launch to the report.
func (f *filler) launch(l *profile.Launch, ref uint64) {
	had := len(f.report.Launches)
	f.held += int64(unsafe.Sizeof(*l))
	f.report.Launches = keep(f, f.report.Launches, l)
	if len(f.report.Launches) == had {
		return
	}
	f.refs = append(f.refs, ref)
	l.Report = f.report
	gridInBlocks(l)
	if device, ok := l.Number(profile.AttributePrefix+"device_index", "launch__device_id"); ok && device >= 0 &&
		device < 1<<31 {
		l.Device = int(device)
	}
}

// metric reads a metric into a launch. One that comes twice is as it comes last, as the profiler has it.
func (f *filler) metric(l *profile.Launch, msg []byte) {
	name, value, sampled, listed := -1, profile.Value{}, false, false
	c := cursor{rest: msg}
	for c.next() {
		switch c.num {
		case metricName:
			name = int(min(c.whole, 1<<31-1))
		case metricValue:
			value = f.value("metric", c.bytes)
		case metricInstance:
			listed = true
			if odd, bad := checkInstance(c.bytes); bad {
				f.losses.Add(lossBadMessage, 1, "an instance of a metric")
			} else if odd != 0 {
				f.unknown("metric instance", odd)
			}
		case metricCategory:
			sampled = c.whole == categorySampled
		default:
			f.unknown("metric", c.num)
		}
	}
	f.whole("metric", &c, len(msg))
	if name < 0 || name >= len(f.strings) {
		f.losses.Add(lossNoName, 1, fmt.Sprintf("kernel %s: name %d of %d", l.Name, name, len(f.strings)))
		return
	}
	if f.ids[name] == 0 {
		f.ids[name] = f.report.Names.ID(f.strings[name]) + 1
	}
	id := f.ids[name] - 1
	for int(id) >= len(f.at) {
		f.at = append(f.at, 0)
	}
	var instances iter.Seq[profile.Instance]
	if listed {
		instances = packed(msg).instances
	}
	m := profile.NewMetric(id, value, sampled, instances)
	if at := f.at[id]; at != 0 {
		l.Metrics[at-1] = m
		return
	}
	had := len(l.Metrics)
	if l.Metrics = keep(f, l.Metrics, m); len(l.Metrics) > had {
		f.at[id] = int32(len(l.Metrics))
	}
}

// forget clears the scratch that tells which metrics a launch has.
func (f *filler) forget(l *profile.Launch) {
	for i := range l.Metrics {
		f.at[l.Metrics[i].Name] = 0
	}
}

// packed is a metric's message, which holds its instances.
type packed []byte

// instances gives the metric's instances. What is damaged was counted when the metric was read.
func (p packed) instances(yield func(profile.Instance) bool) {
	c := cursor{rest: p}
	for c.next() {
		if c.num == metricInstance && !yield(decodeInstance(c.bytes)) {
			return
		}
	}
}

func decodeInstance(msg []byte) (i profile.Instance) {
	c := cursor{rest: msg}
	for c.next() {
		switch c.num {
		case instanceKey:
			i.Key, _, _ = decodeValue(c.bytes)
		case instanceValue:
			i.Value, _, _ = decodeValue(c.bytes)
		}
	}
	return i
}

// checkInstance walks an instance without keeping it: odd is a field that is not known, bad says that it is damaged.
func checkInstance(msg []byte) (odd protowire.Number, bad bool) {
	c := cursor{rest: msg}
	for c.next() {
		if c.num != instanceKey && c.num != instanceValue {
			odd = c.num
			continue
		}
		v := cursor{rest: c.bytes}
		for v.next() {
			if v.num > valueUint64 {
				odd = v.num
			}
		}
		if v.bad {
			return odd, true
		}
	}
	return odd, c.bad
}

// axes reads three numbers; those that do not fit are cut to the largest that does.
func (f *filler) axes(msg []byte) (v [3]uint32) {
	f.each("size", msg, func(c *cursor) {
		switch c.num {
		case axisX, axisY, axisZ:
			v[c.num-axisX] = uint32(min(c.whole, 1<<32-1))
		default:
			f.unknown("size", c.num)
		}
	})
	return v
}

func (f *filler) sourceRef(msg []byte) (ref uint64) {
	f.each("source reference", msg, func(c *cursor) {
		switch c.num {
		case sourceReferenceRef:
			ref = c.whole
		case sourceReferenceLevel:
		default:
			f.unknown("source reference", c.num)
		}
	})
	return ref
}

func (f *filler) clocks(msg []byte) (clocks profile.Clocks) {
	f.each("clock status", msg, func(c *cursor) {
		switch c.num {
		case clocksRequested:
			clocks.AskedToLock = c.whole != 0
		case clocksLocked:
			clocks.Locked = c.whole != 0
		default:
			f.unknown("clock status", c.num)
		}
	})
	return clocks
}
