// Package monitor reads the state of all GPUs, again and again: what the driver's management library tells, traffic
// as rates, processes by name. What a device does not tell is absent, not zero.
package monitor

import (
	"errors"
	"os"
	"sync"
	"time"

	"lacuna/internal/capture/nvml"
)

// A Snapshot is the state of all GPUs at one moment, in the JSON contract (schema 1).
type Snapshot struct {
	Schema int       `json:"schema"`
	Time   time.Time `json:"time"` // UTC
	Host   string    `json:"host"`
	Driver string    `json:"driver"`
	GPUs   []GPU     `json:"gpus"`
	Error  string    `json:"error"` // why there are none; "": there are
}

// A GPU is the state of one. nil: the device does not tell.
type GPU struct {
	Index int    `json:"index"` // NVML's, which is nvidia-smi's
	Name  string `json:"name"`
	UUID  string `json:"uuid"`
	PCI   string `json:"pci"`
	// it is split into instances: the driver does not tell how busy it is
	MIG bool `json:"mig"`
	// of the driver's last period (1/6 to 1 s), in which a kernel ran
	UtilPct *float64 `json:"utilization_gpu_pct"`
	// of the same, in which device memory was read or written
	MemoryUtilPct     *float64 `json:"utilization_memory_pct"`
	MemoryUsedBytes   *float64 `json:"memory_used_bytes"`
	MemoryTotalBytes  *float64 `json:"memory_total_bytes"`
	SMClockMHz        *float64 `json:"clock_sm_mhz"`
	MaxSMClockMHz     *float64 `json:"clock_max_sm_mhz"`
	MemoryClockMHz    *float64 `json:"clock_memory_mhz"`
	MaxMemoryClockMHz *float64 `json:"clock_max_memory_mhz"`
	PowerW            *float64 `json:"power_w"`
	PowerLimitW       *float64 `json:"power_limit_w"` // enforced
	TemperatureC      *float64 `json:"temperature_c"`
	Throttle          []string `json:"throttle"` // what holds the clocks down; null: not told
	PCIeTxBps         *float64 `json:"pcie_tx_bytes_per_s"`
	PCIeRxBps         *float64 `json:"pcie_rx_bytes_per_s"` // over 20 ms
	NVLinkTxBps       *float64 `json:"nvlink_tx_bytes_per_s"`
	// all links, data without protocol, since the last reading
	NVLinkRxBps *float64  `json:"nvlink_rx_bytes_per_s"`
	Processes   []Process `json:"processes"` // that compute on it; null: not told
	// why it could not be read; then all else but its name is absent
	Error string `json:"error"`

	Reasons  nvml.Reasons `json:"-"` // Throttle as bits
	NVLinkTx *float64     `json:"-"` // bytes since some moment
	NVLinkRx *float64     `json:"-"`
}

// A Process computes on a GPU.
type Process struct {
	PID         int      `json:"pid"`
	Name        string   `json:"name"` // "": not known, such as one of the host seen from a container
	MemoryBytes *float64 `json:"memory_bytes"`
}

// ErrNoGPU is that of a driver that sees no GPU.
var ErrNoGPU = errors.New("the NVIDIA driver sees no GPU; lacuna doctor says why")

// A Monitor reads the GPUs of a library. It is for one goroutine at a time.
type Monitor struct {
	library nvml.Library
	host    string
	now     func() time.Time
	pause   func(time.Duration)
	name    func(pid int) string
	last    []traffic
}

// traffic is the counters of a device's NVLinks at some moment.
type traffic struct {
	at     time.Time // zero: not read yet
	tx, rx int64
}

// firstWindow is over how long traffic is measured when there is no earlier reading.
const firstWindow = 100 * time.Millisecond

// leastWindow is the time below which a difference of counters is no rate.
const leastWindow = 10 * time.Millisecond

// New watches the GPUs of a library, which stays the caller's to close.
func New(library nvml.Library) (*Monitor, error) {
	n := len(library.Devices())
	if n == 0 {
		return nil, ErrNoGPU
	}
	host, _ := os.Hostname()
	return &Monitor{library: library, host: host, now: time.Now, pause: time.Sleep, name: processName,
		last: make([]traffic, n)}, nil
}

// Nothing is the snapshot of a machine on which nothing can be read.
func Nothing(now time.Time, why error) *Snapshot {
	host, _ := os.Hostname()
	return &Snapshot{Schema: 1, Time: now.UTC().Truncate(time.Millisecond), Host: host, GPUs: []GPU{},
		Error: why.Error()}
}

// Read takes the state of all GPUs, all at once: measuring PCIe traffic takes 40 ms each.
func (m *Monitor) Read() *Snapshot {
	s := &Snapshot{Schema: 1, Time: m.now().UTC().Truncate(time.Millisecond), Host: m.host, Driver: m.library.Driver(),
		GPUs: make([]GPU, len(m.last))}
	var all sync.WaitGroup
	for i := range s.GPUs {
		all.Go(func() { m.readGPU(i, &s.GPUs[i]) })
	}
	all.Wait()
	return s
}

func (m *Monitor) readGPU(i int, g *GPU) {
	d := m.library.Devices()[i]
	*g = GPU{Index: i, Name: d.Name, UUID: d.UUID, PCI: d.PCI, MIG: d.MIG}
	now, err := m.library.Sample(i)
	at := m.now()
	if err != nil {
		g.Error = err.Error()
		m.last[i] = traffic{}
		return
	}
	if pcie, err := m.library.PCIe(i); err == nil {
		g.PCIeTxBps, g.PCIeRxBps = some(pcie.TxBps), some(pcie.RxBps)
	}
	if now.Told&nvml.ToldNVLink != 0 && m.last[i].at.IsZero() {
		m.last[i] = traffic{at, now.NVLinkTx, now.NVLinkRx}
		m.pause(max(0, firstWindow-m.now().Sub(at)))
		if now, err = m.library.Sample(i); err != nil {
			g.Error = err.Error()
			return
		}
		at = m.now()
	}
	g.take(&d, &now)
	m.rate(i, g, &now, at)
	if now.Told&nvml.ToldProcesses != 0 {
		g.Processes = m.processes(now.Processes)
	}
}

// processes gives processes their names; the list is never nil.
func (m *Monitor) processes(of []nvml.Process) []Process {
	out := []Process{}
	for _, p := range of {
		x := Process{PID: p.PID, Name: m.name(p.PID)}
		if p.MemoryUsed >= 0 {
			x.MemoryBytes = some(p.MemoryUsed)
		}
		out = append(out, x)
	}
	return out
}

// take fills in what a sample tells.
func (g *GPU) take(d *nvml.Device, s *nvml.Sample) {
	if s.Told&nvml.ToldBusy != 0 && !d.MIG {
		g.UtilPct, g.MemoryUtilPct = some(s.BusyPct), some(s.MemoryBusyPct)
	}
	if s.Told&nvml.ToldMemory != 0 {
		g.MemoryUsedBytes = some(s.MemoryUsed)
	}
	if s.Told&nvml.ToldReasons != 0 {
		g.Reasons, g.Throttle = s.Reasons, append([]string{}, s.Reasons.Names()...)
	}
	g.MemoryTotalBytes = unlessZero(d.MemoryTotal)
	g.SMClockMHz, g.MaxSMClockMHz = unlessZero(s.SMMHz), unlessZero(d.MaxSMMHz)
	g.MemoryClockMHz, g.MaxMemoryClockMHz = unlessZero(s.MemoryMHz), unlessZero(d.MaxMemoryMHz)
	g.PowerW, g.PowerLimitW = unlessZero(s.PowerW), unlessZero(s.PowerLimitW)
	g.TemperatureC = unlessZero(s.TemperatureC)
}

// rate turns NVLink's counters into rates since the last reading. Counters that went back began anew: no rate then.
func (m *Monitor) rate(i int, g *GPU, s *nvml.Sample, at time.Time) {
	if s.Told&nvml.ToldNVLink == 0 {
		return
	}
	g.NVLinkTx, g.NVLinkRx = some(s.NVLinkTx), some(s.NVLinkRx)
	was := m.last[i]
	m.last[i] = traffic{at, s.NVLinkTx, s.NVLinkRx}
	seconds := at.Sub(was.at).Seconds()
	if was.at.IsZero() || seconds < leastWindow.Seconds() || s.NVLinkTx < was.tx || s.NVLinkRx < was.rx {
		return
	}
	g.NVLinkTxBps, g.NVLinkRxBps = some(float64(s.NVLinkTx-was.tx)/seconds), some(float64(s.NVLinkRx-was.rx)/seconds)
}

type number interface{ ~int | ~int64 | ~float64 }

func some[T number](v T) *float64 {
	f := float64(v)
	return &f
}

// unlessZero is a value of which 0 means that it is not told.
func unlessZero[T number](v T) *float64 {
	if v == 0 {
		return nil
	}
	return some(v)
}
