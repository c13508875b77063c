package profile

import (
	"fmt"
	"strings"
	"testing"
)

const sample = `# two kernels
attribute max_warps_per_multiprocessor 64
attribute display_name NVIDIA H200
kernel "void scale<float>(float *, int)" grid=132,2 block=256,1,1 stream=7
gpu__time_duration.sum 123456
sm__throughput.avg.pct_of_peak_sustained_elapsed 12.5
launch__func_cache_config CachePreferNone
inst_executed 64
inst_executed[0x7f10] 32
inst_executed[32528] 32
sass__inst_executed_per_opcode[FFMA] 5
memory_type[some text] "a b"
smsp__pcsamp_sample_count none
line 0x7f10 /src/a.cu:12 c[i] = a[i];
line 32528 /src/a.cu:13

kernel other
gpu__time_duration.sum 1
device__attribute_max_warps_per_multiprocessor 48
`

func TestParse(t *testing.T) {
	r, err := Parse(sample)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Launches) != 2 || len(r.Sources) != 1 || r.Session.Devices[0].Name != "NVIDIA H200" {
		t.Fatalf("%d launches, %d sources, devices %v", len(r.Launches), len(r.Sources), r.Session.Devices)
	}
	a, b := r.Launches[0], r.Launches[1]
	if a.Name != "void scale<float>(float *, int)" || a.Grid != [3]uint32{132, 2, 1} ||
		a.Block != [3]uint32{256, 1, 1} || a.Stream != 7 {
		t.Errorf("first kernel: %q grid %v block %v stream %d", a.Name, a.Grid, a.Block, a.Stream)
	}
	if v, ok := a.Number("nothing", "sm__throughput.avg.pct_of_peak_sustained_elapsed"); !ok || v != 12.5 {
		t.Errorf("throughput %v, %v", v, ok)
	}
	if v := a.Metric("gpu__time_duration.sum").Value; v != (Value{Kind: Unsigned, Uint: 123456}) {
		t.Errorf("duration %+v", v)
	}
	if v, ok := a.Text("launch__func_cache_config"); !ok || v != "CachePreferNone" {
		t.Errorf("cache config %q", v)
	}
	if m := a.Metric("smsp__pcsamp_sample_count"); m == nil || m.Value.Kind != None || m.HasInstances() {
		t.Errorf("a metric without a value: %+v", m)
	}
	var at []string
	for address, v := range a.ByAddress("inst_executed") {
		at = append(at, fmt.Sprintf("%x:%g", address, v))
	}
	for opcode, v := range a.ByOpcode("sass__inst_executed_per_opcode") {
		at = append(at, fmt.Sprintf("%s:%g", opcode, v))
	}
	for i := range a.Metric("memory_type").Instances() {
		at = append(at, i.Key.String+":"+i.Value.String)
	}
	if got := strings.Join(at, " "); got != "7f10:32 7f10:32 FFMA:5 some text:a b" {
		t.Errorf("instances %s", got)
	}
	want := []SourceLine{{0x7f10, "/src/a.cu", 12, "c[i] = a[i];"}, {0x7f10, "/src/a.cu", 13, ""}}
	if got := a.Source.Lines; len(got) != 2 || got[0] != want[0] || got[1] != want[1] {
		t.Errorf("lines %v", got)
	}
	for l, want := range map[*Launch]float64{a: 64, b: 48} {
		if v, _ := l.Number(AttributePrefix + "max_warps_per_multiprocessor"); v != want {
			t.Errorf("%s has %g warps at most, want %g", l.Name, v, want)
		}
	}
	if b.Metric("inst_executed") != nil || b.Source != nil || b.Grid != [3]uint32{1, 1, 1} {
		t.Error("the second kernel has what is of the first")
	}
}

func TestParseErrors(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"gpu__time_duration.sum 1", "line 1: \"gpu__time_duration.sum\" stands before any kernel"},
		{"\nkernel", "line 2: kernel has no name"},
		{"kernel a grid=1,2,3,4", "line 1: kernel a: size \"1,2,3,4\""},
		{"kernel a grid=x", "line 1: kernel a: size \"x\""},
		{"kernel a threads=5", "line 1: kernel a: has no field \"threads\""},
		{"kernel a\nmetric", "line 2: metric metric has no value"},
		{"kernel a\nm[3 5", "line 2: metric m[3: the bracket is not closed"},
		{"kernel a\nline x a.cu:1", "line 2: line x: want an address"},
		{"kernel a\nline 1 a.cu", "line 2: line 1: want FILE:LINE"},
		{"attribute name", "line 1: attribute \"name\": want a name and a value"},
	} {
		if _, err := Parse(test.text); err == nil || !strings.HasPrefix(err.Error(), test.want) {
			t.Errorf("%q: %v, want %s", test.text, err, test.want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(sample)
	f.Add("kernel a\nx[] 1\nline 1 :")
	f.Fuzz(func(t *testing.T, text string) {
		r, err := Parse(text)
		if err != nil {
			return
		}
		for _, l := range r.Launches {
			for i := range l.Metrics {
				m := &l.Metrics[i]
				if l.Metric(r.Names.Text(m.Name)) != m {
					t.Fatalf("%q is not found", r.Names.Text(m.Name))
				}
			}
		}
	})
}
