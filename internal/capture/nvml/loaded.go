//go:build linux && !static && (amd64 || arm64)

package nvml

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
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
	mpsProcesses  func(device uintptr, n *uint32, list *processInfo) int32
	powerLimit    func(device uintptr, mw *uint32) int32
	pcie          func(device uintptr, counter int32, kBps *uint32) int32
	fields        func(device uintptr, n int32, values *fieldValue) int32
	capability    func(device uintptr, major, minor *int32) int32
	mig           func(device uintptr, current, pending *uint32) int32
	cudaVersion   func(version *int32) int32
	confidential  func(state *[3]uint32) int32

	driver  string
	system  System
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

	pcieTx, pcieRx = 0, 1

	nvlinkTx = 138 // KiB of data, without protocol
	nvlinkRx = 139
	allLinks = 1<<32 - 1
	maxLinks = 18

	notSupported = 3 // the error of what a device does not tell

	typeUnsignedLong = 2 // of a field's value
	typeUnsigned64   = 3
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
	used uint64 // bytes; all bits set: not told
	_, _ uint32 // of a GPU that is split
}

// fieldValue is nvmlFieldValue_t.
type fieldValue struct {
	id, scope uint32
	_, _      int64 // when it was taken, and how long that took, µs
	kind      uint32
	code      int32
	value     uint64
}

// describe reads what does not change.
func (l *loaded) describe() {
	l.driver = read(func(text *byte, size uint32) int32 { return l.driverVersion(text, size) })
	var version int32
	if l.cudaVersion != nil && l.cudaVersion(&version) == 0 {
		l.system.CUDA = int(version)
	}
	var state [3]uint32 // environment, feature, tools
	l.system.Confidential = l.confidential != nil && l.confidential(&state) == 0 && state[1] != 0 && state[2] == 0
	var n uint32
	if l.count(&n) != 0 {
		return
	}
	for i := range min(n, maxDevices) {
		var h uintptr
		if l.handleOf(i, &h) != 0 {
			break // positions must stay those of the library
		}
		d := Device{Name: read(func(t *byte, size uint32) int32 { return l.name(h, t, size) }),
			UUID: read(func(t *byte, size uint32) int32 { return l.uuid(h, t, size) })}
		var at pciInfo
		if l.pci != nil && l.pci(h, &at) == 0 {
			d.PCI = text(at.id[:])
		}
		d.MaxSMMHz, d.MaxMemoryMHz = mhz(l.maxClock, h, clockSM), mhz(l.maxClock, h, clockMemory)
		l.describeDevice(h, &d)
		l.handles, l.devices = append(l.handles, h), append(l.devices, d)
	}
}

func (l *loaded) describeDevice(h uintptr, d *Device) {
	var memory [3]uint64 // total, free, used
	if l.memory != nil && l.memory(h, &memory) == 0 {
		d.MemoryTotal = int64(memory[0])
	}
	var major, minor int32
	if l.capability != nil && l.capability(h, &major, &minor) == 0 {
		d.Major, d.Minor = int(major), int(minor)
	}
	var mig, pending uint32
	d.MIG = l.mig != nil && l.mig(h, &mig, &pending) == 0 && mig == 1
}

func (l *loaded) Driver() string    { return l.driver }
func (l *loaded) System() System    { return l.system }
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
	if code := l.clock(h, clockSM, &clock); code != 0 && code != notSupported {
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
	if l.powerLimit != nil && l.powerLimit(h, &word) == 0 {
		s.PowerLimitW = float64(word) / 1000
	}
	var rates [2]uint32
	if l.utilization != nil && l.utilization(h, &rates) == 0 {
		s.BusyPct, s.MemoryBusyPct = int(rates[0]), int(rates[1])
		s.Told |= ToldBusy
	}
	var memory [3]uint64 // total, free, used
	if l.memory != nil && l.memory(h, &memory) == 0 {
		s.MemoryUsed = int64(memory[2])
		s.Told |= ToldMemory
	}
	var bits uint64
	if l.reasons != nil && l.reasons(h, &bits) == 0 {
		s.Reasons = Reasons(bits)
		s.Told |= ToldReasons
	}
	var ok bool
	if s.NVLinkTx, s.NVLinkRx, ok = l.nvlink(h); ok {
		s.Told |= ToldNVLink
	}
	if s.Processes, ok = l.computing(h); ok {
		s.Told |= ToldProcesses
	}
	return s, nil
}

func (l *loaded) PCIe(device int) (PCIe, error) {
	if device < 0 || device >= len(l.handles) {
		return PCIe{}, fmt.Errorf("GPU %d: the machine has %d", device, len(l.handles))
	}
	if l.pcie == nil {
		return PCIe{}, fmt.Errorf("GPU %d: the driver does not tell PCIe traffic", device)
	}
	var kBps [2]uint32
	for _, counter := range [...]int32{pcieTx, pcieRx} {
		if code := l.pcie(l.handles[device], counter, &kBps[counter]); code != 0 {
			return PCIe{}, fmt.Errorf("GPU %d: %s", device, l.text(code))
		}
	}
	return PCIe{TxBps: 1000 * int64(kBps[pcieTx]), RxBps: 1000 * int64(kBps[pcieRx])}, nil
}

// nvlink is the bytes that all of a device's links have carried. Drivers that have no sum of the links are asked
// for each; a link that is not there or is down does not answer.
func (l *loaded) nvlink(h uintptr) (tx, rx int64, ok bool) {
	if l.fields == nil {
		return 0, 0, false
	}
	sums := [...]fieldValue{{id: nvlinkTx, scope: allLinks}, {id: nvlinkRx, scope: allLinks}}
	if l.fields(h, int32(len(sums)), &sums[0]) == 0 && sums[0].told() && sums[1].told() {
		return int64(sums[0].value) << 10, int64(sums[1].value) << 10, true
	}
	var links [2 * maxLinks]fieldValue
	for i := range links {
		links[i].id, links[i].scope = nvlinkTx+uint32(i%2), uint32(i/2)
	}
	if l.fields(h, int32(len(links)), &links[0]) != 0 {
		return 0, 0, false
	}
	for i := 0; i < len(links); i += 2 {
		if links[i].told() && links[i+1].told() {
			tx, rx, ok = tx+int64(links[i].value)<<10, rx+int64(links[i+1].value)<<10, true
		}
	}
	return tx, rx, ok
}

func (f *fieldValue) told() bool {
	return f.code == 0 && (f.kind == typeUnsignedLong || f.kind == typeUnsigned64)
}

// computing is the processes that have a context on a device, directly or as clients of MPS, by ID.
func (l *loaded) computing(h uintptr) (out []Process, ok bool) {
	for _, ask := range [...]func(uintptr, *uint32, *processInfo) int32{l.processes, l.mpsProcesses} {
		var list [maxProcesses]processInfo
		n := uint32(len(list))
		if ask == nil || ask(h, &n, &list[0]) != 0 {
			continue // more than maxProcesses, or not told
		}
		ok = true
		for _, p := range list[:min(n, maxProcesses)] {
			used := int64(-1)
			if p.used < 1<<62 {
				used = int64(p.used)
			}
			out = append(out, Process{int(p.pid), used})
		}
	}
	slices.SortFunc(out, func(a, b Process) int { return cmp.Compare(a.PID, b.PID) })
	return slices.CompactFunc(out, func(a, b Process) bool { return a.PID == b.PID }), ok
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
