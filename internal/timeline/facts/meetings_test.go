package facts

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"lacuna/internal/timeline/evtext"
)

const allReduce = "ncclDevKernel_AllReduce_Sum_f32_RING_LL"

// rankOf is the capture of a rank whose collectives began and ended at these ns, on a clock that is ahead by so much.
func rankOf(t *testing.T, ahead int64, name string, spans ...[2]int64) *Facts {
	t.Helper()
	var b strings.Builder
	for i, s := range spans {
		fmt.Fprintf(&b, "call c%d %d+10 cudaLaunchKernel\nkernel s20 c%d %d+%d %s\n", i+1, s[0]+ahead-1000, i+1, s[0]+
			ahead, s[1]-s[0], name)
	}
	trace, err := evtext.Parse(b.String())
	if err != nil {
		t.Fatal(err)
	}
	return Of(trace)
}

// irregular is n collectives of 50 µs that do not follow each other at one pace, as no loop's do to the nanosecond.
func irregular(n int) (out [][2]int64) {
	at := int64(1_000_000)
	for i := range n {
		at += 300_000 + int64(i*i*7919%23)*20_000
		out = append(out, [2]int64{at, at + 50_000})
	}
	return out
}

// late is the same collectives of a rank that comes so much later to each, with ends some µs off.
func late(in [][2]int64, ns int64) (out [][2]int64) {
	for i, s := range in {
		out = append(out, [2]int64{s[0] + ns, s[1] + int64(i%3)*1000})
	}
	return out
}

// TestMeet: captures that begin at other collectives, on clocks that have nothing in common, are laid side by side.
func TestMeet(t *testing.T) {
	all := irregular(20)
	second := late(all, 30_000)
	lost := slices.Delete(slices.Clone(second), 9, 10)
	for name, test := range map[string]struct {
		a, b          *Facts
		met, apart    int // collectives that both ran, as places in the captures they are so much apart
		offset, waits int64
	}{
		"other clock": {rankOf(t, 0, allReduce, all...), rankOf(t, 77_000_000, allReduce, second...), 20, 0,
			-77_001_000, 29_000},
		"begins later": {rankOf(t, 0, allReduce, all...), rankOf(t, 5_000_000, allReduce, second[4:]...), 16,
			-4, -5_001_000, 29_000},
		"began earlier": {rankOf(t, 0, allReduce, all[3:]...), rankOf(t, 0, allReduce, second...), 17, 3,
			-1_000, 29_000},
		"a record is missing": {rankOf(t, 0, allReduce, all...), rankOf(t, 0, allReduce, lost...), 19, 0, -1_000,
			29_000},
		"other collectives": {rankOf(t, 0, allReduce, all...),
			rankOf(t, 0, "ncclDevKernel_AllGather_RING_LL", second...), 0, 0, 0, 0},
		"all-to-all, unnamed": {rankOf(t, 0, "ncclDevKernel_SendRecv", all...),
			rankOf(t, 0, "ncclDevKernel_SendRecv", second...), 0, 0, 0, 0},
		"no communication": {rankOf(t, 0, "gemm", all...), rankOf(t, 0, "gemm", second...), 0, 0, 0, 0},
		"nothing to align with": {rankOf(t, 0, allReduce, all[:2]...), rankOf(t, 0, allReduce, second[:2]...), 0, 0, 0,
			0},
	} {
		m := Meet([]*Facts{test.a, test.b})
		if len(m.All) != test.met {
			t.Errorf("%s: %d meetings, want %d", name, len(m.All), test.met)
			continue
		}
		if test.met == 0 {
			continue
		}
		if d := m.OffsetNs[1] - test.offset; d < -1000 || d > 1000 {
			t.Errorf("%s: offset %d, want %d", name, m.OffsetNs[1], test.offset)
		}
		for k := range m.All {
			x := &m.All[k]
			if got := int(x.Rows[1] - x.Rows[0]); got != test.apart && name != "a record is missing" {
				t.Errorf("%s: row %d met row %d", name, x.Rows[0], x.Rows[1])
			}
			if last, _ := m.Last(x); last != 1 || m.WaitNs(x, 1) != 0 {
				t.Errorf("%s: collective %d: party %d came last", name, k, last)
			}
			if d := m.WaitNs(x, 0) - test.waits; d < -2000 || d > 2000 {
				t.Errorf("%s: collective %d: waited %d ns, want about %d", name, k, m.WaitNs(x, 0), test.waits)
			}
		}
	}
}

// TestMeetExchanges: kernels that do not say whether they are an all-to-all meet where all parties are done at one
// moment.
func TestMeetExchanges(t *testing.T) {
	all := irregular(12)
	rank := func(ns int64, exchange [2]int64) *Facts {
		events := fmt.Sprintf("call c99 10+10 cudaLaunchKernel\nkernel s20 c99 %d+%d ncclDevKernel_SendRecv\n",
			exchange[0], exchange[1]-exchange[0])
		for i, s := range late(all, ns) {
			events += fmt.Sprintf("call c%d %d+10 cudaLaunchKernel\nkernel s20 c%d %d+%d %s\n", i+1, s[0]-1000, i+1,
				s[0], s[1]-s[0], allReduce)
		}
		return of(t, events)
	}
	if m := Meet([]*Facts{rank(0, [2]int64{100_000, 400_000}),
		rank(5_000, [2]int64{300_000, 401_000})}); len(m.All) != 13 || m.WaitNs(&m.All[0], 0) < 190_000 {
		t.Errorf("an all-to-all: %d meetings", len(m.All))
	}
	if m := Meet([]*Facts{rank(0, [2]int64{100_000, 400_000}),
		rank(5_000, [2]int64{300_000, 600_000})}); len(m.All) != 12 || m.Met[0] != m.Ran[0] {
		t.Errorf("transfers to others: %d meetings of %v", len(m.All), m.Ran)
	}
}

// TestOneCapture: devices of one capture have one clock.
func TestOneCapture(t *testing.T) {
	var b strings.Builder
	for i := range 5 {
		at := 10_000 + i*300_000
		fmt.Fprintf(&b, "call c%d %d+10 cudaLaunchKernel\nkernel s20 c%d %d+90000 %s\n", 2*i+1, at-1000, 2*i+1, at,
			allReduce)
		fmt.Fprintf(&b, "call c%d %d+10 cudaLaunchKernel\nkernel d1 s20 c%d %d+40000 %s\n", 2*i+2, at-900, 2*i+2, at+
			50_000, allReduce)
	}
	m := Meet([]*Facts{of(t, b.String())})
	if len(m.All) != 5 || m.NameOf(1) != "device 1" || m.OffsetNs[1] != 0 || m.WaitNs(&m.All[2], 0) != 50_000 {
		t.Errorf("%d meetings of %s, offset %v", len(m.All), m.NameOf(1), m.OffsetNs)
	}
}
