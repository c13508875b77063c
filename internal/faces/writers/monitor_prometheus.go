package writers

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"lacuna/internal/capture/monitor"
	"lacuna/internal/capture/nvml"
)

// A metricFamily is one metric of Prometheus' text format, in base units as its conventions ask.
type metricFamily struct {
	name, kind, help string
	samples          func(g *monitor.GPU, add func(v float64, labels ...string)) // labels: name, value, ...
}

// gauge is a metric that is one value of a GPU times a factor; what is not reported has no sample.
func gauge(name, help string, factor float64, of func(g *monitor.GPU) *float64) metricFamily {
	return metricFamily{name, "gauge", help, func(g *monitor.GPU, add func(float64, ...string)) {
		if v := of(g); v != nil {
			add(factor * *v)
		}
	}}
}

func counter(name, help string, of func(g *monitor.GPU) *float64) metricFamily {
	f := gauge(name, help, 1, of)
	f.kind = "counter"
	return f
}

// monitorMetrics is every metric, in the order in which they are written.
func monitorMetrics() []metricFamily {
	const mega, percent = 1e6, 0.01
	return []metricFamily{
		{"lacuna_gpu_info", "gauge", "What the GPU is; always 1.", func(g *monitor.GPU, add func(float64, ...string)) {
			add(1, "name", g.Name, "pci", g.PCI)
		}},
		{"lacuna_gpu_up", "gauge", "Whether the GPU could be read.",
			func(g *monitor.GPU, add func(float64, ...string)) {
				add(oneIf(g.Error == ""))
			}},
		gauge("lacuna_gpu_utilization_ratio", "Share of the driver's last period in which a kernel ran.", percent,
			func(g *monitor.GPU) *float64 { return g.UtilPct }),
		gauge("lacuna_gpu_memory_utilization_ratio",
			"Share of the driver's last period in which device memory was read or written.", percent,
			func(g *monitor.GPU) *float64 { return g.MemoryUtilPct }),
		gauge("lacuna_gpu_memory_used_bytes", "Device memory in use.", 1,
			func(g *monitor.GPU) *float64 { return g.MemoryUsedBytes }),
		gauge("lacuna_gpu_memory_total_bytes", "Device memory.", 1,
			func(g *monitor.GPU) *float64 { return g.MemoryTotalBytes }),
		gauge("lacuna_gpu_sm_clock_hertz", "Clock of the SMs.", mega,
			func(g *monitor.GPU) *float64 { return g.SMClockMHz }),
		gauge("lacuna_gpu_sm_clock_max_hertz", "Highest clock of the SMs.", mega,
			func(g *monitor.GPU) *float64 { return g.MaxSMClockMHz }),
		gauge("lacuna_gpu_memory_clock_hertz", "Clock of the memory.", mega,
			func(g *monitor.GPU) *float64 { return g.MemoryClockMHz }),
		gauge("lacuna_gpu_memory_clock_max_hertz", "Highest clock of the memory.", mega,
			func(g *monitor.GPU) *float64 { return g.MaxMemoryClockMHz }),
		gauge("lacuna_gpu_power_watts", "Power drawn.", 1, func(g *monitor.GPU) *float64 { return g.PowerW }),
		gauge("lacuna_gpu_power_limit_watts", "Power limit that is enforced.", 1,
			func(g *monitor.GPU) *float64 { return g.PowerLimitW }),
		gauge("lacuna_gpu_temperature_celsius", "Temperature of the GPU.", 1,
			func(g *monitor.GPU) *float64 { return g.TemperatureC }),
		{"lacuna_gpu_throttled", "gauge", "Whether this holds the clocks down.", throttleSamples},
		gauge("lacuna_gpu_pcie_transmit_bytes_per_second", "Sent over PCIe by the GPU, over 20 ms.", 1,
			func(g *monitor.GPU) *float64 { return g.PCIeTxBps }),
		gauge("lacuna_gpu_pcie_receive_bytes_per_second", "Received over PCIe by the GPU, over 20 ms.", 1,
			func(g *monitor.GPU) *float64 { return g.PCIeRxBps }),
		counter("lacuna_gpu_nvlink_transmit_bytes_total", "Data sent over all NVLinks.",
			func(g *monitor.GPU) *float64 { return g.NVLinkTx }),
		counter("lacuna_gpu_nvlink_receive_bytes_total", "Data received over all NVLinks.",
			func(g *monitor.GPU) *float64 { return g.NVLinkRx }),
		{"lacuna_gpu_process_memory_bytes", "gauge", "Device memory that a process uses.",
			func(g *monitor.GPU, add func(float64, ...string)) {
				for _, p := range g.Processes {
					if p.MemoryBytes != nil {
						add(*p.MemoryBytes, "pid", strconv.Itoa(p.PID), "process", p.Name)
					}
				}
			}},
	}
}

func oneIf(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}

// throttleSamples is a 0 or 1 for every reason that the library knows, so that a series does not come and go.
func throttleSamples(g *monitor.GPU, add func(float64, ...string)) {
	if g.Throttle == nil {
		return
	}
	slug := strings.NewReplacer(" ", "_", "(", "", ")", "")
	for bit := nvml.Idle << 1; bit <= nvml.DisplayClocks; bit <<= 1 {
		add(oneIf(g.Reasons&bit != 0), "reason", slug.Replace(bit.Names()[0]))
	}
}

// MonitorPrometheus writes the state of all GPUs in Prometheus' text format, version 0.0.4.
func MonitorPrometheus(w io.Writer, s *monitor.Snapshot) error {
	var err error
	print := func(format string, args ...any) {
		if err == nil {
			_, err = fmt.Fprintf(w, format, args...)
		}
	}
	for _, f := range monitorMetrics() {
		begun := false
		for i := range s.GPUs {
			g := &s.GPUs[i]
			f.samples(g, func(v float64, labels ...string) {
				if !begun {
					print("# HELP %s %s\n# TYPE %s %s\n", f.name, f.help, f.name, f.kind)
					begun = true
				}
				labels = append([]string{"gpu", strconv.Itoa(g.Index), "uuid", g.UUID}, labels...)
				print("%s{%s} %s\n", f.name, metricLabels(labels), strconv.FormatFloat(v, 'g', -1, 64))
			})
		}
	}
	return err
}

// metricLabels is names and values in turn as Prometheus writes them.
func metricLabels(of []string) string {
	escape := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)
	var words []string
	for i := 0; i+1 < len(of); i += 2 {
		words = append(words, of[i]+`="`+escape.Replace(strings.ToValidUTF8(of[i+1], "?"))+`"`)
	}
	return strings.Join(words, ",")
}
