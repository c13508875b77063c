package evtext

import (
	"bytes"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"lacuna/internal/timeline/model"
)

func write(t testing.TB, trace *model.Trace) string {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, trace); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func parse(t testing.TB, text string) *model.Trace {
	t.Helper()
	trace, err := Parse(text)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if err := model.Check(trace); err != nil {
		t.Fatal(err)
	}
	return trace
}

func TestParseLines(t *testing.T) {
	trace := parse(t, `
# a comment
step 0+1000
step 1us+1.5ms
thread 2 pid=10 tid=12 "main"
call c5 t2 90+8 cudaLaunchKernel
kernel s7 c5 grid=128x2x1 100+200 gemm
kernel 400+5 s20 "s7 is no stream"
copy HtoD pageable->device bytes=1024 s7 300+50
set bytes=12 mem=device 350+1
sync stream s7 310+40
range startend t3 5+open   forever and  ever
counter track=1 100 value=12.5
track 1 unit=% SM busy
`)
	k := &trace.Kernels
	if k.Len() != 2 || k.Stream[0] != 7 || k.Stream[1] != 20 || k.Corr[0] != 5 || k.Corr[1] != model.NoCorr ||
		k.Context[0] != 1 {
		t.Errorf("kernels are %+v", k)
	}
	if got := trace.Strings.Text(k.Name[1]); got != "s7 is no stream" {
		t.Errorf("quoted name is %q", got)
	}
	if k.GridX[0] != 128 || k.GridY[0] != 2 || k.BlockX != nil {
		t.Errorf("grid %v %v, block %v", k.GridX, k.GridY, k.BlockX)
	}
	c := &trace.Copies
	if c.Kind[0] != model.CopyHtoD || c.Src[0] != model.MemPageable || c.Dst[0] != model.MemDevice ||
		c.Bytes[0] != 1024 || c.Name != nil {
		t.Errorf("copies are %+v", c)
	}
	r := &trace.Ranges
	var names []string
	for i := range r.Len() {
		names = append(names, fmt.Sprintf("%d+%d %s t%d", r.StartNs[i], r.DurNs[i], trace.Strings.Text(r.Name[i]),
			trace.Threads[r.Thread[i]].Tid))
	}
	if got, want := strings.Join(names, "; "), "0+1000 step_0 t1; 5+-1 forever and  ever t3; 1000+1500000 step_1 t1"; got != want {
		t.Errorf("ranges are %s\nwant %s", got, want)
	}
	th := trace.Threads[trace.Calls.Thread[0]]
	if th.Tid != 12 || th.Name != "main" || trace.Processes[th.Process].Pid != 10 {
		t.Errorf("thread 2 is %+v of %+v", th, trace.Processes)
	}
	if trace.Syncs.Kind[0] != model.SyncStream || trace.Sets.Mem[0] != model.MemDevice ||
		trace.Tracks[0].Name != "SM busy" {
		t.Errorf("sync %v set %v track %v", trace.Syncs.Kind, trace.Sets.Mem, trace.Tracks)
	}
}

func TestParseErrors(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"kernle 1+2 x", `line 1: no table "kernle"; tables are acc, alloc,`},
		{"\nkernel gemm", `line 2: kernel: "gemm" is neither an attribute nor a time; want START+DURATION; attributes are p1, d1,`},
		{"kernel s7", "line 1: kernel: no time"},
		{"kernel 5", `want START+DURATION`},
		{"mark 5+6", `want an instant`},
		{"kernel s7 s7 1+2", "line 1: kernel: stream is given twice"},
		{"kernel 1+2 regs=4 gemm", `kernel: no attribute "regs"`},
		{"kernel registers=70000 1+2", `registers: "70000" is out of range`},
		{"kernel grid=1x2 1+2", `grid is "1x2", want 3 values with x between`},
		{"kernel 1.5+2 a", `neither`},
		{"kernel 1.5ns+2 a", `neither`},
		{"kernel 9223372036854775807+2 a", "ends after the last time"},
		{"kernel collective=3 1+2\ncollective allreduce", "line 1: refers to collective 3, but there are 1"},
		{"collective 2 allreduce", "this is number 1, not 2"},
		{"thread 1\nthread 1", "line 2: thread: number 1 is declared twice"},
		{"thread main", "line 1: thread: no number"},
		{"call t0 1+2", "not a row's number"},
		{"copy sideways 1+2", `"sideways" is neither`},
		{`op shapes="[ 1+2`, `is not a quoted text`},
		{"mark 1 a\ncolumns mark -name", "line 2: columns: must come before the first mark"},
		{"step 0+1 x", "step: has no name"},
		{"loss x", "want loss CODE COUNT EXAMPLE"},
	} {
		_, err := Parse(test.text)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("Parse(%q) = %v, want %s", test.text, err, test.want)
		}
	}
}

func TestParseNs(t *testing.T) {
	for _, test := range []struct {
		text string
		want int64
		ok   bool
	}{
		{"0", 0, true}, {"-5", -5, true}, {"1500ns", 1500, true}, {"1.5us", 1500, true}, {"1.5µs", 1500, true},
		{"0.000001ms", 1, true}, {"2s", 2e9, true}, {"-0.25ms", -250000, true}, {"1.500us", 1500, true},
		{"1.0ns", 1, true},
		{"1.5", 0, false}, {"1.5ns", 0, false}, {"", 0, false}, {"us", 0, false}, {".5us", 0, false},
		{"1.2.3us", 0, false},
		{"9223372036854775807", math.MaxInt64, true}, {"9223372036855s", 0, false}, {"99999999999s", 0, false},
		{"5h", 0, false},
	} {
		got, err := parseNs(test.text)
		if got != test.want || (err == nil) != test.ok {
			t.Errorf("parseNs(%q) = %d, %v", test.text, got, err)
		}
	}
}

// full is a trace in which every column of every table has three rows, none the default of the
// text form, and every field of every dimension is set.
func full() *model.Trace {
	trace := newTrace()
	next := int64(1)
	v := reflect.ValueOf(trace).Elem()
	for i := range v.NumField() {
		f := v.Field(i)
		switch {
		case f.Kind() == reflect.Slice && f.Type().Elem().Kind() == reflect.Struct:
			f.Set(reflect.MakeSlice(f.Type(), 3, 3))
			for row := range 3 {
				for j := range f.Index(row).NumField() {
					setAny(f.Index(row).Field(j), trace, &next)
				}
			}
		}
	}
	for _, table := range trace.Tables() {
		for _, c := range table.Columns {
			c.Slice.Set(reflect.MakeSlice(c.Slice.Type(), 3, 3))
			for row := range 3 {
				if setAny(c.Slice.Index(row), trace, &next); c.Name == "Track" {
					c.Slice.Index(row).SetUint(uint64(row))
				}
			}
		}
	}
	info := reflect.ValueOf(&trace.Info).Elem()
	for i := range info.NumField() {
		switch info.Field(i).Kind() {
		case reflect.Slice:
		case reflect.Struct:
			for k := range info.Field(i).NumField() {
				setAny(info.Field(i).Field(k), trace, &next)
			}
		default:
			setAny(info.Field(i), trace, &next)
		}
	}
	trace.Info.Meta = []model.KeyValue{{Key: "a key", Value: "a value"}, {Key: "", Value: ""},
		{Key: "b", Value: " 5 \n"}}
	trace.Epoch = model.Epoch{UnixNs: 1732186000123456789, Clock: "the GPU's, as CUPTI converts it"}
	trace.Loaded = model.PartKernels | model.PartOps
	trace.Losses.Add(model.LossBadEvent, 3, "byte 812: \"ts\" is \"n/a\"")
	trace.Losses.Add("own-code", 1, "")
	trace.Warnings = []string{"the clock\x1b[31m jumped", ""}
	trace.Finish()
	return trace
}

// setAny puts a value into v that is not its default, and another one each time.
func setAny(v reflect.Value, trace *model.Trace, next *int64) {
	*next++
	n := *next
	switch x := v.Addr().Interface().(type) {
	case *model.StringID:
		*x = trace.Strings.Intern([]string{"name %d", " blank ahead %d", "s7 like a stream %d", "line\n%d",
			"naïve \"%d\"", "\xff%d", "a=%d", "in", "# %d"}[n%9] + fmt.Sprint(n))
	case *string:
		*x = fmt.Sprintf("text %d", n)
	case *model.ThreadRow, *model.ProcessRow, *model.DomainRow, *model.CollectiveRow, *model.FrameRow:
		v.SetUint(1 + uint64(n%2))
	case *bool:
		*x = true
	case *model.CopyKind:
		*x = []model.CopyKind{model.CopyHtoD, model.CopyPtoP, 77}[n%3]
	case *model.MemKind:
		*x = model.MemKind(1 + n%9)
	case *model.SyncKind:
		*x = model.SyncKind(1 + n%6)
	case *model.CallClass:
		*x = model.CallClass(1 + n%2)
	case *model.RangeKind:
		*x = model.RangeKind(1 + n%4)
	case *float32:
		*x = float32(n) + 0.1
	case *float64:
		*x = float64(n) + 0.1
	case *uint8:
		*x = uint8(1 + n%250)
	case *uint16:
		*x = uint16(1 + n)
	default:
		if v.CanInt() {
			v.SetInt(n + 10)
		} else {
			v.SetUint(uint64(n + 10))
		}
	}
}

// compare says in what two traces differ, with texts for StringIDs.
func compare(t *testing.T, got, want *model.Trace) {
	t.Helper()
	gotTables := got.Tables()
	for i, w := range want.Tables() {
		for j, c := range w.Columns {
			g := gotTables[i].Columns[j].Slice
			if g.IsNil() != c.Slice.IsNil() && w.Len() > 0 {
				t.Errorf("%s.%s: nil is %v, want %v", w.Name, c.Name, g.IsNil(), c.Slice.IsNil())
			}
			for row := range c.Slice.Len() {
				if row >= g.Len() {
					t.Errorf("%s.%s has %d rows, want %d", w.Name, c.Name, g.Len(), c.Slice.Len())
					break
				}
				a, b := g.Index(row).Interface(), c.Slice.Index(row).Interface()
				if id, ok := a.(model.StringID); ok {
					a, b = got.Strings.Text(id), want.Strings.Text(b.(model.StringID))
				}
				if fmt.Sprint(a) != fmt.Sprint(b) {
					t.Errorf("%s.%s row %d is %v, want %v", w.Name, c.Name, row, a, b)
				}
			}
		}
	}
	g, w := reflect.ValueOf(got).Elem(), reflect.ValueOf(want).Elem()
	for i := range g.NumField() {
		name := g.Type().Field(i).Name
		if k := g.Field(i).Kind(); name == "Strings" || name == "Losses" || k == reflect.Struct && name != "Info" &&
			name != "Epoch" {
			continue
		}
		if !reflect.DeepEqual(g.Field(i).Interface(), w.Field(i).Interface()) {
			t.Errorf("%s is\n%+v, want\n%+v", name, g.Field(i).Interface(), w.Field(i).Interface())
		}
	}
	if a, b := got.Losses.All(), want.Losses.All(); !reflect.DeepEqual(a, b) {
		t.Errorf("losses are %v, want %v", a, b)
	}
}

func roundTrip(t *testing.T, trace *model.Trace) {
	t.Helper()
	text := write(t, trace)
	again := parse(t, text)
	compare(t, again, trace)
	if second := write(t, again); second != text {
		t.Errorf("second text differs:\n%s\nfirst:\n%s", second, text)
	}
	if !IsText([]byte(text)) {
		t.Error("IsText does not know it")
	}
}

// Every column of the model survives, whatever is added to the model.
func TestRoundTripFull(t *testing.T) { roundTrip(t, full()) }

// A column that is absent stays absent and one that is all default stays there.
func TestRoundTripColumns(t *testing.T) {
	names := full().Tables()
	for i, table := range names {
		for j, c := range table.Columns {
			if strings.HasSuffix(c.Name, "Ns") || c.Name == "Track" {
				continue
			}
			trace := full()
			s := trace.Tables()[i].Columns[j].Slice
			s.Set(reflect.Zero(s.Type()))
			roundTrip(t, trace)
			s.Set(reflect.MakeSlice(s.Type(), 3, 3)) // all zero
			roundTrip(t, trace)
			if t.Failed() {
				t.Fatalf("at %s.%s", table.Name, c.Name)
			}
		}
	}
}

func TestRoundTripAbsent(t *testing.T) {
	roundTrip(t, newTrace())
	roundTrip(t, &model.Trace{})
	roundTrip(t, parse(t,
		"call t- 5+6 x\nkernel d- s- p2 1+2 a\nalloc d- addr=0x7f00 deltabytes=-5 3\nrange 5+open\ncopy gbs=NaN "+
			"1+2\nsample stack=- 4"))
}

type failing struct{ after int }

func (f *failing) Write(b []byte) (int, error) {
	if f.after -= len(b); f.after < 0 {
		return 0, fmt.Errorf("disk full")
	}
	return len(b), nil
}

func TestWriteError(t *testing.T) {
	if err := Write(&failing{10}, full()); err == nil || err.Error() != "disk full" {
		t.Errorf("error is %v", err)
	}
}

func FuzzParse(f *testing.F) {
	var b bytes.Buffer
	if err := Write(&b, full()); err != nil {
		f.Fatal(err)
	}
	for line := range strings.Lines(b.String()) {
		f.Add(line)
	}
	f.Add(b.String())
	f.Add("step 0+1000\nkernel s7 100+200 gemm\nthread 2 pid=10 main\ncolumns op -name +shapes\nop 5+6\nwarning " +
		"x\nloaded 0x5\n")
	f.Fuzz(func(t *testing.T, text string) {
		trace, err := Parse(text)
		if err != nil {
			return
		}
		first := write(t, trace)
		again, err := Parse(first)
		if err != nil {
			t.Fatalf("%v\n%s", err, first)
		}
		if second := write(t, again); second != first {
			t.Fatalf("first\n%s\nsecond\n%s", first, second)
		}
	})
}

func synthetic(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "call c%d %d+5000 cudaLaunchKernel\nkernel s%d c%d grid=%dx1x1 %d+9000 void "+
			"at::native::vectorized_elementwise_kernel<4>\n", i, i*10000, 7+i%3, i, i%100, i*10000+6000)
	}
	return b.String()
}

func BenchmarkParse(b *testing.B) {
	text := synthetic(50_000)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if _, err := Parse(text); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkWrite(b *testing.B) {
	trace := parse(b, synthetic(50_000))
	b.SetBytes(int64(len(write(b, trace))))
	for b.Loop() {
		if err := Write(discard{}, trace); err != nil {
			b.Fatal(err)
		}
	}
}

type discard struct{}

func (discard) Write(b []byte) (int, error) { return len(b), nil }
