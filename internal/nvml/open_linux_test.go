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
		{"whole", "-DFAKE_INIT=0", "580.159.04 [{NVIDIA Fake GPU-aaaa-0 00000000:03:00.0 1980 3201} {NVIDIA Fake GPU-bbbb-1 00000000:03:00.0 1980 3201}]\n" +
			"{1650 3201 698.5 61 97 53687091200 36 [1 4242]} <nil>\n{1650 3201 698.5 61 0 53687091200 36 [1 4242]} <nil>\n{0 0 0 0 0 0 0 []} GPU 2: the machine has 2"},
		{"old", "-DFAKE_INIT=0 -DFAKE_OLD", "580.159.04 [{NVIDIA Fake GPU-aaaa-0 00000000:03:00.0 1980 3201} {NVIDIA Fake GPU-bbbb-1 00000000:03:00.0 1980 3201}]\n" +
			"{1650 3201 698.5 61 97 53687091200 4 [1 4242]} <nil>\n{1650 3201 698.5 61 0 53687091200 4 [1 4242]} <nil>\n{0 0 0 0 0 0 0 []} GPU 2: the machine has 2"},
		{"no driver loaded", "-DFAKE_INIT=9", "error: the NVIDIA driver does not answer: Driver Not Loaded (NVML error 9)"},
		{"not the library", "-DFAKE_INIT=0 -DnvmlDeviceGetName=other", "error: the NVIDIA driver is too old or broken: libnvidia-ml.so.1: it has no nvmlDeviceGetName"},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			if test.flags != "" {
				args := append(strings.Fields(test.flags), "-shared", "-fPIC", "-o", filepath.Join(dir, "libnvidia-ml.so.1"), "testdata/fake.c")
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
	fmt.Println(l.Driver(), l.Devices())
	for i := range 3 {
		fmt.Println(l.Sample(i))
	}
}

func TestLayouts(t *testing.T) {
	if got := reflect.TypeFor[pciInfo]().Size(); got != 68 {
		t.Errorf("pciInfo has %d bytes, nvmlPciInfo_t 68", got)
	}
	if got := reflect.TypeFor[processInfo]().Size(); got != 24 {
		t.Errorf("processInfo has %d bytes, nvmlProcessInfo_v2_t 24", got)
	}
}
