// Package nvml asks NVIDIA's management library for the state of the GPUs: clocks, power, temperature, why the
// clocks are held down, who computes. The library comes with the driver and is loaded when it is asked for;
// where there is none, Open says so and the program goes on without.
package nvml

import "strings"

// A Library answers for the GPUs of this machine.
type Library interface {
	// Driver is the version of the driver: "580.159.04".
	Driver() string
	// System is what the library tells of the machine as a whole.
	System() System
	// Devices is the machine's GPUs in the library's order, which is that of nvidia-smi.
	Devices() []Device
	// Sample is the state of a device now. What the device cannot tell is 0 or nil.
	Sample(device int) (Sample, error)
	// PCIe measures the traffic of a device's PCIe link. It takes some 40 ms, in which the library counts bytes.
	PCIe(device int) (PCIe, error)
	// Close unloads nothing but ends the session.
	Close() error
}

// A System is what the library tells of the machine as a whole.
type System struct {
	CUDA         int  // the newest CUDA that the driver runs, 1000*major + 10*minor; 0: not told
	Confidential bool // confidential computing is on, without its mode for tools
}

// A Device is a GPU.
type Device struct {
	Name         string // "NVIDIA H200"
	UUID         string // "GPU-..."
	PCI          string // "00000000:03:00.0"
	MaxSMMHz     int    // the highest clocks; 0: not told
	MaxMemoryMHz int
	MemoryTotal  int64 // bytes; 0: not told
	Major, Minor int   // compute capability; 0: not told
	MIG          bool  // it is split into instances (multi-instance GPU)
}

// A Sample is the state of a device at one moment.
type Sample struct {
	SMMHz, MemoryMHz int
	PowerW           float64
	PowerLimitW      float64 // what the driver holds the power to; 0: not told
	TemperatureC     int
	BusyPct          int   // of the library's last sampling period (1/6 to 1 s), in which a kernel ran
	MemoryBusyPct    int   // of the same period, in which device memory was read or written
	MemoryUsed       int64 // bytes
	Reasons          Reasons
	NVLinkTx         int64     // bytes of data sent over all NVLinks since some moment; only differences mean something
	NVLinkRx         int64     // the same, received
	Processes        []Process // that compute on it; in a container often none, or with IDs of the host
	Told             Told
}

// Told is which values of a sample the device told: of these 0 is a value.
type Told uint8

// The values that may be 0 and told.
const (
	ToldBusy Told = 1 << iota // BusyPct and MemoryBusyPct
	ToldMemory
	ToldReasons
	ToldNVLink
	ToldProcesses
)

// A Process computes on a device.
type Process struct {
	PID        int
	MemoryUsed int64 // bytes; -1: not told
}

// A PCIe is the traffic of a device's PCIe link over the last 20 ms.
type PCIe struct {
	TxBps, RxBps int64 // bytes a second that the device sends and receives
}

// Reasons is why clocks are lower than they could be, as the bits of nvmlClocksEventReasons.
type Reasons uint64

// The reasons that the library knows (nvml.h of CUDA 13).
const (
	Idle Reasons = 1 << iota
	ApplicationClocks
	PowerCap
	HardwareSlowdown
	SyncBoost
	ThermalSlowdown
	HardwareThermal
	PowerBrake
	DisplayClocks
)

var reasonNames = [...]string{"idle", "clocks set by an application", "power cap", "hardware slowdown", "sync boost",
	"heat", "heat (hardware)", "power brake", "display clocks"}

// Names is the reasons in words, without idle: an idle GPU is not held down.
func (r Reasons) Names() (out []string) {
	for i, name := range reasonNames {
		if bit := Reasons(1) << i; bit != Idle && r&bit != 0 {
			out = append(out, name)
		}
	}
	return out
}

// Visible is which of the devices a program sees that runs with this value of CUDA_VISIBLE_DEVICES: positions or
// the beginnings of UUIDs, up to the first that is no device. set tells whether the variable is there at all.
func Visible(devices []Device, value string, set bool) (out []int) {
	if !set {
		for i := range devices {
			out = append(out, i)
		}
		return out
	}
	for word := range strings.SplitSeq(value, ",") {
		i := find(devices, strings.TrimSpace(word))
		if i < 0 {
			break
		}
		out = append(out, i)
	}
	return out
}

func find(devices []Device, word string) int {
	number, digits := 0, word != ""
	for _, c := range word {
		digits = digits && c >= '0' && c <= '9'
		number = min(number*10+int(c-'0'), 1<<20)
	}
	for i, d := range devices {
		if digits && i == number || !digits && len(word) > 4 && strings.HasPrefix(d.UUID, word) {
			return i
		}
	}
	return -1
}
