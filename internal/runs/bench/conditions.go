package bench

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"lacuna/internal/capture/nvml"
	"lacuna/internal/runs/measure"
)

// samplePeriod is how often the GPUs' state is taken. A sample takes the library well under a millisecond.
const samplePeriod = 200 * time.Millisecond

// A watch takes the state of GPUs while a program runs.
type watch struct {
	library nvml.Library
	devices []int
	done    chan struct{}
	over    sync.WaitGroup
	before  map[int]bool // processes that computed before the program began
	samples []nvml.Sample
	others  map[int]bool
}

// watchGPUs begins to watch; a nil library watches nothing.
func watchGPUs(library nvml.Library, devices []int) *watch {
	w := &watch{library: library, devices: devices, done: make(chan struct{}), before: make(map[int]bool),
		others: make(map[int]bool)}
	if library == nil || len(devices) == 0 {
		return w
	}
	for _, d := range devices {
		if s, err := library.Sample(d); err == nil {
			for _, p := range s.Processes {
				w.before[p.PID] = true
			}
		}
	}
	w.over.Go(func() {
		tick := time.NewTicker(samplePeriod)
		defer tick.Stop()
		for {
			select {
			case <-w.done:
				return
			case <-tick.C:
				w.sample()
			}
		}
	})
	return w
}

func (w *watch) sample() {
	for _, d := range w.devices {
		s, err := w.library.Sample(d)
		if err != nil {
			continue
		}
		w.samples = append(w.samples, s)
		for _, p := range s.Processes {
			if w.before[p.PID] || isStranger(p.PID) {
				w.others[p.PID] = true
			}
		}
	}
}

// stop ends the watch and says what was seen; nil: nothing.
func (w *watch) stop() []measure.Condition {
	close(w.done)
	w.over.Wait()
	return conditionsOf(w.samples, w.others)
}

// isStranger says whether a process is here and no descendant of this program. One that is not here may be the
// program itself under another number, as containers have it, and is not counted.
func isStranger(pid int) bool {
	own := os.Getpid()
	for seen := 0; seen < 64; seen++ {
		if pid == own {
			return false
		}
		parent, ok := parentOf(pid)
		if !ok {
			return false
		}
		if parent <= 1 {
			return true
		}
		pid = parent
	}
	return false
}

// parentOf reads the parent from /proc.
func parentOf(pid int) (int, bool) {
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return 0, false
	}
	rest := string(text)[strings.LastIndexByte(string(text), ')')+1:] // the name before it may hold anything
	fields := strings.Fields(rest)
	if len(fields) < 2 {
		return 0, false
	}
	parent, err := strconv.Atoi(fields[1])
	return parent, err == nil
}

// conditionsOf sums up samples: of clocks and power those in which a GPU was busy, if there are any, since an
// idle GPU's clocks say nothing of the program.
func conditionsOf(samples []nvml.Sample, others map[int]bool) (out []measure.Condition) {
	if len(samples) == 0 {
		return nil
	}
	busy := slices.DeleteFunc(slices.Clone(samples), func(s nvml.Sample) bool { return s.BusyPct == 0 })
	if len(busy) == 0 {
		busy = samples
	}
	for _, f := range []struct {
		name string
		of   func(nvml.Sample) float64
	}{
		{"busy_pct", func(s nvml.Sample) float64 { return float64(s.BusyPct) }},
		{"memory_mhz", func(s nvml.Sample) float64 { return float64(s.MemoryMHz) }},
		{"power_w", func(s nvml.Sample) float64 { return s.PowerW }},
		{"sm_mhz", func(s nvml.Sample) float64 { return float64(s.SMMHz) }},
		{"temperature_c", func(s nvml.Sample) float64 { return float64(s.TemperatureC) }},
	} {
		var v []float64
		for _, s := range busy {
			v = append(v, f.of(s))
		}
		slices.Sort(v)
		if v[len(v)-1] > 0 {
			out = append(out, measure.Condition{Name: f.name, Min: v[0], Median: v[len(v)/2], Max: v[len(v)-1]})
		}
	}
	if text, share := throttled(busy); text != "" {
		out = append(out, measure.Condition{Name: "throttle", Max: share, Text: text})
	}
	if len(others) > 0 {
		out = append(out, measure.Condition{Name: "others", Max: float64(len(others)), Text: processNames(others)})
	}
	slices.SortFunc(out, func(a, b measure.Condition) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// throttled is what held the clocks down and in what share of the samples, most first, and the share of any.
func throttled(samples []nvml.Sample) (string, float64) {
	counts := make(map[string]int)
	any := 0
	for _, s := range samples {
		names := s.Reasons.Names()
		for _, n := range names {
			counts[n]++
		}
		if len(names) > 0 {
			any++
		}
	}
	var names []string
	for n := range counts {
		names = append(names, n)
	}
	slices.SortFunc(names, func(a, b string) int {
		if counts[a] != counts[b] {
			return counts[b] - counts[a]
		}
		return strings.Compare(a, b)
	})
	var words []string
	for _, n := range names {
		words = append(words, fmt.Sprintf("%s in %.0f %% of the samples", n,
			100*float64(counts[n])/float64(len(samples))))
	}
	return strings.Join(words, ", "), float64(any) / float64(len(samples))
}

// processNames is processes in the order of their IDs: "python3 (4242)".
func processNames(pids map[int]bool) string {
	var list []int
	for pid := range pids {
		list = append(list, pid)
	}
	slices.Sort(list)
	var words []string
	for _, pid := range list {
		name, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "comm"))
		if err != nil {
			name = []byte("a process")
		}
		words = append(words, fmt.Sprintf("%s (%d)", strings.TrimSpace(string(name)), pid))
	}
	return strings.Join(words, ", ")
}

// machineOf is what the library and the system say of this machine.
func machineOf(library nvml.Library, visible []int) measure.Machine {
	var m measure.Machine
	m.Host, _ = os.Hostname()
	if library == nil {
		return m
	}
	devices := library.Devices()
	m.Driver = library.Driver()
	for _, i := range visible {
		if m.GPUs++; m.GPUs == 1 {
			m.GPU = devices[i].Name
		}
	}
	return m
}
