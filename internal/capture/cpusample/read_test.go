package cpusample

import (
	"bytes"
	"strings"
	"testing"

	"lacuna/internal/capture/spool"
)

// A recording is a spool that a test writes, and reads back.
type recording struct {
	bytes.Buffer
	w *spool.Writer

	texts    map[spool.Text]string
	frames   map[uint32]spool.Frame
	samples  []spool.Sample
	switches []spool.Switch
	tasks    []spool.Task
}

func newRecording(t testing.TB) *recording {
	t.Helper()
	r := &recording{texts: map[spool.Text]string{}, frames: map[uint32]spool.Frame{}}
	var err error
	if r.w, err = spool.NewWriter(&r.Buffer, spool.Begin{Role: spool.RoleRecorder}); err != nil {
		t.Fatal(err)
	}
	return r
}

// read reads back what was written, and checks that every frame that is named is there.
func (r *recording) read(t testing.TB) {
	t.Helper()
	if err := r.w.Close(); err != nil {
		t.Fatal(err)
	}
	in := spool.NewScanner(&r.Buffer)
	for in.Next() {
		c := in.Chunk()
		if c.Type == spool.TypeTexts {
			c.Texts(func(id spool.Text, text []byte) { r.texts[id] = string(text) })
		}
		if c.Table == nil {
			continue
		}
		switch c.Table.Name {
		case "frame":
			for _, f := range spool.Rows[spool.Frame](c) {
				if _, twice := r.frames[f.Frame]; twice || f.Frame == 0 {
					t.Errorf("frame %d is written twice", f.Frame)
				}
				r.frames[f.Frame] = f
			}
		case "sample":
			r.samples = append(r.samples, spool.Rows[spool.Sample](c)...)
		case "switch":
			r.switches = append(r.switches, spool.Rows[spool.Switch](c)...)
		case "task":
			r.tasks = append(r.tasks, spool.Rows[spool.Task](c)...)
		}
	}
	if lost := in.Lost(); lost.Any() {
		t.Errorf("the spool is not whole: %+v", lost)
	}
	for _, f := range r.frames {
		if _, ok := r.frames[f.Parent]; f.Parent != 0 && !ok {
			t.Errorf("frame %d hangs below %d, which is not there", f.Frame, f.Parent)
		}
	}
	for _, s := range r.samples {
		if _, ok := r.frames[s.Frame]; s.Frame != 0 && !ok {
			t.Errorf("a sample is of frame %d, which is not there", s.Frame)
		}
	}
}

// stack is a stack's functions, outermost first, joined by semicolons.
func (r *recording) stack(frame uint32) string {
	var out []string
	for f := frame; f != 0 && len(out) < 1000; f = r.frames[f].Parent {
		out = append(out, r.texts[r.frames[f].Symbol])
	}
	for i, j := 0, len(out)-1; i < j; i, j = i+1, j-1 {
		out[i], out[j] = out[j], out[i]
	}
	return strings.Join(out, ";")
}

// share is the part of the samples whose stack holds a function.
func (r *recording) share(function string) float64 {
	n := 0
	for _, s := range r.samples {
		if strings.Contains(";"+r.stack(s.Frame)+";", ";"+function+";") {
			n++
		}
	}
	return float64(n) / float64(max(len(r.samples), 1))
}

// named says whether a thread of that name was met.
func (r *recording) named(name string) bool {
	for _, task := range r.tasks {
		if r.texts[task.Name] == name {
			return true
		}
	}
	return false
}
