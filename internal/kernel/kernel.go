// Package kernel derives what is true of one kernel launch from its counters: speed of light, roofline,
// stalls, occupancy, memory traffic, instruction mix, hot source lines. It judges nothing; package
// kernelrules does. What was not collected is nil or unknown, never zero.
package kernel

import "lacuna/internal/kernel/profile"

// A Kernel is one launch and what follows from its counters, each part derived on first use.
// It is not safe for concurrent use.
type Kernel struct {
	Launch *profile.Launch

	occupancy derived[*Occupancy]
	stalls    derived[*Stalls]
	sol       derived[*SpeedOfLight]
	code      derived[*Code]
}

// derived is a part that is made once.
type derived[T any] struct {
	made bool
	part T
}

func (d *derived[T]) get(make func() T) T {
	if !d.made {
		d.part, d.made = make(), true
	}
	return d.part
}

// Of looks at a launch.
func Of(l *profile.Launch) *Kernel { return &Kernel{Launch: l} }

// Microseconds is how long the kernel ran under the profiler; false: not measured.
func (k *Kernel) Microseconds() (float64, bool) {
	ns, ok := k.number("gpu__time_duration.sum", "gpu__time_duration_measured_user.sum")
	return ns / 1000, ok
}
