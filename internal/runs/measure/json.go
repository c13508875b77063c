package measure

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"time"
)

// Schema is what a file of measures says of itself.
const Schema = "lacuna.metrics/1"

// IsMetrics says whether a file that begins with head is one of measures.
func IsMetrics(head []byte) bool {
	head = head[:min(len(head), 4096)]
	return bytes.HasPrefix(bytes.TrimLeft(head, " \t\r\n\ufeff"), []byte("{")) &&
		bytes.Contains(head, []byte(`"lacuna.metrics/`))
}

// The file, docs/formats/metrics.md. Machine and labels of the file hold for runs that have none of their own.
type file struct {
	Schema  string            `json:"schema"`
	Program string            `json:"program,omitempty"`
	Labels  map[string]string `json:"labels,omitempty"`
	Machine *fileMachine      `json:"machine,omitempty"`
	Runs    []fileRun         `json:"runs"`
}

type fileMachine struct {
	Host      string            `json:"host,omitempty"`
	GPU       string            `json:"gpu,omitempty"`
	GPUs      int               `json:"gpus,omitempty"`
	Driver    string            `json:"driver,omitempty"`
	CUDA      string            `json:"cuda,omitempty"`
	Clocks    string            `json:"clocks,omitempty"`
	Libraries map[string]string `json:"libraries,omitempty"`
}

type fileRun struct {
	Name       string                   `json:"name,omitempty"`
	Program    string                   `json:"program,omitempty"`
	Started    string                   `json:"started,omitempty"` // RFC 3339
	Tool       string                   `json:"tool,omitempty"`
	Profile    string                   `json:"profile,omitempty"`
	Labels     map[string]string        `json:"labels,omitempty"`
	Machine    *fileMachine             `json:"machine,omitempty"`
	Conditions map[string]fileCondition `json:"conditions,omitempty"`
	Measures   map[string]fileMeasure   `json:"measures"`
}

type fileCondition struct {
	Min    float64 `json:"min"`
	Median float64 `json:"median"`
	Max    float64 `json:"max"`
	Text   string  `json:"text,omitempty"`
}

type fileMeasure struct {
	Unit   string  `json:"unit"`
	Better string  `json:"better,omitempty"` // lower, if not said
	Values numbers `json:"values"`
}

// numbers is a list in which a null, which some programs write for no number, is an error and not a zero.
type numbers []float64

func (n *numbers) UnmarshalJSON(text []byte) error {
	if bytes.Contains(text, []byte("null")) {
		return errors.New("values has a null, want numbers")
	}
	return json.Unmarshal(text, (*[]float64)(n))
}

// Read reads a file of measures. Fields that it does not know are passed over.
func Read(r io.Reader) ([]*Run, error) {
	var f file
	d := json.NewDecoder(r)
	if err := d.Decode(&f); err != nil {
		return nil, fmt.Errorf("no %s file: %w", Schema, err)
	}
	if f.Schema != Schema {
		return nil, fmt.Errorf("schema is %.40q, want %q", f.Schema, Schema)
	}
	var out []*Run
	for i, run := range f.Runs {
		one, err := run.run(&f)
		if err != nil {
			return nil, fmt.Errorf("runs[%d]: %w", i, err)
		}
		out = append(out, one)
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("it has no runs")
	}
	return out, nil
}

func (r fileRun) run(f *file) (*Run, error) {
	out := &Run{Name: r.Name, Program: first(r.Program, f.Program), Tool: r.Tool, Profile: r.Profile,
		Labels: pairs(r.Labels)}
	for _, l := range pairs(f.Labels) {
		if find(out.Labels, l.Name) == "" {
			out.Labels = append(out.Labels, l)
		}
	}
	if r.Started != "" {
		at, err := time.Parse(time.RFC3339, r.Started)
		if err != nil {
			return nil, fmt.Errorf("started is %.40q, want a time such as 2026-11-21T14:00:00Z", r.Started)
		}
		out.Started = at.Unix()
	}
	m := r.Machine
	if m == nil {
		m = f.Machine
	}
	if m != nil {
		out.Machine = Machine{m.Host, m.GPU, m.GPUs, m.Driver, m.CUDA, m.Clocks, pairs(m.Libraries)}
	}
	for _, name := range slices.Sorted(maps.Keys(r.Conditions)) {
		c := r.Conditions[name]
		out.Conditions = append(out.Conditions, Condition{name, c.Min, c.Median, c.Max, c.Text})
	}
	for _, name := range slices.Sorted(maps.Keys(r.Measures)) {
		m := r.Measures[name]
		better := slices.Index(betterNames[:], first(m.Better, "lower"))
		switch {
		case name == "":
			return nil, fmt.Errorf("a measure has no name")
		case better < 0:
			return nil, fmt.Errorf("measure %s: better is %.40q, want lower, higher or neither", name, m.Better)
		case len(m.Values) == 0:
			return nil, fmt.Errorf("measure %s: it has no values", name)
		}
		out.Measures = append(out.Measures, Measure{name, m.Unit, Better(better), m.Values})
	}
	out.Sort()
	return out, nil
}

// Write writes runs as a file of measures, in the order of names: the same runs, the same bytes.
func Write(w io.Writer, runs []*Run) error {
	f := file{Schema: Schema}
	for _, r := range runs {
		one := fileRun{Name: r.Name, Program: r.Program, Tool: r.Tool, Profile: r.Profile, Labels: byName(r.Labels),
			Machine: &fileMachine{r.Machine.Host, r.Machine.GPU, r.Machine.GPUs, r.Machine.Driver, r.Machine.CUDA,
				r.Machine.Clocks, byName(r.Machine.Libraries)},
			Measures: make(map[string]fileMeasure)}
		if r.Started != 0 {
			one.Started = time.Unix(r.Started, 0).UTC().Format(time.RFC3339)
		}
		for _, c := range r.Conditions {
			if one.Conditions == nil {
				one.Conditions = make(map[string]fileCondition)
			}
			one.Conditions[c.Name] = fileCondition{c.Min, c.Median, c.Max, c.Text}
		}
		for _, m := range r.Measures {
			if slices.ContainsFunc(m.Samples, func(x float64) bool { return math.IsNaN(x) || math.IsInf(x, 0) }) {
				return fmt.Errorf("run %s: measure %s is not a number", r.Name, m.Name)
			}
			one.Measures[m.Name] = fileMeasure{m.Unit, m.Better.String(), m.Samples}
		}
		f.Runs = append(f.Runs, one)
	}
	e := json.NewEncoder(w)
	e.SetIndent("", " ")
	return e.Encode(f)
}

func first(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// pairs is a map in the order of its names.
func pairs(m map[string]string) (out []Pair) {
	for name, value := range m {
		out = append(out, Pair{name, value})
	}
	slices.SortFunc(out, func(a, b Pair) int { return bytes.Compare([]byte(a.Name), []byte(b.Name)) })
	return out
}

func byName(list []Pair) map[string]string {
	if len(list) == 0 {
		return nil
	}
	out := make(map[string]string, len(list))
	for _, p := range list {
		out[p.Name] = p.Value
	}
	return out
}
