package cpusample

import (
	"errors"
	"fmt"
	"syscall"
)

// An Error says why sampling is not possible, and what would make it so.
type Error struct {
	Why string
	Fix string // the command or setting that helps; "": nothing does
	err error
}

// Error is one sentence: why, then what to do.
func (e *Error) Error() string { return "sampling the CPU: " + e.sentence() }

func (e *Error) sentence() string {
	if e.Fix == "" {
		return e.Why
	}
	return e.Why + "; " + e.Fix
}

// Unwrap is the system's own error.
func (e *Error) Unwrap() error { return e.err }

// circumstances are what an error number alone does not say.
type circumstances struct {
	paranoid int // kernel.perf_event_paranoid; unknownParanoid: there is no such setting
	perfmon  bool
	seccomp  bool
	gvisor   bool
	events   int // how many events were asked for; 0: one
}

// unknownParanoid is the level where the kernel has no such file: perf events are not built in.
const unknownParanoid = -100

// reason puts the error of a perf_event_open into words. Where no more files can be opened, c knows nothing: that
// comes first.
func (c circumstances) reason(err error) *Error {
	e := &Error{err: err}
	switch {
	case is(err, syscall.EMFILE, syscall.ENFILE):
		e.Why = fmt.Sprintf("%d events are needed, one for each thread and CPU, and that many files may not be open",
			max(c.events, 1))
		e.Fix = fmt.Sprintf("ulimit -n %d, or start the program with lacuna record instead of attaching to it, "+
			"which needs one for each CPU", c.events+1024)
	case c.gvisor:
		e.Why = "this container runs on gVisor, which has no perf_event_open"
		e.Fix = "record on a machine or in a container that runs on Linux itself (docker run --runtime=runc)"
	case is(err, syscall.ENOSYS) || c.paranoid == unknownParanoid:
		e.Why = "this kernel has no perf events (perf_event_open is not there)"
		e.Fix = "a kernel with CONFIG_PERF_EVENTS is needed"
	case is(err, syscall.EPERM) && c.seccomp && (c.perfmon || c.paranoid <= 2):
		e.Why = "the container's seccomp filter forbids perf_event_open"
		e.Fix = "start it with docker run --cap-add PERFMON, or --security-opt seccomp=FILE where FILE allows " +
			"perf_event_open; in Kubernetes securityContext.capabilities.add: [PERFMON]"
	case is(err, syscall.EACCES, syscall.EPERM) && c.paranoid > 2:
		e.Why = fmt.Sprintf("kernel.perf_event_paranoid is %d, which forbids it to users without CAP_PERFMON",
			c.paranoid)
		e.Fix = "as root: sysctl kernel.perf_event_paranoid=2, or 1 to see time within the kernel too"
	case is(err, syscall.EACCES, syscall.EPERM):
		e.Why = fmt.Sprintf("the kernel forbids it (%v; kernel.perf_event_paranoid is %d)", err, c.paranoid)
		e.Fix = "sample processes of your own user only, or run as root or with CAP_PERFMON"
	case is(err, syscall.ENOENT, syscall.ENODEV, syscall.EOPNOTSUPP):
		e.Why = fmt.Sprintf("this system has no software clock to sample by (%v)", err)
		e.Fix = "a Linux kernel with CONFIG_PERF_EVENTS is needed"
	case is(err, syscall.EINVAL, syscall.E2BIG):
		e.Why = fmt.Sprintf("this kernel does not support the request (%v)", err)
		e.Fix = "Linux 4.8 or later is needed"
	case is(err, syscall.ESRCH):
		e.Why = "the process has ended"
	default:
		e.Why = fmt.Sprintf("perf_event_open: %v", err)
	}
	return e
}

// ringReason puts into words that a ring could not be mapped.
func ringReason(err error) *Error {
	return &Error{
		Why: fmt.Sprintf("the rings for samples cannot be mapped (%v): this user has locked as much memory as it may",
			err),
		Fix: "end other profilers of this user, or as root: sysctl kernel.perf_event_mlock_kb=4096, or ulimit -l " +
			"unlimited",
		err: errRing,
	}
}

// errRing is why a ring could not be mapped.
var errRing = errors.New("no room for a ring")

func is(err error, numbers ...syscall.Errno) bool {
	for _, n := range numbers {
		if errors.Is(err, n) {
			return true
		}
	}
	return false
}

// A Report is what sampling can do on this machine, for this user. Its keys are stable.
type Report struct {
	Samples  bool   `json:"samples"`  // user code can be sampled
	Kernel   bool   `json:"kernel"`   // time within the kernel too
	Switches bool   `json:"switches"` // context switches can be recorded
	Why      string `json:"why"`      // why not samples, or why not all; "" if all
	Fix      string `json:"fix"`      // what helps; "" if nothing is to be done
	Paranoid *int   `json:"paranoid"` // kernel.perf_event_paranoid; nil: the kernel has no such setting
	Perfmon  bool   `json:"perfmon"`  // CAP_PERFMON or CAP_SYS_ADMIN
	Seccomp  bool   `json:"seccomp"`  // a seccomp filter is on
	GVisor   bool   `json:"gvisor"`
	MaxHz    int    `json:"max_hz"` // kernel.perf_event_max_sample_rate; 0: not known
}
