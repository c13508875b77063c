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

	once map[string]*sync.Once // guarded by mu
	mu   sync.Mutex
	facts
}

// Of prepares the facts of a capture. Nothing is computed yet.
func Of(t *model.Trace) *Facts { return &Facts{Trace: t, once: make(map[string]*sync.Once)} }

// do computes a fact on first use. name is the fact's own.
func (f *Facts) do(name string, compute func()) {
	f.mu.Lock()
	o := f.once[name]
	if o == nil {
		o = new(sync.Once)
		f.once[name] = o
	}
	f.mu.Unlock()
	o.Do(compute)
}
