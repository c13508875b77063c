package kernelreport

import (
	"errors"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"

	"lacuna/internal/kernel/profile"
)

// reportOf makes a report of launches "NAME GRID MICROSECONDS"; no time if 0.
func reportOf(launches ...struct {
	name string
	grid uint32
	us   float64
}) *profile.Report {
	r := &profile.Report{Path: "k.ncu-rep", Producer: "Nsight Compute 2025.3.1", Session: profile.Session{
		CommandLine: "/opt/ncu --set full -o k ./bin/train --steps 3", Executable: "/home/u/bin/train",
		Devices: []profile.Device{{ID: 0, Name: "NVIDIA H200", Attributes: []profile.Attribute{
			{Name: "multiprocessor_count", Value: profile.Value{Kind: profile.Unsigned, Uint: 132}},
			{Name: "memory_clock_rate", Value: profile.Value{Kind: profile.Unsigned, Uint: 3201000}},
			{Name: "global_memory_bus_width", Value: profile.Value{Kind: profile.Unsigned, Uint: 6016}}}}}}}
	for i, x := range launches {
		l := &profile.Launch{ID: i, Name: x.name + "(float *)", Base: x.name, Grid: [3]uint32{x.grid, 1, 1},
			Block: [3]uint32{128, 1, 1}, Report: r}
		if x.us > 0 {
			l.Metrics = []profile.Metric{{Name: r.Names.ID("gpu__time_duration.sum"),
				Value: profile.Value{Kind: profile.Double, Float: 1000 * x.us}}}
		}
		r.Launches = append(r.Launches, l)
	}
	return r
}

type at = struct {
	name string
	grid uint32
	us   float64
}

// sample is a kernel of two sizes, launched four times and once, and two others.
func sample() *profile.Report {
	return reportOf(at{"a", 64, 30}, at{"b", 64, 50}, at{"a", 64, 10}, at{"a", 64, 20}, at{"a", 8, 5}, at{"a", 64, 40},
		at{"c", 1, 0})
}

func build(t *testing.T, opt Options) *Report {
	t.Helper()
	r, err := Build([]*profile.Report{sample()}, opt)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// Launches of one function and size are one kernel, told by the one of median time; the longest in all come first.
func TestLaunchesAreSummarised(t *testing.T) {
	r := build(t, Options{Launch: -1})
	var got []string
	for _, k := range r.Kernels {
		got = append(got, k.Base)
	}
	if text := strings.Join(got, " "); text != "a b a c" {
		t.Fatalf("order is %s", text)
	}
	a := r.Kernels[0]
	if a.Count != 4 || !slices.Equal(a.Launches, []int{0, 2, 3, 5}) || a.Launch != 3 || *a.DurationUs != 20 ||
		a.TotalUs != 100 {
		t.Errorf("a is %+v, %v us", a, *a.DurationUs)
	}
	if s := a.Spread; s == nil || s.MinUs != 10 || s.MaxUs != 40 || s.MeanUs != 25 {
		t.Errorf("spread is %+v", s)
	}
	if math.Abs(a.Share-100.0/155) > 1e-12 {
		t.Errorf("share is %v", a.Share)
	}
	if c := r.Kernels[3]; c.DurationUs != nil || c.Spread != nil || c.Share != 0 || len(c.Missing) == 0 {
		t.Errorf("what was not measured is there: %+v", c)
	}
	if d := r.Device; d.Name != "NVIDIA H200" || d.SMs != 132 || math.Abs(d.MemoryGBs-4814.304) > 1e-6 {
		t.Errorf("device is %+v", d)
	}
	if p := r.Inputs[0].Program; p != "./bin/train --steps 3" {
		t.Errorf("program is %q", p)
	}
}

func TestPicking(t *testing.T) {
	if r := build(t, Options{Launch: 2}); len(r.Kernels) != 1 || *r.Kernels[0].DurationUs != 10 {
		t.Errorf("launch 2 is %+v", r.Kernels)
	}
	if r := build(t, Options{Launch: -1, Kernel: regexp.MustCompile("^b$")}); len(r.Kernels) != 1 ||
		r.Kernels[0].Base != "b" || r.Kernels[0].Share != 1 {
		t.Errorf("b is %+v", r.Kernels)
	}
	if r := build(t, Options{Launch: -1, Sort: SortName}); r.Kernels[2].Base != "b" {
		t.Errorf("by name: %+v", r.Kernels)
	}
	for _, test := range []struct {
		opt  Options
		want string
	}{
		{Options{Launch: 7}, "--launch 7: there is no such launch (have 0 to 6)"},
		{Options{Launch: -1, Kernel: regexp.MustCompile("x")}, `--kernel x: matches no kernel (have a, b, c)`},
		{Options{Launch: 1, Kernel: regexp.MustCompile("^a")}, "--kernel ^a --launch 1: matches no launch"},
	} {
		_, err := Build([]*profile.Report{sample()}, test.opt)
		var none *NoMatchError
		if !errors.As(err, &none) || !strings.HasPrefix(err.Error(), test.want) {
			t.Errorf("%+v: error is %v, want %s", test.opt, err, test.want)
		}
		if _, err := Pick(sample(), test.opt); err == nil {
			t.Errorf("%+v: a page would be printed", test.opt)
		}
	}
	some, err := Pick(sample(), Options{Launch: 3})
	if err != nil || len(some.Launches) != 1 || some.Launches[0].ID != 3 {
		t.Errorf("picked %+v, %v", some, err)
	}
}

// By gain, what the best fix saves of all launches counts, not how many times as fast one launch would be.
func TestGainOrder(t *testing.T) {
	us := func(v float64) *float64 { return &v }
	all := []Kernel{
		{Base: "short", DurationUs: us(10), TotalUs: 10, Findings: []Finding{{PredictedUs: 1}}},
		{Base: "long", DurationUs: us(100), TotalUs: 1000, Findings: []Finding{{PredictedUs: 90}, {PredictedUs: 95}}},
		{Base: "healthy", DurationUs: us(900), TotalUs: 9000, Findings: []Finding{{PredictedUs: 900, Healthy: true}}},
	}
	sortKernels(all, SortGain)
	if all[0].Base != "long" || math.Abs(all[0].GainUs()-100) > 1e-9 || all[1].Base != "short" || all[2].GainUs() != 0 {
		t.Errorf("order is %s, %s, %s", all[0].Base, all[1].Base, all[2].Base)
	}
}

func TestSourcePlaces(t *testing.T) {
	for text, want := range map[string]place{"42": {"", 42}, "kernels.cu:7": {"kernels.cu", 7},
		`C:\src\k.cu:3`: {`C:\src\k.cu`, 3}} {
		if got, err := parsePlace(text); err != nil || got != want {
			t.Errorf("%s is %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "x", "k.cu:", "k.cu:0", "-3", "k.cu:x"} {
		if _, err := parsePlace(text); err == nil {
			t.Errorf("%q is a place", text)
		}
	}
	if _, err := Source([]*profile.Report{sample()}, Options{Launch: -1}, "3"); err == nil ||
		!strings.Contains(err.Error(), "-lineinfo") {
		t.Errorf("without lines: %v", err)
	}
}

// A report of many short launches says so once: what helps is fewer of them. Not where the time goes elsewhere.
func TestManyShortLaunches(t *testing.T) {
	var chain []at
	for i := range 51 {
		chain = append(chain, at{[]string{"noise", "ntt", "add"}[i%3], []uint32{2, 2, 200}[i%3], 2 + float64(i%3)})
	}
	for _, c := range []struct {
		more []at
		want string
	}{
		{nil, "51 launches of 3 kernels take less than 10 µs each, 153 µs in all (100 % of the time)"},
		{[]at{{"long", 500, 100}}, "153 µs in all (60.5 % of the time)"},
		{[]at{{"long", 500, 200}}, ""},
	} {
		r, err := Build([]*profile.Report{reportOf(append(slices.Clone(chain), c.more...)...)}, Options{Launch: -1})
		if err != nil {
			t.Fatal(err)
		}
		switch s := r.Short; {
		case s == nil && c.want != "" || s != nil && c.want == "":
			t.Errorf("beside %v: %+v, want %q", c.more, s, c.want)
		case s != nil && (!strings.Contains(s.Why, c.want) ||
			!strings.HasSuffix(s.Why, "34 of them have fewer blocks than the GPU has SMs")):
			t.Errorf("beside %v: %s, want %q", c.more, s.Why, c.want)
		}
	}
	few := reportOf(chain[:9]...)
	if r, err := Build([]*profile.Report{few}, Options{Launch: -1}); err != nil || r.Short != nil {
		t.Errorf("of 9 launches: %+v, %v", r.Short, err)
	}
}
