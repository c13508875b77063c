package writers

import (
	"encoding/csv"
	"encoding/json"
	"io"
	"strconv"
	"strings"
	"time"

	"lacuna/internal/capture/monitor"
)

// MonitorJSON writes the state of all GPUs as one object on one line.
func MonitorJSON(w io.Writer, s *monitor.Snapshot) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e.Encode(s)
}

// monitorCSV is the columns of MonitorCSV: the names are those of the JSON contract.
var monitorCSV = []struct {
	name string
	of   func(g *monitor.GPU) *float64
}{
	{"utilization_gpu_pct", func(g *monitor.GPU) *float64 { return g.UtilPct }},
	{"utilization_memory_pct", func(g *monitor.GPU) *float64 { return g.MemoryUtilPct }},
	{"memory_used_bytes", func(g *monitor.GPU) *float64 { return g.MemoryUsedBytes }},
	{"memory_total_bytes", func(g *monitor.GPU) *float64 { return g.MemoryTotalBytes }},
	{"clock_sm_mhz", func(g *monitor.GPU) *float64 { return g.SMClockMHz }},
	{"clock_max_sm_mhz", func(g *monitor.GPU) *float64 { return g.MaxSMClockMHz }},
	{"clock_memory_mhz", func(g *monitor.GPU) *float64 { return g.MemoryClockMHz }},
	{"clock_max_memory_mhz", func(g *monitor.GPU) *float64 { return g.MaxMemoryClockMHz }},
	{"power_w", func(g *monitor.GPU) *float64 { return g.PowerW }},
	{"power_limit_w", func(g *monitor.GPU) *float64 { return g.PowerLimitW }},
	{"temperature_c", func(g *monitor.GPU) *float64 { return g.TemperatureC }},
	{"pcie_tx_bytes_per_s", func(g *monitor.GPU) *float64 { return g.PCIeTxBps }},
	{"pcie_rx_bytes_per_s", func(g *monitor.GPU) *float64 { return g.PCIeRxBps }},
	{"nvlink_tx_bytes_per_s", func(g *monitor.GPU) *float64 { return g.NVLinkTxBps }},
	{"nvlink_rx_bytes_per_s", func(g *monitor.GPU) *float64 { return g.NVLinkRxBps }},
}

// MonitorCSV writes a row for each GPU, after a header if asked; a cell that is empty was not reported.
func MonitorCSV(w io.Writer, s *monitor.Snapshot, header bool) error {
	out := csv.NewWriter(w)
	if header {
		names := []string{"time", "host", "index", "uuid", "name"}
		for _, c := range monitorCSV {
			names = append(names, c.name)
		}
		_ = out.Write(append(names, "throttle", "processes", "error")) // Flush's error is reported
	}
	for i := range s.GPUs {
		g := &s.GPUs[i]
		row := []string{s.Time.Format(time.RFC3339Nano), s.Host, strconv.Itoa(g.Index), g.UUID, g.Name}
		for _, c := range monitorCSV {
			cell := ""
			if v := c.of(g); v != nil {
				cell = strconv.FormatFloat(*v, 'f', -1, 64)
			}
			row = append(row, cell)
		}
		processes := ""
		if g.Processes != nil {
			processes = strconv.Itoa(len(g.Processes))
		}
		_ = out.Write(append(row, strings.Join(g.Throttle, "; "), processes, g.Error))
	}
	out.Flush()
	return out.Error()
}
