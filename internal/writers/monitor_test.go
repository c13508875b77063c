package writers

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"lacuna/internal/doctor"
	"lacuna/internal/golden"
	"lacuna/internal/monitor"
	"lacuna/internal/nvml"
)

// snapshotOfFour is four GPUs: one busy and held down, one idle, one split, one that fell off the bus.
func snapshotOfFour() *monitor.Snapshot {
	v := func(x float64) *float64 { return &x }
	busy := monitor.GPU{Index: 0, Name: "NVIDIA H200", UUID: "GPU-a", PCI: "00000000:03:00.0", UtilPct: v(100), MemoryUtilPct: v(63), MemoryUsedBytes: v(140.4 * (1 << 30)), MemoryTotalBytes: v(141 * (1 << 30)),
		SMClockMHz: v(1605), MaxSMClockMHz: v(1980), MemoryClockMHz: v(3201), MaxMemoryClockMHz: v(3201), PowerW: v(699.6), PowerLimitW: v(700), TemperatureC: v(71), Reasons: nvml.PowerCap | nvml.ThermalSlowdown,
		PCIeTxBps: v(1.25e9), PCIeRxBps: v(53.1e9), NVLinkTxBps: v(321.5e9), NVLinkRxBps: v(320.9e9), NVLinkTx: v(1 << 50), NVLinkRx: v(1 << 49),
		Processes: []monitor.Process{{PID: 4242, Name: "python3", MemoryBytes: v(140 << 30)}, {PID: 77, Name: "a \"b\"\\\x1b[31m\n", MemoryBytes: nil}, {PID: 1234567}}}
	busy.Throttle = busy.Reasons.Names()
	idle := monitor.GPU{Index: 1, Name: "NVIDIA H200", UUID: "GPU-b", UtilPct: v(0), MemoryUtilPct: v(0), MemoryUsedBytes: v(0), MemoryTotalBytes: v(141 * (1 << 30)), SMClockMHz: v(345), MaxSMClockMHz: v(1980),
		PowerW: v(76.1), TemperatureC: v(28), Throttle: []string{}, Processes: []monitor.Process{}}
	split := monitor.GPU{Index: 2, Name: "NVIDIA H200", UUID: "GPU-c", MIG: true, SMClockMHz: v(1980)}
	lost := monitor.GPU{Index: 3, Name: "NVIDIA L4", UUID: "GPU-d", Error: "GPU 3: GPU is lost (NVML error 15)"}
	return &monitor.Snapshot{Schema: 1, Time: time.Date(2026, 11, 21, 9, 8, 7, 0, time.UTC), Host: "node-1", Driver: "580.159.04", GPUs: []monitor.GPU{busy, idle, split, lost}}
}

// Every form of one reading, and no line of text wider than its page.
func TestMonitor(t *testing.T) {
	s := snapshotOfFour()
	var all bytes.Buffer
	for _, page := range []Page{{Width: 100}, {Width: 80}, {Width: 40}, {Width: 40, ASCII: true}} {
		var b bytes.Buffer
		if err := MonitorText(&b, s, page); err != nil {
			t.Fatal(err)
		}
		fitsPage(t, b.String(), page)
		fmt.Fprintf(&all, "-- text %d %v --\n%s", page.Width, page.ASCII, &b)
	}
	for _, form := range []struct {
		name  string
		write func(*bytes.Buffer) error
	}{
		{"csv", func(b *bytes.Buffer) error { return MonitorCSV(b, s, true) }},
		{"csv, no header", func(b *bytes.Buffer) error { return MonitorCSV(b, s, false) }},
		{"json", func(b *bytes.Buffer) error { return MonitorJSON(b, s) }},
		{"prometheus", func(b *bytes.Buffer) error { return MonitorPrometheus(b, s) }},
	} {
		fmt.Fprintf(&all, "-- %s --\n", form.name)
		if err := form.write(&all); err != nil {
			t.Fatal(err)
		}
	}
	golden.File(t, "testdata/monitor.txt", all.String())
}

func fitsPage(t *testing.T, text string, page Page) {
	t.Helper()
	for _, l := range strings.Split(text, "\n") {
		if shown(l) > page.Width || strings.ContainsAny(l, "\x1b\r") {
			t.Errorf("%d columns: %q", page.Width, l)
		}
	}
}

// Prometheus' text format: HELP and TYPE before the samples of a family, families in one piece, no series twice, names
// by its conventions (base units last, _total on counters and only there).
func TestMonitorPrometheus(t *testing.T) {
	var b bytes.Buffer
	if err := MonitorPrometheus(&b, snapshotOfFour()); err != nil {
		t.Fatal(err)
	}
	sample := regexp.MustCompile(`^(lacuna_gpu_[a-z_]+)\{((?:[a-z]+="(?:[^"\\\n]|\\[\\"n])*",?)+)\} -?[0-9][0-9.e+-]*$`)
	series, families := map[string]bool{}, map[string]bool{}
	family, kind := "", ""
	for i, l := range strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n") {
		if help, ok := strings.CutPrefix(l, "# HELP "); ok {
			family, _, _ = strings.Cut(help, " ")
			if families[family] {
				t.Errorf("line %d: %s again", i+1, family)
			}
			families[family], kind = true, ""
			continue
		}
		if typed, ok := strings.CutPrefix(l, "# TYPE "+family+" "); ok {
			kind = typed
			if strings.HasSuffix(family, "_total") != (kind == "counter") {
				t.Errorf("%s is a %s", family, kind)
			}
			continue
		}
		m := sample.FindStringSubmatch(l)
		if m == nil || m[1] != family || kind == "" || series[m[1]+m[2]] {
			t.Errorf("line %d of family %s %s: %s", i+1, family, kind, l)
			continue
		}
		series[m[1]+m[2]] = true
	}
	if len(families) < 15 {
		t.Errorf("%d families", len(families))
	}
}

// A report on a machine, on a wide and a narrow page, and as JSON without null lists.
func TestDoctor(t *testing.T) {
	r := &doctor.Report{Schema: 1, Verdicts: []doctor.Verdict{{Purpose: doctor.Record, Answer: doctor.WithLimits, Because: []string{"memory"}}, {Purpose: doctor.NCU, Answer: doctor.No, Because: []string{"counters"}}, {Purpose: doctor.Sample, Answer: doctor.Yes}},
		Checks: []doctor.Result{
			{Check: "driver", Title: "NVIDIA driver", State: doctor.OK, Text: "580.159.04, runs CUDA up to 13.0"},
			{Check: "cupti", Title: "CUPTI", State: doctor.OK, Text: "13.0.85, /venv/nvidia/cu13/lib/libcupti.so.13", Cost: "copies inside CUDA graphs leak memory while recorded"},
			{Check: "memory", Title: "Memory", State: doctor.Limited, Text: "512 MiB are free", Cost: "the program may be killed for memory", Commands: []string{"lacuna record --memory 64 -- ..."}, Limits: []doctor.Purpose{doctor.Record}},
			{Check: "counters", Title: "Counter permission", State: doctor.Limited, Text: "only administrators may read the GPU's counters\x1b[31m", Cost: "ncu ends with ERR_NVGPUCTRPERM", Fix: "permit all users on the host, or start the container with",
				Commands: []string{"docker run --cap-add=PERFMON ..."}, Stops: []doctor.Purpose{doctor.NCU}},
			{Check: "dcgm", Title: "DCGM", State: doctor.Unknown, Text: "not told"},
		}}
	var all bytes.Buffer
	for _, page := range []Page{{Width: 80}, {Width: 40}} {
		var b bytes.Buffer
		if err := DoctorText(&b, r, page); err != nil {
			t.Fatal(err)
		}
		fitsPage(t, b.String(), page)
		fmt.Fprintf(&all, "-- text %d --\n%s", page.Width, &b)
	}
	all.WriteString("-- json --\n")
	if err := DoctorJSON(&all, r); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(all.String(), "null") {
		t.Error("a list is null")
	}
	golden.File(t, "testdata/doctor.txt", all.String())
}
