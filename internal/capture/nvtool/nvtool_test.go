package nvtool

import (
	"fmt"
	"io/fs"
	"testing"
	"testing/fstest"
)

func TestFind(t *testing.T) {
	link := func(to string) *fstest.MapFile { return &fstest.MapFile{Mode: fs.ModeSymlink, Data: []byte(to)} }
	program := &fstest.MapFile{Mode: 0o755}
	for _, test := range []struct {
		name, tool string
		files      fstest.MapFS
		path       string
		onPath     string
		others     string
	}{
		{"nothing", "nsys", fstest.MapFS{"bin/ncu": program,
			"opt/nvidia/nsight-systems/2025.3.1/bin/nsys": {Mode: 0o644}}, "/bin", "", "[]"},
		{"the PATH first", "nsys", fstest.MapFS{"bin/nsys": program,
			"opt/nvidia/nsight-systems/2026.1.1/bin/nsys": program}, "/none:/bin", "/bin/nsys",
			"[/opt/nvidia/nsight-systems/2026.1.1/bin/nsys]"},
		{"folders that are not absolute", "nsys", fstest.MapFS{"bin/nsys": program}, "bin::.", "", "[]"},
		{"versions as numbers", "nsys", fstest.MapFS{"opt/nvidia/nsight-systems/2025.3.1/bin/nsys": program,
			"opt/nvidia/nsight-systems/2025.10.2/bin/nsys": program}, "", "",
			"[/opt/nvidia/nsight-systems/2025.10.2/bin/nsys /opt/nvidia/nsight-systems/2025.3.1/bin/nsys]"},
		{"one installation once", "nsys", fstest.MapFS{"opt/nvidia/nsight-systems/2025.3.1/bin/nsys": link(
			"../target-linux-x64/nsys"), "opt/nvidia/nsight-systems/2025.3.1/target-linux-x64/nsys": program,
			"usr/bin/nsys": link("../../opt/nvidia/nsight-systems/2025.3.1/bin/nsys")}, "/usr/bin", "/usr/bin/nsys",
			"[]"},
		{"the toolkit by two names", "ncu", fstest.MapFS{"usr/local/cuda": link("cuda-12.8"),
			"usr/local/cuda-12.8/bin/ncu": program, "opt/nvidia/nsight-compute/2025.3.1/ncu": program,
			"opt/nvidia/nsight-compute/2025.3.1/target/linux-desktop-glibc_2_11_3-x64/ncu": program}, "", "",
			"[/usr/local/cuda/bin/ncu /opt/nvidia/nsight-compute/2025.3.1/ncu]"},
		{"only the program behind the script", "ncu",
			fstest.MapFS{"opt/nvidia/nsight-compute/2025.3.1/target/linux-desktop-glibc_2_11_3-x64/ncu": program}, "",
			"",
			"[/opt/nvidia/nsight-compute/2025.3.1/target/linux-desktop-glibc_2_11_3-x64/ncu]"},
		{"two programs in folders without versions", "ncu",
			fstest.MapFS{"a/ncu": program, "usr/local/cuda/bin/ncu": program}, "/a", "/a/ncu",
			"[/usr/local/cuda/bin/ncu]"},
	} {
		onPath, others := Machine{Root: test.files, Path: test.path}.Find(test.tool)
		if onPath != test.onPath || fmt.Sprint(others) != test.others {
			t.Errorf("%s: %q and %v, want %q and %s", test.name, onPath, others, test.onPath, test.others)
		}
	}
}

func TestVersion(t *testing.T) {
	for said, want := range map[string]string{
		"NVIDIA Nsight Systems version 2025.3.2.474-253236389321v0\n":                                      "2025.3.2.474",
		"NVIDIA (R) Nsight Compute Command Line Profiler\nVersion 2025.3.1.0 (build 1) (public-release)\n": "2025.3.1.0",
		"Version 1": "", "": "", "no such version": "", "subversion 1.2": "",
	} {
		if got := Version(said); got != want {
			t.Errorf("%q: %q, want %q", said, got, want)
		}
	}
}
