package ncucsv

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"lacuna/internal/kernel/profile"
	"lacuna/internal/reader"
)

func open(data string) (*profile.Report, error) {
	return reader.OpenProfile(context.Background(), "x.csv", []*reader.Format{&Format},
		reader.Options{Data: []byte(data)})
}

func opened(t *testing.T, data string) *profile.Report {
	t.Helper()
	r, err := open(data)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// told is a report in a few lines: launches with their metrics by name, sections, rules, then losses.
func told(r *profile.Report) string {
	var b strings.Builder
	for _, l := range r.Launches {
		fmt.Fprintf(&b, "%d %s %v %v\n", l.ID, l.Name, l.Grid, l.Block)
		var lines []string
		for _, m := range l.Metrics {
			text := ""
			switch v := m.Value; v.Kind {
			case profile.Double:
				text = fmt.Sprintf("%g", v.Float)
			case profile.Unsigned:
				text = fmt.Sprintf("%d whole", v.Uint)
			case profile.Text:
				text = fmt.Sprintf("%q", v.String)
			}
			lines = append(lines, fmt.Sprintf("  %s %s\n", r.Names.Text(m.Name), text))
		}
		slices.Sort(lines)
		b.WriteString(strings.Join(lines, ""))
		for _, s := range l.Sections {
			fmt.Fprintf(&b, "  section %s %q: %d\n", s.ID, s.Name, len(s.Header))
		}
		for _, x := range l.Rules {
			for _, m := range x.Messages {
				fmt.Fprintf(&b, "  rule %s in %s: %d %q %s %g\n", x.ID, x.Section, m.Type, m.Text, m.Speedup.Kind,
					m.Speedup.Percent)
			}
		}
	}
	for _, l := range r.Losses.All() {
		fmt.Fprintf(&b, "lost %s %d\n", l.Code, l.Count)
	}
	return b.String()
}

const logged = `==PROF== Connected to process 42 (/opt/app/bench)
step 1, "loss" 3
==PROF== Profiling "scale" - 0: 0%....50%....100% - 8 passes
"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size","Grid Size","Device","CC","Section Name","Metric Name","Metric Unit","Metric Value"
"0","42","bench","127.0.0.1","void ns::scale<float>(float *, int)","1","7","(256, 1, 1)","(1024, 2, 1)","0","8.6","Command line profiler metrics","dram__bytes.sum","Mbyte","1,234.50"
12 steps done
"0","42","bench","127.0.0.1","void ns::scale<float>(float *, int)","1","7","(256, 1, 1)","(1024, 2, 1)","0","8.6","Command line profiler metrics","gpu__time_duration.sum","usecond","10.25"
"1","42","bench","127.0.0.1","other","1","7","(32, 1, 1)","(1, 1, 1)","0","8.6","Command line profiler metrics","gpu__time_duration.sum","nsecond","1,568"
"1","42","bench","127.0.0.1","other","1","7","(32, 1, 1)","(1, 1, 1)","0","8.6","Command line profiler metrics","absent__metric.sum","","n/a"
==PROF== Disconnected from process 42
`

func TestLog(t *testing.T) {
	r := opened(t, logged)
	want := `0 void ns::scale<float>(float *, int) [1024 2 1] [256 1 1]
  device__attribute_compute_capability_major 8 whole
  device__attribute_compute_capability_minor 6 whole
  dram__bytes.sum 1.2345e+09
  gpu__time_duration.sum 10250
  section section0 "Command line profiler metrics": 2
1 other [1 1 1] [32 1 1]
  device__attribute_compute_capability_major 8 whole
  device__attribute_compute_capability_minor 6 whole
  gpu__time_duration.sum 1568
  section section0 "Command line profiler metrics": 1
`
	if got := told(r); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if l := r.Launches[0]; l.Process != "/opt/app/bench" || l.Base != "scale" || l.PID != 42 || l.Stream != 7 {
		t.Errorf("process %q, base %q, pid %d, stream %d", l.Process, l.Base, l.PID, l.Stream)
	}
	if len(r.Session.Processes) != 1 || len(r.Session.Devices) != 1 || r.Format != "ncu-csv" {
		t.Errorf("%d processes, %d devices, format %s", len(r.Session.Processes), len(r.Session.Devices), r.Format)
	}
}

const details = `"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size","Grid Size","Device","CC","Section Name","Metric Name","Metric Unit","Metric Value","Rule Name","Rule Type","Rule Description","Estimated Speedup Type","Estimated Speedup"
"0","1","a","h","k","1","7","(8, 1, 1)","(9, 1, 1)","0","9.0","GPU Speed Of Light Throughput","Memory Throughput","%","86.09",
"0","1","a","h","k","1","7","(8, 1, 1)","(9, 1, 1)","0","9.0","GPU Speed Of Light Throughput","SM Frequency","Ghz","1.98",
"0","1","a","h","k","1","7","(8, 1, 1)","(9, 1, 1)","0","9.0","SpeedOfLight","","","","SOLBottleneck","OPT","It is ""slow"",
so speed it up","local","87.5"
"0","1","a","h","k","1","7","(8, 1, 1)","(9, 1, 1)","0","9.0","Memory Workload Analysis","Memory Throughput","Gbyte/s","3.50",
"0","1","a","h","k","1","7","(8, 1, 1)","(9, 1, 1)","0","9.0","Compute Workload Analysis","SM Busy","%","10.00",
"0","1","a","h","k","1","7","(8, 1, 1)","(9, 1, 1)","0","9.0","PM Sampling","Maximum Sampling Interval","us","1",
`

// Labels mean what they mean in their section; one that two metrics have is dropped, unless the unit tells them apart.
func TestDetails(t *testing.T) {
	want := `0 k [9 1 1] [8 1 1]
  device__attribute_compute_capability_major 9 whole
  device__attribute_compute_capability_minor 0 whole
  dram__bytes.sum.per_second 3.5e+09
  gpc__cycles_elapsed.avg.per_second 1.98e+09
  gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed 86.09
  profiler__pmsampler_interval_time 1000
  section SpeedOfLight "GPU Speed Of Light Throughput": 2
  section MemoryWorkloadAnalysis "Memory Workload Analysis": 1
  section PmSampling "PM Sampling": 1
  rule SOLBottleneck in SpeedOfLight: 4 "It is \"slow\",\nso speed it up" local 87.5
lost unknown-label 1
`
	if got := told(opened(t, details)); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

const raw = `"ID","Process ID","Process Name","Host Name","thread Domain:Push/Pop_Range:PL_Type:PL_Value:CLR_Type:Color:Msg_Type:Msg","Kernel Name","Context","Stream","Block Size","Grid Size","Device","CC","dram__bytes.sum","gpu__time_duration.sum","launch__func_cache_config","launch__grid_size","device__attribute_compute_capability_major","x.sum","y.sum","z.sum"
"","","","","","","","","","","","","Mbyte","ms","","","","",""
"0","1","a","h","dom","k","1","7","(8, 1, 1)","(9, 1, 1)","0","7.5","1.500000","0.012640","CachePreferNone","9","7","nan","no data",""
"1","1","a","h","dom","k","1","7","(8, 1, 1)","(9, 1, 1)","0","7.5","1,500.500000","0.012640 (1; 2)","CachePreferNone","9","7","-3","",""
`

func TestRaw(t *testing.T) {
	want := `0 k [9 1 1] [8 1 1]
  device__attribute_compute_capability_major 7 whole
  device__attribute_compute_capability_minor 5 whole
  dram__bytes.sum 1.5e+06
  gpu__time_duration.sum 12640
  launch__func_cache_config "CachePreferNone"
  launch__grid_size 9 whole
  x.sum NaN
  y.sum 
1 k [9 1 1] [8 1 1]
  device__attribute_compute_capability_major 7 whole
  device__attribute_compute_capability_minor 5 whole
  dram__bytes.sum 1.5005e+09
  gpu__time_duration.sum 12640
  launch__func_cache_config "CachePreferNone"
  launch__grid_size 9 whole
  x.sum -3
lost instances-not-read 1
`
	if got := told(opened(t, raw)); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// The same page as PowerShell redirects it, as a spreadsheet saves it, with a mark before it, and with other line ends.
func TestDisguises(t *testing.T) {
	want := told(opened(t, raw))
	wide := "\xff\xfe"
	for _, u := range utf16.Encode([]rune(strings.ReplaceAll(raw, "\n", "\r\n"))) {
		wide += string([]byte{byte(u), byte(u >> 8)})
	}
	bare := strings.NewReplacer(`"(8, 1, 1)"`, `"(8, 1, 1)"`, `"(9, 1, 1)"`, `"(9, 1, 1)"`, `"1,500.500000"`,
		`"1,500.500000"`, `"`, ``).Replace(raw)
	for name, text := range map[string]string{"UTF-16": wide, "bare": bare, "marked": "\xef\xbb\xbf" + raw,
		"CRLF": strings.ReplaceAll(raw, "\n", "\r\n")} {
		if got := told(opened(t, text)); got != want {
			t.Errorf("%s: got\n%s\nwant\n%s", name, got, want)
		}
	}
}

func TestNumbers(t *testing.T) {
	for _, test := range []struct {
		text string
		want float64
		ok   bool
	}{
		{"3", 3, true}, {"-3.25", -3.25, true}, {"1,234.50", 1234.5, true}, {"1,234,567", 1234567, true},
		{"28738479638493.01", 28738479638493.01, true},
		{"0,1,2", 0, false}, {"1,23", 0, false}, {"0x10", 0, false}, {"infinity", 0, false}, {"", 0, false},
		{"-", 0, false}, {"8e", 0, false},
		{"-nan", math.NaN(), true}, {"inf", math.Inf(1), true},
	} {
		got, ok := parseNumber(test.text)
		if ok != test.ok || got != test.want && !(math.IsNaN(got) && math.IsNaN(test.want)) {
			t.Errorf("%q is %g, %v, want %g, %v", test.text, got, ok, test.want, test.ok)
		}
	}
}

// Windows in most of Europe writes 1.234,50.
func TestCommaDecimals(t *testing.T) {
	text := strings.NewReplacer("1,234.50", "27.595.520,50", `"10.25"`, `"65,77"`, "1,568", "1.568").Replace(logged)
	r := opened(t, text)
	for i, want := range []float64{65770, 1568} {
		if v, _ := r.Launches[i].Number("gpu__time_duration.sum"); v != want {
			t.Errorf("launch %d took %g ns, want %g", i, v, want)
		}
	}
	if v, _ := r.Launches[0].Number("dram__bytes.sum"); v != 27595520.5e6 {
		t.Errorf("%g bytes", v)
	}
	if commaDecimal([]byte(logged)) || commaDecimal([]byte(details)) {
		t.Error("a page with decimal points is taken for one with commas")
	}
}

func TestDamage(t *testing.T) {
	for _, test := range []struct{ name, text, want string }{
		{"no rows", details[:strings.IndexByte(details, '\n')], "has no rows of a page"},
		{"only a log", "==PROF== Profiling \"k\" - 0: 0%\n", "has no rows of a page"},
		{"not a page", "a,b\n1,2\n", "is not a profile that lacuna reads"},
	} {
		if _, err := open(test.text); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", test.name, err, test.want)
		}
	}
	r := opened(t, details[:strings.Index(details, "so speed")])
	if len(r.Launches) != 1 || len(r.Warnings) != 1 || r.Losses.Count("truncated-input") != 1 {
		t.Errorf("cut in a text: %d launches, warnings %q", len(r.Launches), r.Warnings)
	}
	r = opened(t, raw+"\"2\",\"x\"y\n\"three\",\"1\",\"a\",\"h\",\"k\",\"1\"\n")
	if r.Losses.Count(lossBadRow) != 2 || len(r.Launches) != 2 {
		t.Errorf("bad rows: %v", r.Losses.All())
	}
}

// A page of rows that say nothing, or of one launch with a great many metrics, is read in time and memory that fit
// its size.
func TestHostile(t *testing.T) {
	header, _, _ := strings.Cut(logged[strings.Index(logged, `"ID"`):], "\n")
	var empty, metrics strings.Builder
	empty.WriteString(header + "\n")
	metrics.WriteString(header + "\n")
	for i := range 200_000 {
		fmt.Fprintf(&empty, "\"%d\",\"\",\"\",\"\",\"k\"\n", i)
		fmt.Fprintf(&metrics, "\"0\",\"1\",\"a\",\"h\",\"k\",\"1\",\"7\",\"\",\"\",\"0\",\"8.6\",\"s\",\"a__%d.sum\",\"\",\"1\"\n", i)
	}
	if r := opened(t, empty.String()); r.Losses.Count(lossTooMany) == 0 || len(r.Launches) > 100_000 {
		t.Errorf("%d launches, losses %v", len(r.Launches), r.Losses.All())
	}
	if r := opened(t, metrics.String()); len(r.Launches) != 1 || len(r.Launches[0].Metrics) != 200_002 {
		t.Errorf("%d launches, %d metrics", len(r.Launches), len(r.Launches[0].Metrics))
	}
}

func TestBase(t *testing.T) {
	for name, want := range map[string]string{
		"sgemm":                      "sgemm",
		"void a::b<int, 4>(float)":   "b",
		"(anonymous namespace)::k()": "k",
		"void at::native::elementwise_kernel<128, 2, at::f<x>(y)::z>(int, T2)": "elementwise_kernel",
		"": "",
	} {
		if got := base(name); got != want {
			t.Errorf("%q has base %q, want %q", name, got, want)
		}
	}
}

func FuzzProfileCSV(f *testing.F) {
	for _, seed := range []string{logged, details, raw, "\xff\xfe\"\x00I\x00"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := reader.OpenProfile(context.Background(), "x.csv",
			[]*reader.Format{{Sniff: func([]byte) int { return 1 }, Profile: read}}, reader.Options{Data: data})
		if err != nil {
			return
		}
		for i, l := range r.Launches {
			if l.ID != i || l.Report != r {
				t.Fatalf("launch %d has ID %d", i, l.ID)
			}
			for j := range l.Metrics {
				if l.Metric(r.Names.Text(l.Metrics[j].Name)) != &l.Metrics[j] {
					t.Fatalf("%q is not found", r.Names.Text(l.Metrics[j].Name))
				}
			}
		}
	})
}
