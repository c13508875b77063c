package facts

import (
	"sync"
	"sync/atomic"
	"testing"

	"lacuna/internal/timeline/evtext"
)

// BenchmarkKept asks for facts that are known already: what each row of a table may do.
func BenchmarkKept(b *testing.B) {
	trace, err := evtext.Parse("call c1 1+1 cudaLaunchKernel\nkernel c1 100+50 a\n")
	if err != nil {
		b.Fatal(err)
	}
	f := Of(trace)
	for name, ask := range map[string]func(){
		"Work":        func() { f.Work() },
		"Launches":    func() { f.Launches() },
		"CallCauses":  func() { f.CallCauses() },
		"HostThreads": func() { f.hostThreads() },
		"Steps":       func() { _, _ = f.Steps() },
	} {
		ask()
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				ask()
			}
		})
	}
	steps, _ := f.Steps()
	b.Run("Idleness", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			f.Idleness(steps.Window())
		}
	})
	b.Run("New", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			f := Of(trace)
			f.Busiest()
			f.Devices()
			f.hostThreads()
			f.RangeClasses()
		}
	})
}

// TestLazyIsComputedOnce asks from several goroutines at once, for facts of one key and of many.
func TestLazyIsComputedOnce(t *testing.T) {
	var one lazy[int]
	var many keyed[int, int]
	var computed [4]atomic.Int32
	f := Of(nil)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for key := range computed {
				compute := func(*Facts) int { computed[key].Add(1); return key + 1 }
				got := many.of(f, key, compute)
				if key == 0 {
					got = one.of(f, compute)
				}
				if got != key+1 {
					t.Errorf("fact %d is %d", key, got)
				}
			}
		})
	}
	wg.Wait()
	for key := range computed {
		want := int32(1)
		if key == 0 {
			want = 2 // once of each
		}
		if n := computed[key].Load(); n != want {
			t.Errorf("fact %d was computed %d times, want %d", key, n, want)
		}
	}
}

// TestLazyAfterPanic: a fact whose computation ended in a panic is not answered with a zero afterwards.
func TestLazyAfterPanic(t *testing.T) {
	var l lazy[int]
	f := Of(nil)
	func() {
		defer func() { _ = recover() }()
		l.of(f, func(*Facts) int { panic("no") })
	}()
	if got := l.of(f, func(*Facts) int { return 7 }); got != 7 {
		t.Errorf("got %d after a panic, want 7", got)
	}
}
