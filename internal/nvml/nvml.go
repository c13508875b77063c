// Package nvml asks NVIDIA's management library for the state of the GPUs: clocks, power, temperature, why the
// clocks are held down, who computes. The library comes with the driver and is loaded when it is asked for;
// where there is none, Open says so and the program goes on without.
package nvml

import "strings"

// A Library answers for the GPUs of this machine.
type Library interface {
	// Driver is the version of the driver: "580.159.04".
	Driver() string
	// Devices is the machine's GPUs in the library's order, which is that of nvidia-smi.
	Devices() []Device
	// Sample is the state of a device now. What the device cannot tell is 0 or nil.
	Sample(device int) (Sample, error)
	// Close unloads nothing but ends the session.
	Close() error
}

// A Device is a GPU.
type Device struct {
	Name         string // "NVIDIA H200"
	UUID         string // "GPU-..."
	PCI          string // "00000000:03:00.0"
	MaxSMMHz     int    // the highest clocks; 0: not told
	MaxMemoryMHz int
}

// A Sample is the state of a device at one moment.
type Sample struct {
	SMMHz, MemoryMHz int
	PowerW           float64
	TemperatureC     int
	BusyPct          int   // of the library's last sampling period (1/6 to 1 s), in which a kernel ran
	MemoryUsed       int64 // bytes
	Reasons          Reasons
	Processes        []int // that compute on it, by ID; in a container often none, or IDs of the host
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

var reasonNames = [...]string{"idle", "clocks set by an application", "power cap", "hardware slowdown", "sync boost", "heat", "heat (hardware)", "power brake", "display clocks"}

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
