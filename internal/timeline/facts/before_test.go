package facts

import (
	"strings"
	"testing"

	"lacuna/internal/base/interval"
	"lacuna/internal/timeline/evtext"
)

// A prefill of 5 ms runs when the capture begins: what is queued behind it, on its stream, waits, and so does the host.
const behindPrefill = `
call c1 10us+5us cudaLaunchKernel
kernel s9 c1 20us+5us prepare
call c2 30us+5us cudaLaunchKernel
kernel s7 c2 5100us+50us resolve
call c3 40us+5120us cudaMemcpyAsync
copy DtoH device->pageable s7 c3 bytes=256 5155us+2us
call c4 5170us+5us cudaLaunchKernel
kernel s7 c4 5180us+900us decode
`

func TestUnseen(t *testing.T) {
	for _, x := range []struct {
		name, events string
		want         interval.Span // empty: none
		window       interval.Span
	}{
		{"the host waits behind earlier work", behindPrefill,
			interval.Span{StartNs: 35_000, EndNs: 5_100_000}, interval.Span{StartNs: 5_100_000, EndNs: 6_080_000}},
		{"the host does not wait", strings.Replace(behindPrefill, "40us+5120us cudaMemcpyAsync",
			"40us+20us cudaMemcpyAsync", 1), interval.Span{}, interval.Span{StartNs: 5_100_000, EndNs: 6_080_000}},
		{"the stream has done work before", strings.Replace(behindPrefill, "kernel s9", "kernel s7", 1),
			interval.Span{},
			interval.Span{StartNs: 5_100_000, EndNs: 6_080_000}},
		{"the process makes its first context in the capture", "call 1us+5us cuInit\n" + behindPrefill, interval.Span{},
			interval.Span{StartNs: 5_100_000, EndNs: 6_080_000}},
		{"another device, which may be waited for, works meanwhile",
			behindPrefill + "kernel d1 s9 100us+4000us stage", interval.Span{},
			interval.Span{StartNs: 20_000, EndNs: 6_080_000}},
		{"recorded work runs meanwhile",
			strings.Replace(behindPrefill, "20us+5us prepare", "20us+5070us prepare", 1), interval.Span{},
			interval.Span{StartNs: 20_000, EndNs: 6_080_000}},
	} {
		trace, err := evtext.Parse(x.events)
		if err != nil {
			t.Fatal(err)
		}
		f := Of(trace)
		var got interval.Span
		if u := f.Unseen(); len(u) > 0 {
			got = u[0].Span
		}
		if got != x.want {
			t.Errorf("%s: unseen %v, want %v", x.name, got, x.want)
		}
		s, err := f.Steps()
		if err != nil {
			t.Fatal(err)
		}
		if s.Window() != x.window {
			t.Errorf("%s: window %v, want %v", x.name, s.Window(), x.window)
		}
		if noted := strings.Contains(s.Note, "launched before the capture"); noted != (x.want.LenNs() > 0) {
			t.Errorf("%s: note %q", x.name, s.Note)
		}
	}
}

// Steps that begin behind work from before the capture are left out; of a single one that time is.
func TestDropUnseen(t *testing.T) {
	one := "range annotation 0us+6100us step_0\n" + strings.Replace(behindPrefill, "kernel s9 c1 20us+5us prepare",
		"kernel s9 c1 20us+3000us prepare", 1) // the busiest stream has it
	one = strings.Replace(one, "5180us+900us decode", "5180us+90us decode", 1)
	more := one + "range annotation 6100us+100us step_1\ncall c5 6110us+5us cudaLaunchKernel\n" +
		"kernel s9 c5 6120us+50us a\n" +
		"range annotation 6200us+100us step_2\ncall c6 6210us+5us cudaLaunchKernel\nkernel s9 c6 6220us+50us a\n"
	for _, x := range []struct {
		name, events string
		window       interval.Span
		startup      int
	}{
		{"one step", one, interval.Span{StartNs: 5_100_000, EndNs: 5_270_000}, 0},
		{"several", more, interval.Span{StartNs: 6_120_000, EndNs: 6_220_000}, 1},
	} {
		trace, err := evtext.Parse(x.events)
		if err != nil {
			t.Fatal(err)
		}
		s, err := Of(trace).Steps()
		if err != nil {
			t.Fatal(err)
		}
		if s.Window() != x.window || len(s.Startup) != x.startup || s.Source == StepsNone {
			t.Errorf("%s: window %v, %d left out, by %s; want %v, %d", x.name, s.Window(), len(s.Startup), s.Source,
				x.window, x.startup)
		}
	}
}

// What a range holds belongs to it in every part of a capture, whenever it began: short pauses between launches too.
func TestCapturePartsEnclosed(t *testing.T) {
	trace, err := evtext.Parse(`
range t1 0us+9000us inference
call t1 c1 2000us+5us cudaLaunchKernel
kernel c1 2010us+8000us solve
call t1 c2 2050us+5us cudaLaunchKernel
kernel c2 10020us+20us solve
call t1 c3 2100us+8000us cudaDeviceSynchronize
`)
	if err != nil {
		t.Fatal(err)
	}
	f := Of(trace)
	s, err := f.Steps()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range f.CaptureParts(s) {
		for _, h := range p.Host {
			if h.What == "" {
				t.Errorf("%s: %d ns without a name: %+v", p.Kind, h.Ns, p.Host)
			}
		}
	}
}

// The parts follow one another: memory is cleared, a file is read, the main work, results are written.
func TestCaptureParts(t *testing.T) {
	trace, err := evtext.Parse(`
call c1 0us+900us cudaMalloc
call c2 910us+5us cudaMemsetAsync
set c2 920us+2us
os 930us+2000us read
call c3 3000us+5us cudaLaunchKernel
kernel c3 3010us+1000us solve
call c4 3010us+1005us cudaDeviceSynchronize
os 4100us+400us write
`)
	if err != nil {
		t.Fatal(err)
	}
	f := Of(trace)
	s, err := f.Steps()
	if err != nil {
		t.Fatal(err)
	}
	parts := f.CaptureParts(s)
	if len(parts) != 3 {
		t.Fatalf("%d parts, want 3: %+v", len(parts), parts)
	}
	for i, want := range []struct {
		kind       PartKind
		start, end int64
		busyNs     int64
		what       string
		ns         int64
	}{
		{PartStart, 0, 3_010_000, 2_000, "read", 2_000_000},
		{PartMain, 3_010_000, 4_010_000, 1_000_000, "cudaDeviceSynchronize", 1_000_000},
		{PartEnd, 4_010_000, 4_500_000, 0, "write", 400_000},
	} {
		p := parts[i]
		if p.Kind != want.kind || p.StartNs != want.start || p.EndNs != want.end || p.BusyNs != want.busyNs {
			t.Errorf("part %d: %s %d to %d, busy %d; want %+v", i, p.Kind, p.StartNs, p.EndNs, p.BusyNs, want)
		}
		if len(p.Host) == 0 || p.Host[0].What != want.what || p.Host[0].Ns != want.ns {
			t.Errorf("part %d: host %+v, want %s %d first", i, p.Host, want.what, want.ns)
		}
		sum := int64(0)
		for _, h := range p.Host {
			sum += h.Ns
		}
		if sum != p.LenNs() {
			t.Errorf("part %d: the host's doings sum to %d, want %d", i, sum, p.LenNs())
		}
	}
}
