package cpusample

import (
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// explain puts an error of perf_event_open into words, after a look at what may be the cause.
func explain(err error, events int) error {
	c := here()
	c.events = events
	return c.reason(err)
}

// here is how things stand for this process.
func here() circumstances {
	return circumstances{
		paranoid: number("/proc/sys/kernel/perf_event_paranoid", unknownParanoid),
		perfmon:  hasPerfmon("/proc", os.Getpid()),
		seccomp:  statusField("/proc", os.Getpid(), "Seccomp") == "2",
		gvisor:   gvisor(),
	}
}

// gvisor says whether the kernel is gVisor's, which calls itself Linux 4.4.0 and leaves this in its log of the start.
func gvisor() bool {
	buf := make([]byte, 64<<10)
	n, err := unix.Klogctl(unix.SYSLOG_ACTION_READ_ALL, buf)
	return err == nil && strings.Contains(string(buf[:n]), "Starting gVisor")
}

// Check tries what sampling needs, on this process, and says what works. It takes no sample and leaves nothing open.
func Check() Report {
	c := here()
	r := Report{Perfmon: c.perfmon, Seccomp: c.seccomp, GVisor: c.gvisor,
		MaxHz: number("/proc/sys/kernel/perf_event_max_sample_rate", 0)}
	if c.paranoid != unknownParanoid {
		r.Paranoid = &c.paranoid
	}
	a, stats, limits, err := permitted(Options{Hz: DefaultHz, Switches: true})
	if err != nil {
		e := c.reason(err)
		r.Why, r.Fix = e.Why, e.Fix
		return r
	}
	r.Samples, r.Kernel, r.Switches = true, stats.Kernel, a.Bits&unix.PerfBitContextSwitch != 0
	if len(limits) > 0 {
		r.Why, r.Fix = limits[0].Why, limits[0].Fix
	}
	return r
}
