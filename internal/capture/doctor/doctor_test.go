package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"golang.org/x/tools/txtar"

	"lacuna/internal/base/golden"
	"lacuna/internal/capture/cpusample"
	"lacuna/internal/capture/nvml"
	"lacuna/internal/capture/nvtool"
)

// A machine is described in lines: env NAME=VALUE; run WORDS => OUTPUT (\n for line ends); program PATH; link PATH ->
// TO; file PATH (its text follows, up to a line with a dot); nvml DRIVER CUDA [confidential]; nonvml WHY; gpu
// NAME|GIB|CAPABILITY[|mig]; cupti PATH VERSION (what loading it says); agent WORDS; noagent WHY; perf WHY|FIX; cores
// N; free MIB; purpose NAME; deep.
func machineOf(t *testing.T, text string) (*Machine, []Purpose) {
	t.Helper()
	files := fstest.MapFS{}
	env, runs, versions := map[string]string{}, map[string]string{}, map[string]uint32{}
	var gpus *fakeGPUs
	noNVML := "no NVIDIA driver here: libnvidia-ml.so.1 is not found"
	sampled := cpusample.Report{Samples: true, Switches: true}
	m := &Machine{Root: files, Cores: 8, Folder: "/home/me", Temp: "/tmp"}
	var free int64 = 100 << 30
	agent, noAgent := "built ahead", ""
	var purposes []Purpose
	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines); i++ {
		word, rest, _ := strings.Cut(lines[i], " ")
		left, right, _ := strings.Cut(rest, " ")
		switch word {
		case "":
		case "env":
			name, value, _ := strings.Cut(rest, "=")
			env[name] = value
		case "run":
			command, out, _ := strings.Cut(rest, " => ")
			runs[command] = strings.ReplaceAll(out, `\n`, "\n")
		case "program":
			files[nvtool.InFS(rest)] = &fstest.MapFile{Mode: 0o755}
		case "link":
			files[nvtool.InFS(left)] = &fstest.MapFile{Mode: fs.ModeSymlink,
				Data: []byte(strings.TrimPrefix(right, "-> "))}
		case "file":
			var b strings.Builder
			for i++; lines[i] != "."; i++ {
				b.WriteString(lines[i] + "\n")
			}
			files[nvtool.InFS(rest)] = &fstest.MapFile{Data: []byte(b.String()), Mode: 0o644}
		case "nvml":
			gpus = &fakeGPUs{driver: left}
			cuda, conf, _ := strings.Cut(right, " ")
			gpus.system.CUDA, _ = strconv.Atoi(cuda)
			gpus.system.Confidential = conf == "confidential"
		case "nonvml":
			noNVML = rest
		case "gpu":
			f := strings.Split(rest, "|")
			d := nvml.Device{Name: f[0], UUID: fmt.Sprintf("GPU-%d", len(gpus.devices)), MIG: len(f) > 3}
			gib, _ := strconv.Atoi(f[1])
			d.MemoryTotal = int64(gib) << 30
			fmt.Sscanf(f[2], "%d.%d", &d.Major, &d.Minor)
			gpus.devices = append(gpus.devices, d)
		case "cupti":
			v, _ := strconv.Atoi(right)
			versions[left] = uint32(v)
		case "agent":
			agent = rest
		case "noagent":
			noAgent = rest
		case "perf":
			why, fix, _ := strings.Cut(rest, "|")
			sampled = cpusample.Report{Why: why, Fix: fix}
		case "cores":
			m.Cores, _ = strconv.Atoi(rest)
		case "free":
			free, _ = strconv.ParseInt(rest, 10, 64)
			free <<= 20
		case "purpose":
			purposes = append(purposes, Purpose(rest))
		case "deep":
			m.Deep = true
		default:
			t.Fatalf("line %d: no word %q", i+1, word)
		}
	}
	m.Env = func(name string) string { return env[name] }
	m.Set = func(name string) bool { _, set := env[name]; return set }
	m.Run = func(_ context.Context, program string, args ...string) (string, error) {
		// a text of Python: what it imports tells them apart
		if words := strings.Fields(args[len(args)-1]); len(words) > 1 {
			args[len(args)-1] = words[1]
		}
		command := strings.Join(append([]string{program}, args...), " ")
		out, ok := runs[command]
		if !ok {
			t.Errorf("%s is run, which the machine does not describe", command)
		}
		return out, nil
	}
	m.NVML = func() (nvml.Library, error) {
		if gpus == nil {
			return nil, errors.New(noNVML)
		}
		return gpus, nil
	}
	m.CUPTI = func(at string) (uint32, error) {
		if v := versions[at]; v != 0 {
			return v, nil
		}
		return 0, errors.New("not a library")
	}
	m.Agent = func(context.Context) (string, error) {
		if noAgent != "" {
			return "", errors.New(noAgent)
		}
		return agent, nil
	}
	m.Sampling = func() cpusample.Report { return sampled }
	m.Free = func(string) (int64, error) { return free, nil }
	return m, purposes
}

type fakeGPUs struct {
	nvml.Library // nil: what is not below is not asked for
	driver       string
	system       nvml.System
	devices      []nvml.Device
}

func (f *fakeGPUs) Driver() string         { return f.driver }
func (f *fakeGPUs) System() nvml.System    { return f.system }
func (f *fakeGPUs) Devices() []nvml.Device { return f.devices }
func (f *fakeGPUs) Close() error           { return nil }

// tell is a report in lines.
func tell(r *Report) string {
	var b strings.Builder
	for _, v := range r.Verdicts {
		fmt.Fprintln(&b, strings.TrimSpace(fmt.Sprintf("%s: %s %s", v.Purpose, v.Answer, strings.Join(v.Because, " "))))
	}
	for _, c := range r.Checks {
		fmt.Fprintf(&b, "%s %s: %s\n", c.State, c.Check, c.Text)
		for _, line := range [][2]string{{"costs", c.Cost}, {"fix", c.Fix},
			{"run", strings.Join(c.Commands, "\n    run: ")}, {"stops", purposesText(c.Stops)},
			{"limits", purposesText(c.Limits)}} {
			if line[1] != "" {
				fmt.Fprintf(&b, "    %s: %s\n", line[0], line[1])
			}
		}
	}
	return b.String()
}

func purposesText(of []Purpose) string {
	return strings.Trim(fmt.Sprint(of), "[]")
}

// Whole machines, each described in a file, and what is said of them.
func TestMachines(t *testing.T) {
	found, _ := filepath.Glob("testdata/*.txtar")
	if len(found) == 0 {
		t.Fatal("no machine")
	}
	for _, file := range found {
		t.Run(strings.TrimSuffix(path.Base(filepath.ToSlash(file)), ".txtar"), func(t *testing.T) {
			golden.Cases(t, file, func(t *testing.T, text string) string {
				m, purposes := machineOf(t, text)
				r, err := Examine(t.Context(), m, purposes...)
				if err != nil {
					t.Fatal(err)
				}
				holds(t, r)
				return tell(r)
			})
		})
	}
}

// Every check has a machine on which it is well or silent, and one on which it is not; only what nothing needs is
// never ill.
func TestEveryCheckSpeaks(t *testing.T) {
	found, _ := filepath.Glob("testdata/*.txtar")
	ill, well := make(map[string]bool), make(map[string]bool)
	for _, file := range found {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range archive.Files {
			if !strings.HasSuffix(f.Name, "/events") {
				continue
			}
			m, _ := machineOf(t, string(f.Data))
			r, err := Examine(t.Context(), m)
			if err != nil {
				t.Fatal(err)
			}
			is := make(map[string]bool)
			for _, c := range r.Checks {
				is[c.Check] = is[c.Check] || c.State != OK
			}
			for _, c := range checks() {
				ill[c.ID], well[c.ID] = ill[c.ID] || is[c.ID], well[c.ID] || !is[c.ID]
			}
		}
	}
	for _, c := range checks() {
		if !well[c.ID] || ill[c.ID] == (c.ID == toolkit.ID) {
			t.Errorf("%s: well on a machine: %v, ill on one: %v", c.ID, well[c.ID], ill[c.ID])
		}
	}
}

// holds checks what is true of every report: what is not well says what it costs, what stops or limits something is
// not well, and who asks for help gets some.
func holds(t *testing.T, r *Report) {
	t.Helper()
	of := make(map[string][]Purpose)
	for _, c := range checks() {
		of[c.ID] = append([]Purpose{}, c.For...)
	}
	for _, c := range r.Checks {
		well := c.State == OK
		for _, p := range slices.Concat(c.Stops, c.Limits) {
			if !slices.Contains(of[c.Check], p) {
				t.Errorf("%s is not for %s: %+v", c.Check, p, c)
			}
		}
		switch {
		case of[c.Check] == nil || c.Text == "":
			t.Errorf("%+v", c)
		case well && (len(c.Stops) > 0 || len(c.Limits) > 0):
			t.Errorf("%s is well but stops or limits: %+v", c.Check, c)
		case !well && c.State != Unknown && c.Cost == "":
			t.Errorf("%s: what does it cost? %+v", c.Check, c)
		case len(c.Stops) > 0 && c.Fix == "" && len(c.Commands) == 0:
			t.Errorf("%s stops something and says no way out: %+v", c.Check, c)
		}
	}
}

func TestVersions(t *testing.T) {
	for _, test := range []struct {
		a, b string
		want bool
	}{{"525.60.13", "580", true}, {"580.159.04", "580", false}, {"12.8.90", "12.9", true},
		{"13.0.85", "13.0.85", false}, {"9.2", "10.0", true}, {"", "1", true}, {"2025.3.1-x", "2026", true},
		{"3.9.1", "3.12", true}} {
		if got := older(test.a, test.b); got != test.want {
			t.Errorf("older(%q, %q) = %v", test.a, test.b, got)
		}
	}
	for v, want := range map[uint32]string{18: "11.8", 26: "12.8", 28: "12.9.1", 130000: "13.0", 130100: "13.1",
		130401: "13.4", 3: ""} {
		if got := cuptiRelease(v); got != want {
			t.Errorf("cuptiRelease(%d) = %q, want %q", v, got, want)
		}
	}
}

// The table of faults: which versions each touches, at its edges.
func TestFaults(t *testing.T) {
	for v, want := range map[string]int{"12.4.99": 2, "12.4.127": 1, "12.6.68": 1, "12.6.80": 2, "13.0.48": 4,
		"13.0.85": 3, "13.1.75": 2, "13.1.115": 1, "13.2.23": 2, "13.3.35": 0} {
		if got := faultsOf(v); len(got) != want {
			t.Errorf("%s: %d faults, want %d: %v", v, len(got), want, got)
		}
	}
}

// Links are followed wherever in a path they stand, and a circle of them ends.
func TestReal(t *testing.T) {
	link := func(to string) *fstest.MapFile { return &fstest.MapFile{Mode: fs.ModeSymlink, Data: []byte(to)} }
	x := &exam{Machine: &Machine{Root: fstest.MapFS{"usr/local/cuda": link("cuda-12"),
		"usr/local/cuda-12/lib/a.so.1": {}, "usr/local/cuda-12/lib/a.so": link("a.so.1"),
		"opt/c": link("../usr/local/cuda")}}}
	for name, want := range map[string]string{"/usr/local/cuda/lib/a.so": "/usr/local/cuda-12/lib/a.so.1",
		"/opt/c/lib/a.so": "/usr/local/cuda-12/lib/a.so.1", "/none/x": "/none/x", "/": "/"} {
		if got := x.real(name); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
	dir := t.TempDir()
	if err := errors.Join(os.Symlink("b", filepath.Join(dir, "a")),
		os.Symlink("/a", filepath.Join(dir, "b"))); err != nil {
		t.Skip(err)
	}
	x.Root = os.DirFS(dir)
	if got := x.real("/a/x"); got != "/a/x" && got != "/b/x" {
		t.Errorf("a circle comes to %s", got)
	}
}

// Whatever files and programs say, a report comes of it.
func FuzzExamine(f *testing.F) {
	for _, seed := range []string{"", "0::/a/b\n1:cpu:x\n2:memory,cpu:/", "Version 1", "NVRM version: x 1.2.3.", ", V",
		"200000 100000", "cuda = '13.0'\n__version__ = '",
		"LACUNA{\"version\":\"3.12\",\"path\":[\"/p\",\"..\",\"[\"]}",
		"RmProfilingAdminOnly:", "CapEff:\tzz\nUid:\nSeccomp:", "MemAvailable: -5 kB",
		"{\"cuda_cupti\":{\"version\":\".\"}}", "/x/libcuda.so.1\x00", "99999999999999999999.1"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		file := &fstest.MapFile{Data: []byte(text)}
		files := fstest.MapFS{"bin/python3": {Mode: 0o755, Data: []byte(text)}, "bin/ncu": {Mode: 0o755},
			"bin/nsys": {Mode: 0o755}, "bin/nvcc": {Mode: 0o755}, "bin/env": {Mode: 0o755}}
		for _, name := range []string{"proc/version", "proc/1/cgroup", "proc/self/cgroup", "proc/self/status",
			"proc/meminfo", "proc/cpuinfo", "proc/driver/nvidia/version", "proc/driver/nvidia/params",
			"etc/ld.so.cache", "proc/7/comm",
			"sys/fs/cgroup/cpu.max", "sys/fs/cgroup/memory.max", "p/torch/version.py",
			"p/nvidia/cu13/lib/libcupti.so.13", "usr/local/cuda/version.json", "usr/local/cuda/lib64/libcupti.so.12",
			"lib64/libcuda.so.1"} {
			files[name] = file
		}
		m := &Machine{Root: files, Cores: 1, Deep: true, Folder: text, Temp: "/tmp",
			Env: func(string) string { return text },
			Run: func(context.Context, string, ...string) (string, error) { return text, nil },
			NVML: func() (nvml.Library, error) {
				return &fakeGPUs{driver: text, devices: []nvml.Device{{Name: text}}}, nil
			},
			CUPTI:    func(string) (uint32, error) { return uint32(len(text)), nil },
			Agent:    func(context.Context) (string, error) { return text, nil },
			Sampling: func() cpusample.Report { return cpusample.Report{Why: text} },
			Free:     func(string) (int64, error) { return 1, nil },
		}
		withPath := m.Env
		m.Env = func(name string) string {
			if name == "PATH" {
				return "/bin"
			}
			return withPath(name)
		}
		if _, err := Examine(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	})
}
