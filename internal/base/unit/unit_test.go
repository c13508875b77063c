package unit

import (
	"fmt"
	"math"
	"testing"
)

func TestFormatNs(t *testing.T) {
	for _, test := range []struct {
		ns   int64
		want string
	}{
		{0, "0ns"},
		{999, "999ns"},
		{1_000, "1.000µs"},
		{-1_500, "-1.500µs"},
		{999_999, "999.999µs"},
		{999_999_499, "999.999ms"},
		{999_999_500, "1.000s"}, // not "1000.000ms"
		{1_234_567_890_123, "1,234.568s"},
		{math.MinInt64, "-9,223,372,036.855s"},
	} {
		if got := FormatNs(test.ns); got != test.want {
			t.Errorf("FormatNs(%d) = %q, want %q", test.ns, got, test.want)
		}
	}
}

// The values and results of SQLite 3.42, where correct rounding of the binary value differs in the first five.
func TestRound1(t *testing.T) {
	for _, test := range []struct{ x, want float64 }{
		{0.15, 0.2}, {0.35, 0.4}, {1.45, 1.5}, {2.675, 2.7}, {1.05, 1.1},
		{0.25, 0.3}, {0.45, 0.5}, {-0.15, -0.2}, {0.05, 0.1}, {0.04999999999999, 0},
		{0, 0}, {100, 100}, {2003998.25, 2003998.3}, {2003998.3333333, 2003998.3}, {99.95, 100},
		{1099511627776.25, 1099511627776.3}, {5e15, 5e15}, {1e300, 1e300},
		// all as SQLite does it
		{3941.049999999999, 3941.1}, {283998884951846.25, 283998884951846.2}, {1470445682463955.8, 1470445682463955},
	} {
		if got := Round1(test.x); got != test.want {
			t.Errorf("Round1(%v) = %v, want %v", test.x, got, test.want)
		}
	}
	if got := Round1(math.NaN()); !math.IsNaN(got) {
		t.Errorf("Round1(NaN) = %v", got)
	}
}

// Every tie of two decimals goes up, as SQLite's help with 3e-16 makes it.
func TestRound1Ties(t *testing.T) {
	for n := range 100_000 {
		x := float64(n*10+5) / 100
		if got, want := Round1(x), float64(n+1)/10; got != want {
			t.Fatalf("Round1(%v) = %v, want %v", x, got, want)
		}
	}
}

func TestAppend(t *testing.T) {
	for _, test := range []struct {
		unit Unit
		v    any
		want string
	}{
		{Count, int64(1234567), "1234567"}, {ID, int64(-1), "-1"}, {Count, 20.0, "20"}, {Count, 2.5, "2.5"},
		{Ns, int64(-5), "-5"}, {Ns, 1e6, "1000000"},
		{NsFloat, 100.0, "100.0"}, {NsFloat, 2003998.25, "2003998.3"}, {NsFloat, int64(7), "7.0"},
		{NsFloat, -0.01, "0.0"},
		{Percent1, 0.15, "0.2"}, {Number1, 0.35, "0.4"}, {Number1, int64(3), "3.0"}, {Percent2, 97.126, "97.13"},
		{Percent2, int64(3), "3.00"},
		{Us, int64(1234567), "1234.567"}, {Us, int64(-5), "-0.005"}, {Us, 1500.0, "1.500"},
		{Us, int64(math.MinInt64), "-9223372036854775.808"},
		{Ms, int64(1234567), "1.234567"}, {Ms, 1.5e6, "1.500000"},
		{MB, 536.8709, "536.871"}, {MB, int64(2), "2.000"}, {MBps, 13000.0, "13000.000"},
		{GBps, 0.006494534948482317, "0.006494534948482317"}, {GBps, 1451.4314980793854, "1451.4314980793854"},
		{Number, 1234567.0, "1234567"}, {Number, 1e-9, "1e-09"}, {Number, 1e20, "1e+20"}, {Ratio, 0.25, "0.25"},
		{Number, math.Copysign(0, -1), "0"},
		{Number, math.NaN(), ""}, {NsFloat, math.Inf(1), ""},
	} {
		var got []byte
		switch v := test.v.(type) {
		case int64:
			got = test.unit.AppendInt(nil, v)
		case float64:
			got = test.unit.AppendFloat(nil, v)
		}
		if string(got) != test.want {
			t.Errorf("unit %d of %v is %q, want %q", test.unit, test.v, got, test.want)
		}
	}
}

func TestNames(t *testing.T) {
	for _, test := range []struct {
		unit              Unit
		name, header, key string
	}{
		{Ns, "Total Time", "Total Time (ns)", "total_time_ns"},
		{NsFloat, "Avg", "Avg (ns)", "avg_ns"},
		{Percent1, "Time", "Time (%)", "time_pct"},
		{MB, "Total", "Total (MB)", "total_mb"},
		{MBps, "Throughput", "Throughput (MB/s)", "throughput_mb_per_s"},
		{Us, "Self CPU", "Self CPU (us)", "self_cpu_us"},
		{Percent2, "idle_time_pctg", "idle_time_pctg", "idle_time_pctg"},
		{GBps, "memory_bw_gbps.25%", "memory_bw_gbps.25%", "memory_bw_gbps_25pct"},
		{Number, "queue_length.max", "queue_length.max", "queue_length_max"},
		{Count, "NumGPUOps", "NumGPUOps", "num_gpu_ops"},
		{Text, "GridXYZ", "GridXYZ", "grid_xyz"},
		{NsFloat, "TStdDev", "TStdDev (ns)", "t_std_dev_ns"},
		{ID, "PID", "PID", "pid"},
		{Bytes, "Bytes", "Bytes", "bytes"},
		{Bytes, "Size", "Size (bytes)", "size_bytes"},
	} {
		if got := test.unit.Header(test.name); got != test.header {
			t.Errorf("Header(%q) = %q, want %q", test.name, got, test.header)
		}
		if got := test.unit.Key(test.name); got != test.key {
			t.Errorf("Key(%q) = %q, want %q", test.name, got, test.key)
		}
	}
}

func TestScale(t *testing.T) {
	for _, test := range []struct {
		unit    Unit
		largest float64
		head    string
		values  string
	}{
		{Ns, 999, "T (ns)", "0 1 999 - <1 -5"},
		{Ns, 999_999.6, "T (ms)", "0.000 <0.001 0.001 - <0.001 >-0.001"},
		{NsFloat, 812, "T (ns)", "0.0 1.0 999.0 - 0.2 -5.0"},
		{Ns, 5e6, "T (ms)", "0.000 <0.001 0.001 - <0.001 >-0.001"},
		{Ns, 5e12, "T (s)", "0.000 <0.001 <0.001 - <0.001 >-0.001"},
		{Count, 5e9, "T", "0 1 999 - <1 -5"},
		{Percent1, 100, "T (%)", "0.0 1.0 999.0 - 0.2 -5.0"},
		{Percent1, 0.04, "T (%)", "0.0 1.0 999.0 - 0.2 -5.0"},
		{Bytes, 4096, "T (kB)", "0.000 0.001 0.999 - <0.001 -0.005"},
		{Number, 3, "T", "0 1 999 - 0.150 -5"},
		{ID, 1e9, "T", "0 1 999 - 0.15 -5"},
	} {
		s := ScaleOf(test.unit, test.largest)
		if got := s.Header("T"); got != test.head {
			t.Errorf("unit %d up to %v has head %q, want %q", test.unit, test.largest, got, test.head)
		}
		got := fmt.Sprint(s.Int(0), " ", s.Int(1), " ", s.Int(999), " ", s.Float(math.NaN()), " ", s.Float(0.15), " ",
			s.Float(-5))
		if got != test.values {
			t.Errorf("unit %d up to %v prints %q, want %q", test.unit, test.largest, got, test.values)
		}
	}
	if got := ScaleOf(Percent1, 100).Float(0.04); got != "<0.1" {
		t.Errorf("0.04 %% prints %q", got)
	}
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", -1234567: "-1,234,567",
		100000: "100,000"} {
		if got := FormatCount(n); got != want {
			t.Errorf("FormatCount(%d) = %q, want %q", n, got, want)
		}
	}
	if got := FormatBytes(4096); got != "4.096 kB" {
		t.Errorf("FormatBytes(4096) = %q", got)
	}
	for n, want := range map[int64]string{512: "512 bytes", 49152: "48 KiB", 62_914_560: "60 MiB",
		150_110_011_392: "140 GiB", 1_572_864: "1.5 MiB"} {
		if got := FormatMemory(n); got != want {
			t.Errorf("FormatMemory(%d) = %q, want %q", n, got, want)
		}
	}
}

// No value prints with more than three digits before the point on the scale made for it, seconds apart.
func FuzzScale(f *testing.F) {
	f.Add(int64(999_999_500))
	f.Add(int64(999_999))
	f.Fuzz(func(t *testing.T, ns int64) {
		if ns < 0 || ns > 999_999_000_000 {
			return
		}
		if text := FormatNs(ns); len(text) > len("999.999ms")+1 || text[0] == '<' {
			t.Errorf("FormatNs(%d) = %s", ns, text)
		}
	})
}

// TestFormatBinary: sizes of memories and caches are in powers of two, with a decimal where it is not 0.
func TestFormatBinary(t *testing.T) {
	for n, want := range map[int64]string{0: "0 bytes", 512: "512 bytes", 49152: "48 KiB", 62914560: "60 MiB",
		150_110_011_392: "139.8 GiB", 8320: "8.1 KiB"} {
		if got := FormatBinary(n); got != want {
			t.Errorf("FormatBinary(%d) = %q, want %q", n, got, want)
		}
	}
}
