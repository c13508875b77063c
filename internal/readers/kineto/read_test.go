package kineto

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"lacuna/internal/base/golden"
	"lacuna/internal/reader"
	"lacuna/internal/timeline/model"
)

// write puts text into a file of its own.
func write(t testing.TB, name string, text []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, text, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// openBlocks reads text in blocks of some size.
func openBlocks(t testing.TB, text []byte, blockBytes int) (*model.Trace, error) {
	t.Helper()
	in := stream{bytes.NewReader(text), "trace.json", int64(len(text)), func() int64 { return int64(len(text)) / 2 }}
	trace, err := readStream(context.Background(), in, reader.Options{}, blockBytes)
	if err == nil {
		check(t, trace)
	}
	return trace, err
}

// A launch and its kernel, to be put around what a test is about.
const (
	launch = `{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":9,"tid":9,"ts":1000.5,"dur":5,"args":{"correlation":1}}`
	kernel = `{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":1010,"dur":5.25,"args":{"device":0,"stream":7,"correlation":1}}`
)

func file(events ...string) []byte {
	return []byte(`{"schemaVersion":1,"traceEvents":[` + strings.Join(events, ",\n") + `]}`)
}

// The blocks that a file is cut into never show in what is read.
func TestBlockSizes(t *testing.T) {
	text := synthetic(t, 200_000)
	// cuts look possible inside of this event, inside its name and its arguments
	odd := `{"ph":"X","cat":"cpu_op","name":"a}, {\"b","pid":1,"tid":1,"ts":4396349060050.345,"dur":1,"args":{"External id":5,"x":[{"y":1}, {"z":"}, {"}]}}`
	text = bytes.Replace(text, []byte("[\n  {\n"), []byte("[\n  "+odd+", {\n"), 1)
	want, err := openBlocks(t, text, 64<<20)
	if err != nil || want.Ops.Len() < 100 || want.Losses.Count(model.LossBadEvent) > 0 {
		t.Fatalf("%v, %d ops, %v", err, want.Ops.Len(), want.Losses.All())
	}
	for _, size := range []int{1, 7, 64, 100, 333, 1000, 4096, 50_000} {
		if size < 64 && !golden.IsLong() {
			continue
		}
		got, err := openBlocks(t, text, size)
		if err != nil {
			t.Fatal(size, err)
		}
		if got.Losses.Count(model.LossTruncated) > 0 {
			t.Fatal(size, got.Losses.All())
		}
		sameTrace(t, fmt.Sprint("blocks of ", size), got, want)
	}
}

// sameTrace holds all tables and losses of two traces against one another; rows of texts and threads may be numbered
// otherwise.
func sameTrace(t testing.TB, what string, got, want *model.Trace) {
	t.Helper()
	a, b := got.Tables(), want.Tables()
	for i := range a {
		for j := range a[i].Columns {
			x, y := plain(got, a[i].Columns[j]), plain(want, b[i].Columns[j])
			if !reflect.DeepEqual(x, y) {
				t.Fatalf("%s: %s.%s differs", what, a[i].Name, a[i].Columns[j].Name)
			}
		}
	}
	if !reflect.DeepEqual(got.Losses.All(), want.Losses.All()) {
		t.Fatalf("%s: losses %v, want %v", what, got.Losses.All(), want.Losses.All())
	}
	if !reflect.DeepEqual(got.Info, want.Info) || len(got.Threads) != len(want.Threads) {
		t.Fatalf("%s: %+v, want %+v", what, got.Info, want.Info)
	}
}

// plain is a column with texts and threads instead of their numbers.
func plain(t *model.Trace, c model.Column) any {
	switch rows := c.Slice.Interface().(type) {
	case []model.StringID:
		return each(rows, t.Strings.Text)
	case []model.ThreadRow:
		return each(rows, func(r model.ThreadRow) [2]int64 {
			if r == model.NoThread {
				return [2]int64{}
			}
			return [2]int64{t.Processes[t.Threads[r].Process].Pid, t.Threads[r].Tid}
		})
	case []model.ProcessRow:
		return each(rows, func(r model.ProcessRow) int64 { return t.Processes[r].Pid })
	}
	return c.Slice.Interface()
}

func each[T, U any](rows []T, f func(T) U) (out []U) {
	for _, r := range rows {
		out = append(out, f(r))
	}
	return out
}

// A file that was cut off anywhere is read up to there, with a warning.
func TestTruncated(t *testing.T) {
	text := synthetic(t, 60_000)
	begin := bytes.Index(text, []byte(`"traceEvents": [`)) + len(`"traceEvents": [`)
	last := int64(-1)
	for n := begin; n < len(text)-3; n += 307 {
		trace, err := openBlocks(t, text[:n], 4096)
		if err != nil {
			t.Fatalf("%d bytes: %v", n, err)
		}
		if trace.Losses.Count(model.LossTruncated) != 1 || len(trace.Warnings) == 0 { // one cut, not its bytes
			t.Fatalf("%d bytes: %v %v", n, trace.Losses.All(), trace.Warnings)
		}
		if trace.Losses.Count(model.LossBadEvent) > 0 || trace.Info.Events < last {
			t.Fatalf("%d bytes: %d events after %d, %v", n, trace.Info.Events, last, trace.Losses.All())
		}
		last = trace.Info.Events
	}
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	z.Write(text)
	z.Close()
	path := write(t, "cut.json.gz", packed.Bytes()[:packed.Len()*2/3])
	if trace := open(t, path, 0); trace.Kernels.Len() == 0 || trace.Losses.Count(model.LossTruncated) == 0 {
		t.Fatalf("cut gzip: %d kernels, %v", trace.Kernels.Len(), trace.Losses.All())
	}
}

// One byte that is wrong loses few events, wherever it is.
func TestOneWrongByte(t *testing.T) {
	text := synthetic(t, 50_000)
	text = append(bytes.TrimRight(text[:lastCut(text[:30_000], 10_000)], " ,\n"), "]}"...)
	whole, err := openBlocks(t, text, 4096)
	if err != nil {
		t.Fatal(err)
	}
	begin := bytes.Index(text, []byte(`"traceEvents": [`)) + len(`"traceEvents": [`)
	for i := begin; i < len(text); i += 307 {
		for _, c := range []byte{'"', '{', '}', '[', ']', '\\', ',', ':', 'x', 0, 0xff} {
			wrong := bytes.Clone(text)
			wrong[i] = c
			for _, size := range []int{4096, 1 << 20} {
				trace, err := openBlocks(t, wrong, size)
				if err != nil {
					t.Fatal(i, c, err)
				}
				if trace.Info.Events < whole.Info.Events-4 && text[i-1] != ',' && c != ']' {
					t.Errorf("byte %d is %q, blocks of %d: %d events of %d, %v", i, c, size, trace.Info.Events,
						whole.Info.Events, trace.Losses.All())
				}
			}
		}
	}
}

// Each odd event is worth a loss, a value or nothing; what is around it is read.
func TestOddEvents(t *testing.T) {
	event := func(keys string) string {
		return `{"ph":"X","cat":"kernel","name":"odd","pid":0,"tid":7,"args":{"device":0,"stream":7},` + keys + `}`
	}
	for _, test := range []struct {
		name, event string
		loss        model.LossCode // "": none
		kernels     int            // of 2, or 3 with the odd one
	}{
		{"nan", event(`"ts":NaN,"dur":1`), model.LossBadTime, 2},
		{"infinity", event(`"ts":-Infinity,"dur":1`), model.LossBadTime, 2},
		{"huge", event(`"ts":1e400,"dur":1`), model.LossBadTime, 2},
		{"out of range", event(`"ts":-9e15,"dur":1`), model.LossBadTime, 2},
		{"text", event(`"ts":"n/a","dur":1`), model.LossBadTime, 2},
		{"null", event(`"ts":null,"dur":1`), model.LossBadTime, 2},
		{"no time", event(`"dur":1`), model.LossBadTime, 2},
		{"ends too late", event(`"ts":5,"dur":9e15`), model.LossBadTime, 2},
		{"bad duration", event(`"ts":5,"dur":[]`), model.LossBadTime, 2},
		{"negative duration", event(`"ts":5,"dur":-3`), model.LossNegative, 3},
		{"no duration", event(`"ts":5`), "", 3},
		{"quoted time", event(`"ts":"1005.5","dur":1`), "", 3},
		{"exponent", event(`"ts":1.0055e3,"dur":1e0`), "", 3},
		{"escaped keys", event(`"\u0074s":5,"d\u0075r":1`), "", 3},
		{"control characters", event("\"ts\":5,\"dur\":1,\"x\":\"a\x01\nb\""), "", 3},
		{"repeated keys", event(`"ts":1,"ts":5,"dur":1,"dur":2`), "", 3},
		{"wrong types", `{"ph":1,"ts":[],"dur":{},"args":"x","name":null,"cat":5}`, model.LossBadEvent, 2},
		{"number", `5`, model.LossBadEvent, 2},
		{"word", `null`, model.LossBadEvent, 2},
		{"string", `"x, {\""`, model.LossBadEvent, 2},
		{"array", `[[1,2],{"ph":"X"}]`, model.LossBadEvent, 2},
		{"no comma inside", `{"ph" "X"}`, model.LossBadEvent, 2},
		{"not JSON", `{"ph":"X","ts":}`, model.LossBadEvent, 2},
		{"unknown phase", `{"ph":"Q","name":"x","ts":1}`, model.LossUnknownEvent, 2},
		{"unknown category", `{"ph":"X","cat":"zzz","name":"x","ts":1,"dur":1}`, model.LossUnknownEvent, 2},
		{"foreign", `{"ph":"X","cat":"mtia_ccp_events","name":"x","ts":1,"dur":1}`, model.LossForeignDevice, 2},
		{"wide", strings.Replace(event(`"ts":5,"dur":1`), `"stream":7`, `"stream":77777777777`, 1), model.LossWidth, 3},
		{"nested", `{"ph":"X","args":` + strings.Repeat(`{"a":`, 1_000_000) + `1` + strings.Repeat(`}`, 1_000_000) +
			`}`, model.LossUnknownEvent, 2},
		{"long name", `{"ph":"X","cat":"kernel","ts":5,"dur":1,"name":"` + strings.Repeat("x", 10_000_000) + `"}`, "",
			3},
	} {
		for _, size := range []int{100, blockBytes} {
			if size == 100 && len(test.event) > 1000 {
				size = 100_000
			}
			trace, err := openBlocks(t, file(launch, kernel, test.event, kernel), size)
			if err != nil {
				t.Errorf("%s: %v", test.name, err)
				continue
			}
			if n := trace.Kernels.Len(); n != test.kernels || trace.Info.Events != 4 || trace.Calls.Len() != 1 {
				t.Errorf("%s, blocks of %d: %d kernels of %d events, want %d; %v", test.name, size, n,
					trace.Info.Events, test.kernels, trace.Losses.All())
			}
			if all := trace.Losses.All(); test.loss == "" && len(all) > 0 || test.loss != "" &&
				(len(all) != 1 || all[0].Code != test.loss || all[0].Count != 1) {
				t.Errorf("%s, blocks of %d: %v, want one %q", test.name, size, all, test.loss)
			}
		}
	}
}

// Times are exact to the ns, and work at time 0 is dropped unless the clock begins there.
func TestTimes(t *testing.T) {
	zero := strings.Replace(kernel, "1010", "0", 1)
	trace, _ := openBlocks(t, file(launch, zero), blockBytes)
	if trace.Kernels.Len() != 1 || trace.Calls.StartNs[0] != 1_000_500 || trace.Kernels.DurNs[0] != 5250 {
		t.Errorf("near 0: %+v", trace.Kernels)
	}
	late := strings.Replace(launch, "1000.5", "1711549134556789.123", 1)
	trace, _ = openBlocks(t, file(late, zero), blockBytes)
	if trace.Kernels.Len() != 0 || trace.Calls.StartNs[0] != 1711549134556789123 ||
		trace.Losses.Count(model.LossZeroTime) != 1 || len(trace.Warnings) != 1 || !trace.Epoch.Unix {
		t.Errorf("late: %d kernels, %v, %v", trace.Kernels.Len(), trace.Losses.All(), trace.Warnings)
	}
}

// What is no trace is refused with an error, what is an empty one is not.
func TestNotATrace(t *testing.T) {
	for text, sniffed := range map[string]bool{
		``: false, `    `: false, `17`: false, `{"a": 1}`: false, `[1, 2, null]`: false, "\x89PNG\r\n\x1a\n": false,
		`{`: false, `[`: false,
		`{"schemaVersion": 1}`: true, `{"deviceProperties": []`: true,
	} {
		if got := sniff([]byte(text)) > 0; got != sniffed {
			t.Errorf("sniff(%q) is %v", text, got)
		}
		if _, err := openBlocks(t, []byte(text), blockBytes); err == nil {
			t.Errorf("%q: no error", text)
		}
	}
	var unknown *reader.UnknownError
	if _, err := openBlocks(t, []byte(`{"a": [1, {"b": "]}"}], "c": 2}`), blockBytes); !errors.As(err, &unknown) {
		t.Errorf("an object without events: %v", err)
	}
	for _, text := range []string{`{"schemaVersion":1,"traceEvents":[]}`, ` { "traceEvents" : [ ] , "x" : 1 } `} {
		trace, err := openBlocks(t, []byte(text), blockBytes)
		if err != nil || trace.Info.Events != 0 || len(trace.Warnings) > 0 || sniff([]byte(text)) == 0 {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// The keys around the events are read wherever they are, and only what was asked for is kept.
func TestHeaderAndParts(t *testing.T) {
	header := `"distributedInfo":{"rank":"3","world_size":8,"backend":"nccl"},"deviceProperties":[{"id":2,"name":"A","numSms":"x"},7,{"id":0,"name":"B","numSms":108}],` +
		`"cupti_version":130001,"cuda_runtime_version":13000,"baseTimeNanoseconds":1790857026000000000,"big":{"a":["]}",{}]}`
	for _, text := range []string{
		`{` + header + `,"traceEvents":[` + kernel + `]}`,
		`{"traceEvents":[` + kernel + `],` + header + `}`,
		`{"x":1,"traceEvents":[` + kernel + ` ] , ` + header + ` } `,
	} {
		for _, size := range []int{16, blockBytes} {
			trace, err := openBlocks(t, []byte(text), size)
			if err != nil {
				t.Fatal(err)
			}
			i := &trace.Info
			if i.Rank != 3 || i.World != 8 || i.Backend != "nccl" ||
				i.Producer != "PyTorch profiler (CUDA runtime 13.0, CUPTI 13.0.1)" ||
				trace.Epoch.UnixNs != 1790857026000000000 {
				t.Errorf("%s: %+v %+v", text, i, trace.Epoch)
			}
			if len(trace.Devices) != 2 || trace.Devices[0].Name != "B" || trace.Devices[0].SMs != 108 ||
				trace.Devices[1].Name != "A" {
				t.Errorf("%s: %+v", text, trace.Devices)
			}
		}
	}
	trace := open(t, write(t, "some_rank_12.json", file(launch, kernel)), model.PartKernels)
	if trace.Kernels.Len() != 1 || trace.Calls.Len() != 0 || trace.Loaded != model.PartKernels ||
		trace.Info.Rank != 12 || trace.Info.Events != 2 {
		t.Errorf("kernels only: %+v", trace.Info)
	}
}

// A few MB that unpack to GBs are refused before they fill the memory; blanks and long texts are passed over.
func TestBombs(t *testing.T) {
	golden.Long(t, "unpacks hundreds of MB")
	for _, test := range []struct {
		name, unit string
		times      int
		cut        bool
	}{
		{"blanks", strings.Repeat(" ", 1<<20), 500, false},
		{"one name", strings.Repeat("x", 1<<20), 200, false},
		{"kernels", strings.Repeat(`{"ph":"X","cat":"kernel","ts":7},`+"\n", 1<<15), 100, true},
	} {
		var packed bytes.Buffer
		z := gzip.NewWriter(&packed)
		begin, end := launch+",", "\n"+kernel+"]}"
		if test.name == "one name" {
			begin, end = begin+`{"ph":"X","name":"`, `"},`+kernel+"]}"
		}
		io.WriteString(z, `{"schemaVersion":1,"traceEvents":[`+begin)
		for range test.times {
			io.WriteString(z, test.unit)
		}
		io.WriteString(z, end)
		z.Close()
		trace := open(t, write(t, "bomb.json.gz", packed.Bytes()), 0)
		var memory runtime.MemStats
		runtime.ReadMemStats(&memory)
		if cut := trace.Losses.Count(model.LossTruncated) > 0; cut != test.cut || memory.Sys > 1<<30 {
			t.Errorf("%s: %d MB for %d packed bytes, %v", test.name, memory.Sys>>20, packed.Len(), trace.Losses.All())
		}
		if !test.cut && trace.Kernels.Len() != 1 {
			t.Errorf("%s: the kernel behind it was not read: %v", test.name, trace.Losses.All())
		}
	}
}

// TestLegacyOperators: what torch.autograd.profiler exported before Kineto has no categories; its operators are read,
// and what else has none is counted.
func TestLegacyOperators(t *testing.T) {
	const op = `{"name": "aten::mm", "ph": "X", "ts": 136.5, "dur": 184.25, "tid": 1, "pid": "CPU functions", "args": {}}`
	gpu := strings.Replace(op, "CPU", "CUDA", 1)
	got, err := openBlocks(t, []byte("["+op+", "+op+", "+gpu+"]"), 64)
	if err != nil || got.Ops.Len() != 2 || got.Ops.DurNs[0] != 184_250 ||
		got.Losses.Count(model.LossUnknownEvent) != 1 {
		t.Fatalf("%v: %d operators, %v", err, got.Ops.Len(), got.Losses.All())
	}
}
