package writers

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"lacuna/internal/base/golden"
	"lacuna/internal/faces/pages/samples"
)

// Every form of one reading for programs.
func TestMonitor(t *testing.T) {
	s := samples.Monitor()
	var all bytes.Buffer
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

// Prometheus' text format: HELP and TYPE before the samples of a family, families in one piece, no series twice, names
// by its conventions (base units last, _total on counters and only there).
func TestMonitorPrometheus(t *testing.T) {
	var b bytes.Buffer
	if err := MonitorPrometheus(&b, samples.Monitor()); err != nil {
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

// A report on a machine as JSON has no null lists.
func TestDoctor(t *testing.T) {
	var out bytes.Buffer
	if err := DoctorJSON(&out, samples.Doctor()); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(out.String(), "null") {
		t.Error("a list is null")
	}
	golden.File(t, "testdata/doctor.json", out.String())
}
