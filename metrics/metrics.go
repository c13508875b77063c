// Package metrics writes what a program measures of itself as lacuna.metrics/1, for lacuna bench, check, diff and
// history. It needs nothing but the standard library.
//
//	r := metrics.New()
//	for _, batch := range batches {
//		stop := r.Step()
//		train(batch)
//		stop()
//	}
//	r.Add("tokens_per_s", "/s", metrics.Higher, 1234)
//	err := r.Write("") // to the file in $LACUNA_METRICS, which lacuna bench sets; without it nothing is written
package metrics

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"
)

// Variable names the file that lacuna bench wants the measures in.
const Variable = "LACUNA_METRICS"

// Schema is what the file says of itself.
const Schema = "lacuna.metrics/1"

// A Better says which way is good.
type Better string

// The ways.
const (
	Lower   Better = "lower"
	Higher  Better = "higher"
	Neither Better = "neither"
)

// A Run is one execution of a program. Its methods may be called from several goroutines.
type Run struct {
	mutex    sync.Mutex
	began    time.Time
	machine  map[string]any
	labels   map[string]string
	measures map[string]*entry
}

type entry struct {
	Unit   string    `json:"unit"`
	Better Better    `json:"better"`
	Values []float64 `json:"values"`
}

// New begins a run.
func New() *Run {
	host, _ := os.Hostname()
	return &Run{began: time.Now(), machine: map[string]any{"host": host,
		"libraries": map[string]string{"go": runtime.Version()}},
		labels: make(map[string]string), measures: make(map[string]*entry)}
}

// Label says something of the run: a commit, a configuration.
func (r *Run) Label(name, value string) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.labels[name] = value
}

// GPU says what the program runs on, if the caller knows: the name as nvidia-smi has it and how many are used.
func (r *Run) GPU(name string, count int) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.machine["gpu"], r.machine["gpus"] = name, count
}

// Step begins a step and returns what ends it: the wall time between is one sample of "step", in ms. A program whose
// GPU works on its own must wait for it before it ends the step.
func (r *Run) Step() (end func()) {
	began := time.Now()
	var once sync.Once
	return func() {
		took := time.Since(began)
		once.Do(func() { _ = r.Add("step", "ms", Lower, float64(took.Nanoseconds())/1e6) })
	}
}

// Add adds samples of a measure. The unit and the way are those of its first samples.
func (r *Run) Add(name, unit string, better Better, values ...float64) error {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	m := r.measures[name]
	switch {
	case name == "":
		return fmt.Errorf("a measure needs a name")
	case better != Lower && better != Higher && better != Neither:
		return fmt.Errorf("measure %s: better is %q, want lower, higher or neither", name, better)
	case m != nil && (m.Unit != unit || m.Better != better):
		return fmt.Errorf("measure %s: was in %q, %s better; now %q, %s", name, m.Unit, m.Better, unit, better)
	}
	for _, x := range values {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return fmt.Errorf("measure %s: %v is not a number", name, x)
		}
	}
	if m == nil && len(values) > 0 {
		m = &entry{Unit: unit, Better: better}
		r.measures[name] = m
	}
	if m != nil {
		m.Values = append(m.Values, values...)
	}
	return nil
}

// Write writes the run to a file, whole or not at all. Without a path it is the file in $LACUNA_METRICS; if there is
// none, nothing is written. A run without measures is not written either.
func (r *Run) Write(path string) error {
	if path == "" {
		path = os.Getenv(Variable)
	}
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if path == "" || len(r.measures) == 0 {
		return nil
	}
	program := ""
	if len(os.Args) > 0 {
		program = filepath.Base(os.Args[0])
	}
	text, err := json.MarshalIndent(map[string]any{"schema": Schema, "program": program, "runs": []any{map[string]any{
		"started": r.began.UTC().Format(time.RFC3339), "machine": r.machine, "labels": r.labels,
		"measures": r.measures}}}, "", " ")
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+strings.TrimPrefix(filepath.Base(path), ".")+".*")
	if err != nil {
		return err
	}
	_, err = f.Write(append(text, '\n'))
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}
