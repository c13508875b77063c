package facts

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"lacuna/internal/timeline/model"
)

// projectable makes a capture of two threads whose ranges cross, whose calls nest, and some of whose
// launches were recorded twice.
func projectable(random *rand.Rand) *model.Trace {
	t := &model.Trace{Processes: make([]model.Process, 1), Threads: make([]model.Thread, 2)}
	thread := func() model.ThreadRow { return model.ThreadRow(random.IntN(2)) }
	for range random.IntN(12) {
		t.Ranges.StartNs = append(t.Ranges.StartNs, random.Int64N(60))
		t.Ranges.DurNs = append(t.Ranges.DurNs, random.Int64N(40)-1)
		t.Ranges.Thread = append(t.Ranges.Thread, thread())
		t.Ranges.EndThread = append(t.Ranges.EndThread,
			[]model.ThreadRow{model.NoThread, model.NoThread, 0}[random.IntN(3)])
	}
	for i := range uint32(1 + random.IntN(10)) {
		th := thread()
		for range 1 + random.IntN(3) {
			t.Calls.StartNs = append(t.Calls.StartNs, random.Int64N(70))
			t.Calls.DurNs = append(t.Calls.DurNs, random.Int64N(12))
			t.Calls.Thread = append(t.Calls.Thread, th)
			t.Calls.Corr = append(t.Calls.Corr, i)
		}
	}
	for range random.IntN(12) {
		t.Kernels.StartNs = append(t.Kernels.StartNs, 100+random.Int64N(50))
		t.Kernels.DurNs = append(t.Kernels.DurNs, random.Int64N(10))
		t.Kernels.Corr = append(t.Kernels.Corr, uint32(random.IntN(12)))
		t.Kernels.Process = append(t.Kernels.Process, 0)
		t.Copies.StartNs = append(t.Copies.StartNs, 100+random.Int64N(50))
		t.Copies.DurNs = append(t.Copies.DurNs, random.Int64N(10))
		t.Copies.Corr = append(t.Copies.Corr, uint32(random.IntN(12)))
		t.Copies.Process = append(t.Copies.Process, 0)
	}
	t.Finish()
	return t
}

// around says whether a range contains a call, by the definition.
func around(t *model.Trace, row, call int) bool {
	r, c := &t.Ranges, &t.Calls
	return r.DurNs[row] >= 0 && r.Thread[row] == c.Thread[call] &&
		(r.EndThread[row] == model.NoThread || r.EndThread[row] == r.Thread[row]) &&
		r.StartNs[row] <= c.StartNs[call] && c.EndNs(call) <= r.EndNs(row)
}

// Projection, InnermostRange and EachEnclosing are their definitions, whatever crosses or nests.
func TestProjectionIsItsDefinition(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for round := range 2000 {
		trace := projectable(random)
		f := Of(trace)
		got, innermost := f.Projection(), f.InnermostRange()
		var pairs, wantPairs []string
		f.EachEnclosing(func(call, first int32, rows []int32) bool {
			for _, row := range rows {
				pairs = append(pairs, fmt.Sprint(call, " in ", row))
			}
			if trace.Calls.Corr[call] != trace.Calls.Corr[first] || first > call {
				t.Fatalf("round %d: call %d has the ID of %d", round, call, first)
			}
			return true
		})
		issues := make(map[uint32][][2]int64)
		for _, a := range []*model.Activity{&trace.Kernels.Activity, &trace.Copies.Activity} {
			for i, corr := range a.Corr {
				issues[corr] = append(issues[corr], [2]int64{a.StartNs[i], a.EndNs(i)})
			}
		}
		for row := range trace.Ranges.StartNs {
			want, ids := noWork, make(map[uint32]bool)
			for call, corr := range trace.Calls.Corr {
				if !around(trace, row, call) {
					continue
				}
				for _, work := range issues[corr] {
					ids[corr] = true
					want.join(projected{work[0], work[1], 0})
				}
			}
			if want.ops = int32(len(ids)); want.ops == 0 {
				want = projected{}
			}
			if have := (projected{got.StartNs[row], got.EndNs[row], got.Ops[row]}); have != want {
				t.Fatalf("round %d: range %d projects to %v, want %v", round, row, have, want)
			}
		}
		for call, corr := range trace.Calls.Corr {
			want := NotNested
			for row := range trace.Ranges.StartNs {
				if len(issues[corr]) > 0 && around(trace, row, call) {
					wantPairs = append(wantPairs, fmt.Sprint(call, " in ", row))
					want = int32(row)
				}
			}
			if innermost[call] != want && (want == NotNested || innermost[call] == NotNested ||
				trace.Ranges.StartNs[innermost[call]] != trace.Ranges.StartNs[want]) {
				t.Fatalf("round %d: call %d lies in %d, want %d", round, call, innermost[call], want)
			}
		}
		if !slices.Equal(pairs, wantPairs) {
			t.Fatalf("round %d: pairs %v, want %v", round, pairs, wantPairs)
		}
	}
}

// More calls with one correlation ID than an API can nest are told apart by nothing: the first is used.
func TestTwinsAreFew(t *testing.T) {
	trace := &model.Trace{Processes: make([]model.Process, 1), Threads: make([]model.Thread, 1)}
	for i := range 10 {
		trace.Calls.StartNs = append(trace.Calls.StartNs, int64(i))
		trace.Calls.DurNs = append(trace.Calls.DurNs, 1)
		trace.Calls.Thread = append(trace.Calls.Thread, 0)
		trace.Calls.Corr = append(trace.Calls.Corr, min(uint32(i), 4))
	}
	if twins := Of(trace).Twins(); len(twins) != 0 {
		t.Errorf("six calls share an ID: twins %v, want none", twins)
	}
	trace.Calls.Corr[9] = 3
	if twins := Of(trace).Twins(); len(twins) != 1 || !slices.Equal(twins[3], []int32{9}) {
		t.Errorf("twins %v, want 9 for 3", twins)
	}
}

func BenchmarkProjection(b *testing.B) {
	for _, n := range []int{40_000, 1_700_000} {
		b.Run(fmt.Sprintf("ranges=%d", n), func(b *testing.B) {
			trace := nestedRanges(n)
			b.ReportAllocs()
			for b.Loop() {
				f := Of(trace)
				f.Projection()
				f.RangeTree()
			}
			b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "ranges/s")
		})
	}
}

// nestedRanges is n ranges of five levels, a kernel launch in each innermost one.
func nestedRanges(n int) *model.Trace {
	t := &model.Trace{Processes: make([]model.Process, 1), Threads: make([]model.Thread, 1)}
	for i := range int64(n / 5) {
		for level := range int64(5) {
			t.Ranges.StartNs = append(t.Ranges.StartNs, i*1000+level)
			t.Ranges.DurNs = append(t.Ranges.DurNs, 900-2*level)
			t.Ranges.Thread = append(t.Ranges.Thread, 0)
		}
		t.Calls.StartNs = append(t.Calls.StartNs, i*1000+10)
		t.Calls.DurNs = append(t.Calls.DurNs, 100)
		t.Calls.Thread = append(t.Calls.Thread, 0)
		t.Calls.Corr = append(t.Calls.Corr, uint32(i))
		t.Kernels.StartNs = append(t.Kernels.StartNs, i*1000+500)
		t.Kernels.DurNs = append(t.Kernels.DurNs, 500)
		t.Kernels.Process = append(t.Kernels.Process, 0)
		t.Kernels.Corr = append(t.Kernels.Corr, uint32(i))
	}
	t.Finish()
	return t
}
