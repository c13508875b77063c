package rules

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"lacuna/internal/base/interval"
	"lacuna/internal/timeline/facts"
	"lacuna/internal/timeline/model"
)

var throttled = Rule{
	ID:       "throttled",
	Title:    "Clock throttling: the GPU runs below its highest clock",
	Since:    "0.2",
	Needs:    []Need{needWork, needClocks},
	Standing: CostsElse,
	Doc: `
While the GPU computes, its SM clock is well below the highest in this capture, or a counter reports throttling by
power or temperature. All compute-bound kernels slow down with the clock; no change to the program fixes that.

It is reported if the median clock while kernels run is 10 % below the highest sample, which GPUs reach under light
load, or if a throttle counter is above zero in a tenth of the samples taken while kernels run.`,
	Limits: `
Needs sampled clocks. A lower clock under full load is how power limits work: an H100 at 700 W runs large GEMMs some
20 % below its boost clock, and that is not a defect. Drift of durations without clocks is not taken for
throttling.`,
	Fix: `
Look up the throttle reason, and compare runs only at equal clocks:

    nvidia-smi -q -d PERFORMANCE,CLOCK,POWER,TEMPERATURE
    sudo nvidia-smi -lgc 1500                  # a fixed clock, for measuring

Better cooling, a higher power limit (nvidia-smi -pl), or fewer jobs in the chassis.`,
	FixC:      `The same: the cause is outside the program.`,
	Confirm:   `The clock while kernels run is near its highest.`,
	RefutedBy: `nvidia-smi -q -d PERFORMANCE shows no active reason in the run.`,
	Check:     checkThrottled,
}

const (
	// clockDrop is how far the clock must be below its highest: GPUs step by 15 MHz, less than 1 %, and vary by some.
	clockDrop = 0.10
	// minSamples is how many samples while kernels run have a median worth the name.
	minSamples = 20
	// throttleShare is the share of samples in which a counter of throttling must be set.
	throttleShare = 0.10
)

var (
	clockTrack    = regexp.MustCompile(`(?i)(gpc|sm|graphics).*clock|clock.*(gpc|\bsm\b|graphics)`)
	throttleTrack = regexp.MustCompile(`(?i)throttl|slowdown`)
)

var needClocks = Need{"sampled clocks", func(f *facts.Facts) bool {
	for _, t := range f.Trace.Tracks {
		if clockTrack.MatchString(t.Name) || throttleTrack.MatchString(t.Name) {
			return true
		}
	}
	return false
}, "lacuna record, or nsys profile --gpu-metrics-devices=all"}

// held is what a device's counters say while it computes.
type held struct {
	share   float64  // median clock over the highest; 0: not low
	reasons []string // what holds it back
	because []string
}

func checkThrottled(c *Case, out *Findings) {
	devices := make(map[uint32]*held)
	var order []uint32
	for n, track := range c.Trace.Tracks {
		isClock := clockTrack.MatchString(track.Name)
		if !isClock && !throttleTrack.MatchString(track.Name) {
			continue
		}
		if devices[track.Device] == nil {
			devices[track.Device] = new(held)
			order = append(order, track.Device)
		}
		working, highest := c.samplesAtWork(uint32(n), track.Device)
		if len(working) < minSamples {
			continue
		}
		h := devices[track.Device]
		if isClock {
			h.clock(track.Name, working, highest)
		} else {
			h.throttle(track.Name, working)
		}
	}
	for _, d := range order {
		devices[d].tell(out)
	}
}

// agreeing is how many samples must be as high for the highest to be believed: counters overflow now and then.
const agreeing = 3

// samplesAtWork is the samples of a counter while the device computes, in order of value, and the highest that several
// reach.
func (c *Case) samplesAtWork(track, device uint32) (working []float64, highest float64) {
	samples, busy := &c.Trace.Counters, c.computeTime(device)
	var all []float64
	for i := range samples.Len() {
		if samples.Track[i] != track {
			continue
		}
		all = append(all, samples.Value[i])
		if overlapNs(busy, interval.Span{StartNs: samples.TimeNs[i], EndNs: samples.TimeNs[i] + 1}) > 0 {
			working = append(working, samples.Value[i])
		}
	}
	slices.Sort(working)
	slices.Sort(all)
	if n := len(all); n > 0 {
		highest = all[max(0, n-agreeing)]
	}
	return working, highest
}

func (h *held) clock(name string, working []float64, highest float64) {
	if median := working[(len(working)-1)/2]; median < (1-clockDrop)*highest {
		h.share = median / highest
		h.because = append(h.because, fmt.Sprintf(
			"%s: %g in the median of %d samples while kernels run, %g at its highest", name, median, len(working),
			highest))
	}
}

func (h *held) throttle(name string, working []float64) {
	set := 0
	for _, v := range working {
		if v > 0 {
			set++
		}
	}
	if float64(set) >= throttleShare*float64(len(working)) {
		h.reasons = append(h.reasons, strings.TrimPrefix(name, "throttle: "))
		h.because = append(h.because, fmt.Sprintf("%s is set in %d of %d samples while kernels run", name, set,
			len(working)))
	}
}

func (h *held) tell(out *Findings) {
	by := strings.Join(h.reasons, ", ")
	var f *Finding
	switch {
	case h.share > 0 && by != "":
		f = out.Add(0.8, 0, "The GPU runs at %.0f %% of its highest clock in this capture, throttled by %s",
			100*h.share, by)
	case h.share > 0:
		f = out.Add(0.6, 0, "The GPU runs at %.0f %% of its highest clock in this capture", 100*h.share)
	case by != "":
		f = out.Add(0.8, 0, "The GPU is throttled by %s", by)
	default:
		return
	}
	for _, text := range h.because {
		f.Because(text)
	}
}

// computeTime is when a device computes within the steps looked at; of all devices, for counters of none.
func (c *Case) computeTime(device uint32) interval.Set {
	w, window := c.Facts.Work(), c.Steps.Window()
	var spans []interval.Span
	for i := range w.Len() {
		if w.Kind[i].IsCompute() && (device == model.NoDevice || w.Device[i] == device) {
			if s := (interval.Span{StartNs: w.StartNs[i], EndNs: w.EndNs[i]}).Clip(window); s.LenNs() > 0 {
				spans = append(spans, s)
			}
		}
	}
	return interval.UnionSorted(spans)
}
