package kernelreport

import (
	"fmt"
	"slices"

	"lacuna/internal/kernel/profile"
)

// devices is the GPUs that kernels ran on.
type devices struct {
	used []Device
	seen []deviceKey
}

type deviceKey struct {
	report *profile.Report
	id     int
}

func newDevices([]*profile.Report) *devices { return &devices{} }

// use adds a device unless one just like it is there already.
func (d *devices) use(p *profile.Report, id int) {
	key := deviceKey{p, id}
	if slices.Contains(d.seen, key) {
		return
	}
	d.seen = append(d.seen, key)
	at := slices.IndexFunc(p.Session.Devices, func(x profile.Device) bool { return x.ID == id })
	if at < 0 {
		return
	}
	x := deviceOf(&p.Session.Devices[at])
	if !slices.ContainsFunc(d.used, func(y Device) bool { return sameKind(x, y) }) {
		d.used = append(d.used, x)
	}
}

// sameKind says whether two devices are alike in all but their number.
func sameKind(a, b Device) bool {
	a.ID = b.ID
	return a == b
}

// deviceOf describes a device by its attributes, as cudaDeviceGetAttribute has them.
func deviceOf(x *profile.Device) Device {
	out := Device{ID: x.ID, Name: x.Name}
	number := func(name string) float64 {
		for _, a := range x.Attributes {
			if a.Name == name {
				if v, ok := a.Value.Number(); ok {
					return v
				}
			}
		}
		return 0
	}
	if major := number("compute_capability_major"); major > 0 {
		out.ComputeCapability = fmt.Sprintf("%.0f.%.0f", major, number("compute_capability_minor"))
	}
	out.SMs = int(number("multiprocessor_count"))
	out.ClockGHz = number("clock_rate") / 1e6 // kHz
	// DDR moves two words a clock; the rate is in kHz, the bus in bits.
	out.MemoryGBs = 2 * number("memory_clock_rate") * number("global_memory_bus_width") / 8 / 1e6
	out.L2Bytes = number("l2_cache_size")
	out.MemoryBytes = number("total_memory")
	return out
}
