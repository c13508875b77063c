// Package facts derives once what is true of a capture: which call launched a kernel, when a
// device was busy, where steps begin, what a host thread did. Tables, rules and reports only
// look. Facts cannot tell which tool made the capture.
//
// Every fact is a method of Facts that computes on first use and keeps its answer.
package facts

import (
	"maps"
	"sync"
	"sync/atomic"

	"lacuna/internal/model"
)

// Facts is what follows from one capture.
type Facts struct {
	Trace *model.Trace
	steps StepOptions // which steps are looked at

	mu    sync.Mutex                       // held while a slot is added
	slots atomic.Pointer[map[string]*slot] // never changed, but replaced
	work  atomic.Pointer[Work]             // what Work answers: asked once for each row by some
}

type slot struct {
	once  sync.Once
	value any
}

// Of prepares the facts of a capture. Nothing is computed yet.
func Of(t *model.Trace) *Facts { return With(t, StepOptions{}) }

// With is Of where the steps to look at were asked for: all facts are of these.
func With(t *model.Trace, steps StepOptions) *Facts {
	f := &Facts{Trace: t, steps: steps}
	f.slots.Store(&map[string]*slot{})
	return f
}

// fact is the answer of compute, which runs on first use. name is the fact's own.
func fact[T any](f *Facts, name string, compute func() T) T {
	s := (*f.slots.Load())[name]
	if s == nil {
		s = f.newSlot(name)
	}
	s.once.Do(func() { s.value = compute() })
	return s.value.(T)
}

// newSlot adds a slot, unless another goroutine has done so in the meantime.
func (f *Facts) newSlot(name string) *slot {
	f.mu.Lock()
	defer f.mu.Unlock()
	old := *f.slots.Load()
	if s := old[name]; s != nil {
		return s
	}
	slots := maps.Clone(old)
	slots[name] = new(slot)
	f.slots.Store(&slots)
	return slots[name]
}
