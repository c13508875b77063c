//go:build linux && !static && (amd64 || arm64)

package nvml

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// The library is found through LD_LIBRARY_PATH, which the loader reads once: each case is a process of its own.
func TestOpen(t *testing.T) {
	if os.Getenv("NVML_TEST_CHILD") != "" {
		tell()
		return
	}
	cc, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("no C compiler: the stand-in for the driver's library cannot be built")
	}
	for _, test := range []struct{ name, flags, want string }{
		{"none", "", "error: no NVIDIA driver here: libnvidia-ml.so.1 is not found"},
		{"whole", "-DFAKE_INIT=0", `580.159.04 {CUDA:13000 Confidential:true}
{Name:NVIDIA Fake UUID:GPU-aaaa-0 PCI:00000000:03:00.0 MaxSMMHz:1980 MaxMemoryMHz:3201 MemoryTotal:161061273600 Major:9 Minor:0 MIG:false}
{SMMHz:1650 MemoryMHz:3201 PowerW:698.5 PowerLimitW:700 TemperatureC:61 BusyPct:97 MemoryBusyPct:40 MemoryUsed:53687091200 Reasons:36 NVLinkTx:1048576 NVLinkRx:2097152 Processes:[{PID:1 MemoryUsed:-1} {PID:4242 MemoryUsed:21474836480}] Told:31} <nil>
{TxBps:50000000 RxBps:2000000000} <nil>
{Name:NVIDIA Fake UUID:GPU-bbbb-1 PCI:00000000:03:00.0 MaxSMMHz:1980 MaxMemoryMHz:3201 MemoryTotal:161061273600 Major:9 Minor:0 MIG:true}
{SMMHz:1650 MemoryMHz:3201 PowerW:698.5 PowerLimitW:700 TemperatureC:61 BusyPct:0 MemoryBusyPct:0 MemoryUsed:53687091200 Reasons:36 NVLinkTx:30720 NVLinkRx:33792 Processes:[{PID:1 MemoryUsed:-1} {PID:77 MemoryUsed:1048576} {PID:4242 MemoryUsed:21474836480}] Told:30} <nil>
{TxBps:0 RxBps:0} GPU 1: Unknown Error (NVML error 3)
GPU 2: the machine has 2, GPU 2: the machine has 2`},
		{"old", "-DFAKE_INIT=0 -DFAKE_OLD", `580.159.04 {CUDA:0 Confidential:false}
{Name:NVIDIA Fake UUID:GPU-aaaa-0 PCI:00000000:03:00.0 MaxSMMHz:1980 MaxMemoryMHz:3201 MemoryTotal:161061273600 Major:0 Minor:0 MIG:false}
{SMMHz:1650 MemoryMHz:3201 PowerW:698.5 PowerLimitW:0 TemperatureC:61 BusyPct:97 MemoryBusyPct:40 MemoryUsed:53687091200 Reasons:4 NVLinkTx:0 NVLinkRx:0 Processes:[{PID:1 MemoryUsed:-1} {PID:4242 MemoryUsed:21474836480}] Told:23} <nil>
{TxBps:0 RxBps:0} GPU 0: the driver does not tell PCIe traffic
{Name:NVIDIA Fake UUID:GPU-bbbb-1 PCI:00000000:03:00.0 MaxSMMHz:1980 MaxMemoryMHz:3201 MemoryTotal:161061273600 Major:0 Minor:0 MIG:false}
{SMMHz:1650 MemoryMHz:3201 PowerW:698.5 PowerLimitW:0 TemperatureC:61 BusyPct:0 MemoryBusyPct:0 MemoryUsed:53687091200 Reasons:4 NVLinkTx:0 NVLinkRx:0 Processes:[{PID:1 MemoryUsed:-1} {PID:4242 MemoryUsed:21474836480}] Told:22} <nil>
{TxBps:0 RxBps:0} GPU 1: the driver does not tell PCIe traffic
GPU 2: the machine has 2, GPU 2: the machine has 2`},
		{"no driver loaded", "-DFAKE_INIT=9", "error: the NVIDIA driver does not answer: Driver Not Loaded (NVML " +
			"error 9)"},
		{"not the library", "-DFAKE_INIT=0 -DnvmlDeviceGetName=other",
			"error: the NVIDIA driver is too old or broken: libnvidia-ml.so.1: it has no nvmlDeviceGetName"},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			if test.flags != "" {
				args := append(strings.Fields(test.flags), "-shared", "-fPIC", "-o",
					filepath.Join(dir, "libnvidia-ml.so.1"), "testdata/fake.c")
				if out, err := exec.Command(cc, args...).CombinedOutput(); err != nil {
					t.Fatalf("%v\n%s", err, out)
				}
			} else if l, err := Open(); err == nil {
				l.Close()
				t.Skip("this machine has a driver")
			}
			child := exec.Command(os.Args[0], "-test.run=^TestOpen$")
			child.Env = append(os.Environ(), "NVML_TEST_CHILD=1", "LD_LIBRARY_PATH="+dir)
			out, err := child.Output()
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.TrimSuffix(string(out), "\nPASS\n"); got != test.want {
				t.Errorf("got\n%s\nwant\n%s", got, test.want)
			}
		})
	}
}

func tell() {
	l, err := Open()
	if err != nil {
		fmt.Println("error:", err)
		return
	}
	defer l.Close()
	fmt.Printf("%s %+v\n", l.Driver(), l.System())
	for i, d := range l.Devices() {
		sample, err := l.Sample(i)
		pcie, perr := l.PCIe(i)
		fmt.Printf("%+v\n%+v %v\n%+v %v\n", d, sample, err, pcie, perr)
	}
	_, err = l.Sample(2)
	_, perr := l.PCIe(2)
	fmt.Printf("%v, %v\n", err, perr)
}

func TestLayouts(t *testing.T) {
	if got := reflect.TypeFor[pciInfo]().Size(); got != 68 {
		t.Errorf("pciInfo has %d bytes, nvmlPciInfo_t 68", got)
	}
	if got := reflect.TypeFor[processInfo]().Size(); got != 24 {
		t.Errorf("processInfo has %d bytes, nvmlProcessInfo_v2_t 24", got)
	}
	if got := reflect.TypeFor[fieldValue]().Size(); got != 40 {
		t.Errorf("fieldValue has %d bytes, nvmlFieldValue_t 40", got)
	}
}
