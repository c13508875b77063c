package record

import (
	"time"

	"lacuna/internal/capture/nvml"
	"lacuna/internal/capture/spool"
)

// throttles is the reasons for lower clocks that mean that the GPU is held back, each a track of 0 and 1. Clocks that
// somebody set, and those that GPUs in sync share, are no fault of the machine.
var throttles = [...]struct {
	reason nvml.Reasons
	name   string
}{
	{nvml.PowerCap, "throttle: power cap"},
	{nvml.HardwareSlowdown, "throttle: hardware slowdown"},
	{nvml.ThermalSlowdown, "throttle: heat"},
	{nvml.HardwareThermal, "throttle: heat (hardware)"},
	{nvml.PowerBrake, "throttle: power brake"},
}

// A series is one track of one GPU. of gives the value; false: the GPU did not tell.
type series struct {
	name, unit string
	of         func(*nvml.Sample) (float64, bool)
}

// seriesOf is what is recorded of each sample.
func seriesOf() []series {
	nonzero := func(of func(*nvml.Sample) float64) func(*nvml.Sample) (float64, bool) {
		return func(s *nvml.Sample) (float64, bool) { v := of(s); return v, v != 0 }
	}
	told := func(t nvml.Told, of func(*nvml.Sample) float64) func(*nvml.Sample) (float64, bool) {
		return func(s *nvml.Sample) (float64, bool) { return of(s), s.Told&t != 0 }
	}
	all := []series{
		{"SM clock", "MHz", nonzero(func(s *nvml.Sample) float64 { return float64(s.SMMHz) })},
		{"memory clock", "MHz", nonzero(func(s *nvml.Sample) float64 { return float64(s.MemoryMHz) })},
		{"power", "W", nonzero(func(s *nvml.Sample) float64 { return s.PowerW })},
		{"power limit", "W", nonzero(func(s *nvml.Sample) float64 { return s.PowerLimitW })},
		{"temperature", "C", nonzero(func(s *nvml.Sample) float64 { return float64(s.TemperatureC) })},
		{"GPU use", "%", told(nvml.ToldBusy, func(s *nvml.Sample) float64 { return float64(s.BusyPct) })},
		{"memory use", "%", told(nvml.ToldBusy, func(s *nvml.Sample) float64 { return float64(s.MemoryBusyPct) })},
		{"memory in use", "bytes", told(nvml.ToldMemory,
			func(s *nvml.Sample) float64 { return float64(s.MemoryUsed) })},
	}
	for _, t := range throttles {
		all = append(all, series{t.name, "", told(nvml.ToldReasons, func(s *nvml.Sample) float64 {
			if s.Reasons&t.reason != 0 {
				return 1
			}
			return 0
		})})
	}
	return all
}

// A gauge writes the state of GPUs as counter rows.
type gauge struct {
	library nvml.Library
	devices []int
	w       *spool.Writer
	tracks  map[gaugeKey]uint32
	last    map[int]linkCount
	next    int // the device whose PCIe link is next
	series  []series
}

type gaugeKey struct {
	device int
	name   string
}

// A linkCount is NVLink's counters at a time.
type linkCount struct {
	at     time.Time
	tx, rx int64
}

func newGauge(library nvml.Library, devices []int, w *spool.Writer) *gauge {
	return &gauge{library: library, devices: devices, w: w, tracks: make(map[gaugeKey]uint32),
		last: make(map[int]linkCount), series: seriesOf()}
}

// sample takes the state of every GPU once.
func (g *gauge) sample() {
	for _, d := range g.devices {
		s, err := g.library.Sample(d)
		if err != nil {
			continue // a GPU that has fallen off the bus; the others go on
		}
		now := time.Now()
		for _, x := range g.series {
			if v, ok := x.of(&s); ok {
				g.put(d, x.name, x.unit, now, v)
			}
		}
		g.links(d, &s, now)
	}
}

// traffic takes the PCIe traffic of one GPU, of each in turn: it takes the library tens of ms.
func (g *gauge) traffic() {
	d := g.devices[g.next%len(g.devices)]
	g.next++
	if p, err := g.library.PCIe(d); err == nil {
		now := time.Now()
		g.put(d, "PCIe sent", "bytes/s", now, float64(p.TxBps))
		g.put(d, "PCIe received", "bytes/s", now, float64(p.RxBps))
	}
}

// links turns NVLink's counters into traffic.
func (g *gauge) links(device int, s *nvml.Sample, now time.Time) {
	if s.Told&nvml.ToldNVLink == 0 {
		return
	}
	before, have := g.last[device]
	g.last[device] = linkCount{now, s.NVLinkTx, s.NVLinkRx}
	since := now.Sub(before.at).Seconds()
	if !have || since <= 0 || s.NVLinkTx < before.tx || s.NVLinkRx < before.rx { // the counters began anew
		return
	}
	g.put(device, "NVLink sent", "bytes/s", now, float64(s.NVLinkTx-before.tx)/since)
	g.put(device, "NVLink received", "bytes/s", now, float64(s.NVLinkRx-before.rx)/since)
}

// put writes a value, and before the first one of a track what the track is.
func (g *gauge) put(device int, name, unit string, at time.Time, value float64) {
	key := gaugeKey{device, name}
	track, have := g.tracks[key]
	if !have {
		track = uint32(len(g.tracks) + 1)
		g.tracks[key] = track
		_ = g.w.Append(spool.Track{Track: track, Device: uint32(device), Name: g.w.Text(name), Unit: g.w.Text(unit),
			UUID: g.w.Text(g.library.Devices()[device].UUID)})
	}
	// the first error stays and is told at the end
	_ = g.w.Append(spool.Counter{Time: spool.Real(at.UnixNano()), Track: track, Value: value})
}
