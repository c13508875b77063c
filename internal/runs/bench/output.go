package bench

import (
	"bytes"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"lacuna/internal/base/stat"
	"lacuna/internal/runs/measure"
)

const (
	keptLines = 20      // what is shown of a program that failed
	maxLine   = 1 << 16 // bytes; longer lines are cut there
	maxMarks  = 1 << 20 // of one run; later ones are left out
	// aheadShare is how far the mean step may be above the median before it is said that the marks may not be steps:
	// on an H200 a loop that synchronised every 16 steps had 8 times the median
	// (bench/gpu/gate/results/bench-h200.txt).
	aheadShare     = 2
	fewestForAhead = 16
)

// An output is what a program writes, on both of its streams: handed on, searched for marks, and its end kept.
type output struct {
	marks Marks
	pass  func([]byte)

	passing sync.Mutex // the streams come by turns
	mutex   sync.Mutex
	began   time.Time
	steps   []time.Duration // when each step ended
	values  map[string][]float64
	lines   []string
	partial [2][]byte // of a line of each stream
}

func newOutput(marks Marks, pass func([]byte)) *output {
	return &output{marks: marks, pass: pass, values: make(map[string][]float64)}
}

func (o *output) begin(at time.Time) { o.began = at }

// read takes one of the two streams to its end.
func (o *output) read(stream int, r io.Reader) {
	buffer := make([]byte, 1<<15)
	for {
		n, err := r.Read(buffer)
		at := time.Since(o.began)
		if o.pass != nil && n > 0 {
			o.passing.Lock()
			o.pass(buffer[:n])
			o.passing.Unlock()
		}
		o.take(stream, buffer[:n], at)
		if err != nil {
			o.take(stream, []byte("\n"), at) // what has no end of line
			return
		}
	}
}

// take is given what was written at a time. A carriage return ends a line too: progress bars write nothing else.
func (o *output) take(stream int, text []byte, at time.Duration) {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	for {
		end := bytes.IndexAny(text, "\r\n")
		if end < 0 {
			break
		}
		line := append(o.partial[stream], text[:end]...)
		if len(line) > 0 {
			o.line(line[:min(len(line), maxLine)], at)
		}
		o.partial[stream], text = o.partial[stream][:0], text[end+1:]
	}
	if room := maxLine - len(o.partial[stream]); room > 0 {
		o.partial[stream] = append(o.partial[stream], text[:min(room, len(text))]...)
	}
}

func (o *output) line(line []byte, at time.Duration) {
	if len(o.lines) == keptLines {
		o.lines = slices.Delete(o.lines, 0, 1)
	}
	o.lines = append(o.lines, string(line))
	if o.marks.Step != nil && len(o.steps) < maxMarks && o.marks.Step.Match(line) {
		o.steps = append(o.steps, at)
	}
	for _, re := range o.marks.Metrics {
		name := metricName(re)
		for _, found := range re.FindAllSubmatch(line, -1) {
			if x, err := strconv.ParseFloat(strings.ReplaceAll(string(found[group(re)]), ",", ""), 64); err == nil &&
				x-x == 0 && len(o.values[name]) < maxMarks {
				o.values[name] = append(o.values[name], x)
			}
		}
	}
}

func (o *output) last() []string {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	return slices.Clone(o.lines)
}

// group is which part of a match is the value: the first that is named, else the first, else the whole.
func group(re *regexp.Regexp) int {
	for i, name := range re.SubexpNames() {
		if name != "" {
			return i
		}
	}
	return min(1, re.NumSubexp())
}

// metricName is what the value is called: what the expression calls it, (?P<tokens_per_s>...).
func metricName(re *regexp.Regexp) string {
	if name := re.SubexpNames()[group(re)]; name != "" {
		return name
	}
	return "metric"
}

// metricUnit is the unit that the end of a name says, "step_ms".
func metricUnit(name string) string {
	for _, u := range []struct{ end, unit string }{{"_per_s", "/s"}, {"_ms", "ms"}, {"_us", "us"}, {"_bytes", "bytes"},
		{"_s", "s"}} {
		if strings.HasSuffix(name, u.end) {
			return u.unit
		}
	}
	return ""
}

// measures is what the marks say. A step is from one mark to the next.
func (o *output) measures(s *Session) (out []measure.Measure) {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	if o.marks.Step != nil {
		var samples []float64
		together := 0
		for i := 1; i < len(o.steps); i++ {
			samples = append(samples, ms(o.steps[i]-o.steps[i-1]))
			if o.steps[i] == o.steps[i-1] {
				together++
			}
		}
		samples = samples[min(len(samples), o.marks.Skip):]
		runsAhead := func() bool {
			c := stat.CentreOf([][]float64{samples})
			return sum(samples) > aheadShare*c.Median*float64(len(samples))
		}
		switch {
		case len(samples) == 0:
			s.warn("--step-regex found " + strconv.Itoa(len(o.steps)) +
				" marks in a run; a step needs two that are kept: no steps are reported")
		case together*4 > len(samples):
			s.warn("many steps were marked at the same moment: the program buffers its output, or this machine was " +
				"too busy to read it; flush each line (stdbuf -oL, print(..., flush=True))")
		case len(samples) >= fewestForAhead && runsAhead():
			s.warn("the mean step is far above the median: if the program prints ahead of its GPU and waits now " +
				"and then, the marks time its printing; write $" + MetricsVariable + " instead, or print after a " +
				"synchronization")
		}
		if len(samples) > 0 {
			out = append(out, measure.Measure{Name: "step", Unit: "ms", Samples: samples})
		}
	}
	for _, re := range o.marks.Metrics {
		name := metricName(re)
		values := o.values[name]
		values = values[min(len(values), o.marks.Skip):]
		if len(values) == 0 {
			s.warn("--metric-regex " + re.String() + " matched no number in a run")
			continue
		}
		better := measure.Lower
		if o.marks.Higher || strings.HasSuffix(name, "_per_s") {
			better = measure.Higher
		}
		out = append(out, measure.Measure{Name: name, Unit: metricUnit(name), Better: better, Samples: values})
	}
	return out
}
