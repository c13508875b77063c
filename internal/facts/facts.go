// Package facts derives once what is true of a capture: which call launched a kernel, when a
// device was busy, where steps begin, what a host thread did. Tables, rules and reports only
// look. Facts cannot tell which tool made the capture.
//
// Every fact is a method of Facts that computes on first use and keeps its answer.
package facts

import (
	"sync"

	"lacuna/internal/model"
)

// Facts is what follows from one capture.
type Facts struct {
	Trace *model.Trace
	// Asked is which steps the user wants; whoever opens a capture may set it before anything is asked.
	Asked StepOptions

	mu    sync.Mutex
	slots map[string]*slot // guarded by mu
}

type slot struct {
	once  sync.Once
	value any
}

// Of prepares the facts of a capture. Nothing is computed yet.
func Of(t *model.Trace) *Facts { return &Facts{Trace: t, slots: make(map[string]*slot)} }

// fact is the answer of compute, which runs on first use. name is the fact's own.
func fact[T any](f *Facts, name string, compute func() T) T {
	f.mu.Lock()
	s := f.slots[name]
	if s == nil {
		s = new(slot)
		f.slots[name] = s
	}
	f.mu.Unlock()
	s.once.Do(func() { s.value = compute() })
	return s.value.(T)
}

// AskedSteps is the steps that the user wants.
func (f *Facts) AskedSteps() (*Steps, error) { return f.Steps(f.Asked) }
