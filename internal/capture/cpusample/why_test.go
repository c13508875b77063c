package cpusample

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
)

func TestReason(t *testing.T) {
	for _, test := range []struct {
		c       circumstances
		err     error
		why, do string
	}{
		{circumstances{paranoid: 4}, syscall.EACCES, "kernel.perf_event_paranoid is 4",
			"sysctl kernel.perf_event_paranoid=2"},
		{circumstances{paranoid: 3, seccomp: true}, syscall.EPERM, "kernel.perf_event_paranoid is 3", "sysctl"},
		{circumstances{paranoid: 2, seccomp: true}, syscall.EPERM, "seccomp", "--cap-add PERFMON"},
		{circumstances{paranoid: 4, seccomp: true, perfmon: true}, syscall.EPERM, "seccomp", "seccomp="},
		{circumstances{paranoid: 2}, syscall.EACCES, "the kernel forbids it", "your own user"},
		{circumstances{paranoid: 2, gvisor: true}, syscall.ENODEV, "gVisor", "--runtime=runc"},
		{circumstances{paranoid: unknownParanoid}, syscall.ENOSYS, "no perf events", "CONFIG_PERF_EVENTS"},
		{circumstances{paranoid: 2}, syscall.ENOENT, "no software clock", "CONFIG_PERF_EVENTS"},
		{circumstances{paranoid: 2, events: 40_000}, syscall.EMFILE, "40000 events", "ulimit -n 41024"},
		{circumstances{paranoid: 2}, syscall.EINVAL, "does not support", "4.8"},
		{circumstances{paranoid: 2}, syscall.ESRCH, "has ended", ""},
		{circumstances{paranoid: 2}, syscall.EIO, "input/output error", ""},
	} {
		e := test.c.reason(fmt.Errorf("wrapped: %w", test.err))
		if !strings.Contains(e.Why, test.why) || !strings.Contains(e.Fix, test.do) || test.do == "" && e.Fix != "" {
			t.Errorf("%+v, %v: %q, %q", test.c, test.err, e.Why, e.Fix)
		}
		if text := e.Error(); strings.HasSuffix(text, "; ") || !strings.HasPrefix(text, "sampling the CPU: ") {
			t.Error(text)
		}
	}
}

func TestCPUList(t *testing.T) {
	for list, want := range map[string]string{"0-3,8,10-11\n": "[0 1 2 3 8 10 11]", "0": "[0]", "": "[]",
		"x,3-1,-1,5-x": "[]", "0-999999999": "[]"} {
		if got := fmt.Sprint(cpuList(list)); got != want {
			t.Errorf("%q: %s, want %s", list, got, want)
		}
	}
}
