package exporters

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"math/rand"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"lacuna/internal/base/golden"
	"lacuna/internal/reader"
	"lacuna/internal/readers"
	"lacuna/internal/timeline/evtext"
	"lacuna/internal/timeline/model"
)

const chromeEvents = `
process 1 pid=4711 rank=0 python
thread 1 tid=4711 main
device 0 NVIDIA "H100"
range annotation 0+10000 forward
op x5 shapes="[[2, 3]]" 100+500 aten::mm
call c5 x5 150+20 cudaLaunchKernel
call c6 180+20 cudaGraphLaunch
range startend 50+5000 crosses
range 9000+open never closed
os 5000+1000 poll
mark 700 here
kernel s7 c5 grid=2x3x4 registers=40 collective=1 200+100 ncclDevKernel_AllReduce
kernel s7 c6 250+100 overlaps the first
kernel s7 c6 260+20 lies in it
kernel s20 c6 250+100 "other \"stream\"\x1b"
copy HtoD pageable->device s7 bytes=4096 400+50
set s7 bytes=12 470+5
graph s7 c6 exec=3 500+50
sync stream s7 310+40
event s7 event=9 305
devrange s7 200+300 forward
collective 1 group=default seq=4 groupsize=8 allreduce
link id=1 from=110 to=700
track 1 unit=% d0 SM busy
track 2 unit=% d0 SM busy
counter track=1 100 value=12.5
counter track=2 100 value=NaN
alloc addr=0x7f00 deltabytes=512 allocatedbytes=1024 reservedbytes=2048 120
alloc deltabytes=-512 130
fault d- addr=0x10 count=2 600+10
diag severity=2 5 careful
frame 1 main.c
sample stack=1 650
sched in 660
`

type chromeJSON struct {
	TraceEvents []struct {
		Ph, Name, Cat, Bp string
		Pid, Tid          int64
		Ts, Dur           json.Number
		ID                int64
		Args              map[string]any
	}
}

// ns is a decimal of microseconds in nanoseconds.
func ns(t *testing.T, n json.Number) int64 {
	t.Helper()
	whole, frac, ok := strings.Cut(n.String(), ".")
	if !ok || len(frac) != 3 {
		t.Fatalf("%q has not three decimals", n)
	}
	v, err := strconv.ParseInt(whole+frac, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// checkChrome says what of its promises the JSON of a trace breaks.
func checkChrome(t *testing.T, trace *model.Trace) chromeJSON {
	t.Helper()
	var out bytes.Buffer
	if err := writeChrome(&out, trace); err != nil {
		t.Fatal(err)
	}
	text := out.String()
	var got chromeJSON
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&got); err != nil {
		t.Fatalf("%v\n%.2000s", err, text)
	}
	rows := 0
	for _, table := range trace.Tables() {
		if table.Name != "Links" && table.Name != "Collectives" && table.Name != "Frames" {
			rows += table.Len()
		}
	}
	type lane struct{ pid, tid int64 }
	type span struct{ start, end int64 }
	spans := make(map[lane][]span)
	named := make(map[lane]bool)
	count := make(map[string]int)
	for _, e := range got.TraceEvents {
		count[e.Ph]++
		switch e.Ph {
		case "X":
			start := ns(t, e.Ts)
			spans[lane{e.Pid, e.Tid}] = append(spans[lane{e.Pid, e.Tid}], span{start, start + ns(t, e.Dur)})
		case "M":
			if e.Name == "thread_name" {
				if named[lane{e.Pid, e.Tid}] {
					t.Errorf("track %d of %d has two names", e.Tid, e.Pid)
				}
				named[lane{e.Pid, e.Tid}] = true
			}
		}
	}
	if n := count["X"] + count["i"] + count["C"]; n != rows {
		t.Errorf("%d events of %d rows", n, rows)
	}
	if count["s"] != count["f"] {
		t.Errorf("%d arrows begin and %d end", count["s"], count["f"])
	}
	for l, list := range spans {
		if !named[l] {
			t.Errorf("track %d of %d has no name", l.tid, l.pid)
		}
		slices.SortFunc(list, func(a, b span) int {
			return cmp.Or(cmp.Compare(a.start, b.start),
				cmp.Compare(b.end, a.end))
		})
		var open []span
		for _, s := range list {
			for len(open) > 0 && open[len(open)-1].end <= s.start {
				open = open[:len(open)-1]
			}
			if len(open) > 0 && s.end > open[len(open)-1].end {
				t.Fatalf("track %d of %d: %v overlaps %v", l.tid, l.pid, s, open[len(open)-1])
			}
			open = append(open, s)
		}
	}
	return got
}

func TestChrome(t *testing.T) {
	trace, err := evtext.Parse(chromeEvents)
	if err != nil {
		t.Fatal(err)
	}
	got := checkChrome(t, trace)
	tracks := make(map[string]string)
	arrows := 0
	for _, e := range got.TraceEvents {
		switch {
		case e.Ph == "M" && strings.HasSuffix(e.Name, "_name"):
			tracks[fmt.Sprint(e.Pid, "/", e.Tid)] = fmt.Sprint(e.Args["name"])
		case e.Ph == "f":
			arrows++
			if e.Bp != "e" {
				t.Error("an arrow does not bind to the event that it ends in")
			}
		}
	}
	if arrows != 6 { // five pieces of GPU work with a call, one link
		t.Errorf("%d arrows, want 6", arrows)
	}
	where := make(map[string]string)
	for _, e := range got.TraceEvents {
		if e.Ph == "X" {
			where[e.Name] = tracks[fmt.Sprint(e.Pid, "/0")] + ": " + tracks[fmt.Sprint(e.Pid, "/", e.Tid)]
		}
		if e.Name == "ncclDevKernel_AllReduce" {
			want := map[string]any{"correlation": json.Number("5"), "gridx": json.Number("2"),
				"gridy": json.Number("3"), "gridz": json.Number("4"),
				"registers": json.Number("40"), "collective_name": "allreduce", "collective_group": "default",
				"collective_seq": json.Number("4"), "collective_groupsize": json.Number("8")}
			if fmt.Sprint(e.Args) != fmt.Sprint(want) || e.Ts != "0.200" || e.Dur != "0.100" {
				t.Errorf("kernel is %+v\nwant args %v", e, want)
			}
		}
		if e.Name == "never closed" && e.Dur != "1.000" { // to the end of the last event
			t.Errorf("open range lasts %s", e.Dur)
		}
	}
	for name, want := range map[string]string{
		"aten::mm":                "python rank 0: main",
		"crosses":                 "python rank 0: main",
		"never closed":            "python rank 0: main",
		"poll":                    "python rank 0: main OS calls",
		"ncclDevKernel_AllReduce": `GPU 0 NVIDIA "H100": stream 7`,
		"overlaps the first":      `GPU 0 NVIDIA "H100": stream 7 (2)`,
		"lies in it":              `GPU 0 NVIDIA "H100": stream 7 (3)`,
		"other \"stream\"\x1b":    `GPU 0 NVIDIA "H100": stream 20`,
		"wait":                    `GPU 0 NVIDIA "H100": stream 7 waits`,
		"forward":                 `GPU 0 NVIDIA "H100": stream 7 ranges`,
		"page fault":              "python rank 0: page faults",
	} {
		if where[name] != want {
			t.Errorf("%q is on %q, want %q", name, where[name], want)
		}
	}
}

// Whatever overlaps, no track holds events that overlap without nesting, and none is lost.
func TestChromeOverlaps(t *testing.T) {
	random := rand.New(rand.NewSource(1))
	for round := range 30 {
		var b strings.Builder
		for i := range 300 {
			start, dur := random.Intn(1000), random.Intn(1+random.Intn(2000))
			fmt.Fprintf(&b, "kernel s%d c%d %d+%d k%d\n", random.Intn(2), i, start, dur, i)
			fmt.Fprintf(&b, "op t%d %d+%d o%d\ncall t%d c%d %d+%d call\n", 1+random.Intn(2), start, dur, i, 1+
				random.Intn(2), i, start, dur/3)
		}
		trace, err := evtext.Parse(b.String())
		if err != nil {
			t.Fatal(err)
		}
		if checkChrome(t, trace); t.Failed() {
			t.Fatalf("in round %d", round)
		}
	}
}

// Real captures, among them one with kernels of graphs that overlap on their stream.
func TestChromeCorpus(t *testing.T) {
	root := golden.Corpus(t)
	var paths []string
	for _, f := range []string{"system/llm_decode/fixed/torch.json.gz",
		"public/nsys/pipit-cloverleaf/capture.sqlite.zst", "public/nsys/darknet-cudnn-gtx1650/capture.sqlite.zst"} {
		paths = append(paths, filepath.Join(root, f))
	}
	if os.Getenv("LACUNA_CORPUS") == "all" {
		paths = append(golden.CorpusFiles(t, "public/kineto", ".json.gz", ".json"),
			golden.CorpusFiles(t, "public/nsys", ".sqlite.zst")...)
	}
	for _, path := range paths {
		t.Run(filepath.Base(filepath.Dir(path)), func(t *testing.T) {
			trace, err := reader.Open(t.Context(), path, readers.All, reader.Options{})
			if err != nil {
				t.Fatal(err)
			}
			checkChrome(t, trace)
		})
	}
}

func TestChromeEmpty(t *testing.T) { checkChrome(t, &model.Trace{}) }

func BenchmarkChrome(b *testing.B) {
	var text strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&text, "call c%d %d+5000 cudaLaunchKernel\nkernel s7 c%d grid=64x1x1 %d+9000 gemm\n", i, i*10000,
			i, i*10000+6000)
	}
	trace, err := evtext.Parse(text.String())
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if err := writeChrome(io.Discard, trace); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(200_000*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
}

// Thousands of events that all overlap take time in proportion to their number, not to its square.
func BenchmarkChromeAllOverlap(b *testing.B) {
	var text strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&text, "kernel s7 %d+900000 k\n", i)
	}
	trace, err := evtext.Parse(text.String())
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if err := writeChrome(io.Discard, trace); err != nil {
			b.Fatal(err)
		}
	}
}
