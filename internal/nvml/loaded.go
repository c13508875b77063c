//go:build linux && !static && (amd64 || arm64)

package nvml

import (
	"bytes"
	"fmt"
	"sync"
)

// A loaded is the driver's library: its functions with C's types as nvml.h declares them. A function that may be
// missing is nil then. Each returns 0, or an error's number.
type loaded struct {
	init          func() int32
	shutdown      func() int32
	errorString   func(code int32) string
	driverVersion func(text *byte, size uint32) int32
	count         func(n *uint32) int32
	handleOf      func(index uint32, device *uintptr) int32
	name          func(device uintptr, text *byte, size uint32) int32
	uuid          func(device uintptr, text *byte, size uint32) int32
	pci           func(device uintptr, info *pciInfo) int32
	clock         func(device uintptr, kind int32, mhz *uint32) int32
	maxClock      func(device uintptr, kind int32, mhz *uint32) int32
	power         func(device uintptr, mw *uint32) int32
	temperature   func(device uintptr, sensor int32, celsius *uint32) int32
	reasons       func(device uintptr, bits *uint64) int32
	utilization   func(device uintptr, rates *[2]uint32) int32
	memory        func(device uintptr, info *[3]uint64) int32
	processes     func(device uintptr, n *uint32, list *processInfo) int32

	driver  string
	handles []uintptr
	devices []Device
	closing sync.Once
}

// The numbers and layouts of nvml.h.
const (
	clockSM        = 1
	clockMemory    = 2
	sensorGPU      = 0
	maxDevices     = 64
	maxProcesses   = 256
	bytesOfAString = 96
)

// pciInfo is nvmlPciInfo_t.
type pciInfo struct {
	_  [16]byte  // the ID as older drivers wrote it
	_  [5]uint32 // domain, bus, device, IDs of device and subsystem
	id [32]byte
}

// processInfo is nvmlProcessInfo_v2_t.
type processInfo struct {
	pid  uint32
	_    uint64 // bytes in use
	_, _ uint32 // of a GPU that is split
}

// describe reads what does not change.
func (l *loaded) describe() {
	l.driver = read(func(text *byte, size uint32) int32 { return l.driverVersion(text, size) })
	var n uint32
	if l.count(&n) != 0 {
		return
	}
	for i := range min(n, maxDevices) {
		var h uintptr
		if l.handleOf(i, &h) != 0 {
			break // positions must stay those of the library
		}
		d := Device{Name: read(func(t *byte, size uint32) int32 { return l.name(h, t, size) }), UUID: read(func(t *byte, size uint32) int32 { return l.uuid(h, t, size) })}
		var at pciInfo
		if l.pci != nil && l.pci(h, &at) == 0 {
			d.PCI = text(at.id[:])
		}
		d.MaxSMMHz, d.MaxMemoryMHz = mhz(l.maxClock, h, clockSM), mhz(l.maxClock, h, clockMemory)
		l.handles, l.devices = append(l.handles, h), append(l.devices, d)
	}
}

func (l *loaded) Driver() string    { return l.driver }
func (l *loaded) Devices() []Device { return l.devices }

func (l *loaded) Close() error {
	l.closing.Do(func() { l.shutdown() })
	return nil
}

func (l *loaded) Sample(device int) (Sample, error) {
	if device < 0 || device >= len(l.handles) {
		return Sample{}, fmt.Errorf("GPU %d: the machine has %d", device, len(l.handles))
	}
	h := l.handles[device]
	var s Sample
	var clock uint32
	if code := l.clock(h, clockSM, &clock); code != 0 {
		return Sample{}, fmt.Errorf("GPU %d: %s", device, l.text(code))
	}
	s.SMMHz, s.MemoryMHz = int(clock), mhz(l.clock, h, clockMemory)
	var word uint32
	if l.power != nil && l.power(h, &word) == 0 {
		s.PowerW = float64(word) / 1000
	}
	if l.temperature != nil && l.temperature(h, sensorGPU, &word) == 0 {
		s.TemperatureC = int(word)
	}
	var rates [2]uint32
	if l.utilization != nil && l.utilization(h, &rates) == 0 {
		s.BusyPct = int(rates[0])
	}
	var memory [3]uint64 // total, free, used
	if l.memory != nil && l.memory(h, &memory) == 0 {
		s.MemoryUsed = int64(memory[2])
	}
	var bits uint64
	if l.reasons != nil && l.reasons(h, &bits) == 0 {
		s.Reasons = Reasons(bits)
	}
	s.Processes = l.computing(h)
	return s, nil
}

// computing is the IDs of the processes that have a context on a device.
func (l *loaded) computing(h uintptr) (out []int) {
	if l.processes == nil {
		return nil
	}
	var list [maxProcesses]processInfo
	n := uint32(len(list))
	if l.processes(h, &n, &list[0]) != 0 {
		return nil // more than maxProcesses, or not told
	}
	for _, p := range list[:min(n, maxProcesses)] {
		out = append(out, int(p.pid))
	}
	return out
}

func (l *loaded) text(code int32) string {
	return fmt.Sprintf("%s (NVML error %d)", l.errorString(code), code)
}

// mhz is a clock; 0: not told.
func mhz(f func(uintptr, int32, *uint32) int32, h uintptr, kind int32) int {
	var out uint32
	if f == nil || f(h, kind, &out) != 0 {
		return 0
	}
	return int(out)
}

// read is a string that the library writes; "": not told.
func read(f func(text *byte, size uint32) int32) string {
	var buffer [bytesOfAString]byte
	if f(&buffer[0], uint32(len(buffer))) != 0 {
		return ""
	}
	return text(buffer[:])
}

func text(b []byte) string {
	before, _, _ := bytes.Cut(b, []byte{0})
	return string(before)
}
