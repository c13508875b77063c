package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"lacuna/internal/runs/measure"
)

// MetricsVariable names the file that a program may write its own measures to.
const MetricsVariable = "LACUNA_METRICS"

const (
	// grace is how long a program that was told to stop may take before it is ended by force.
	grace = 5 * time.Second
	// drain is how long output is waited for after the program has ended: a process that it left behind may hold it
	// open.
	drain = 2 * time.Second
)

// once runs a program and says what was measured of it.
func (s *Session) once(ctx context.Context, program int, opt Options) (*measure.Run, error) {
	dir, err := os.MkdirTemp("", "lacuna-bench-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	args := s.Programs[program].Args
	c := &child{cmd: exec.Command(args[0], args[1:]...), said: newOutput(opt.Marks, opt.Output)}
	file := filepath.Join(dir, "metrics.json")
	c.cmd.Env = append(os.Environ(), MetricsVariable+"="+file)
	if opt.Marks.Step != nil || opt.Marks.Metrics != nil {
		// else Python hands on its lines in blocks, and the marks come together
		c.cmd.Env = append(c.cmd.Env, "PYTHONUNBUFFERED=1")
	}
	watch := watchGPUs(opt.GPU, opt.Visible)
	started := time.Now()
	wall, err := c.run(ctx)
	conditions := watch.stop()
	if err != nil {
		return nil, err
	}
	run := &measure.Run{Program: commandWords(args), Started: started.Unix(), Conditions: conditions,
		Machine: machineOf(opt.GPU, opt.Visible)}
	run.Measures = append(c.usage(), measure.Measure{Name: "wall", Unit: "ms", Samples: []float64{ms(wall)}})
	run.Measures = append(run.Measures, c.said.measures(s)...)
	if err := s.own(run, file); err != nil {
		return nil, err
	}
	run.Sort()
	return run, nil
}

// own adds what the program measured of itself. What it says of the machine goes before what was found.
func (s *Session) own(run *measure.Run, path string) error {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	runs, err := measure.Read(f)
	if err != nil {
		return fmt.Errorf("the file that the program wrote to $%s: %w", MetricsVariable, err)
	}
	for _, r := range runs {
		for _, m := range r.Measures {
			i := slices.IndexFunc(run.Measures, func(have measure.Measure) bool { return have.Name == m.Name })
			switch {
			case i < 0:
				run.Measures = append(run.Measures, m)
			case r == runs[0]: // the program knows better than its output or its clock
				s.warn(fmt.Sprintf("measure %s is the program's own, not the one measured from outside", m.Name))
				run.Measures[i] = m
			default:
				run.Measures[i].Samples = append(run.Measures[i].Samples, m.Samples...)
			}
		}
		run.Labels = append(run.Labels, r.Labels...)
		run.Machine = merged(r.Machine, run.Machine)
	}
	slices.SortFunc(run.Labels, func(a, b measure.Pair) int {
		return strings.Compare(a.Name+"\x00"+a.Value, b.Name+
			"\x00"+b.Value)
	})
	run.Labels = slices.CompactFunc(run.Labels, func(a, b measure.Pair) bool { return a.Name == b.Name })
	return nil
}

// merged is a, filled from b where it does not say.
func merged(a, b measure.Machine) measure.Machine {
	for _, f := range []struct{ to, from *string }{{&a.Host, &b.Host}, {&a.GPU, &b.GPU}, {&a.Driver, &b.Driver},
		{&a.CUDA, &b.CUDA}, {&a.Clocks, &b.Clocks}} {
		if *f.to == "" {
			*f.to = *f.from
		}
	}
	if a.GPUs == 0 {
		a.GPUs = b.GPUs
	}
	for _, l := range b.Libraries {
		if !slices.ContainsFunc(a.Libraries, func(have measure.Pair) bool { return have.Name == l.Name }) {
			a.Libraries = append(a.Libraries, l)
		}
	}
	return a
}

// A child is one execution.
type child struct {
	cmd  *exec.Cmd
	said *output
}

// run starts the program, waits for it and says how long it took: until the process ended, not until its output did.
func (c *child) run(ctx context.Context) (time.Duration, error) {
	var readers []*os.File
	var reading sync.WaitGroup
	for _, to := range []*io.Writer{&c.cmd.Stdout, &c.cmd.Stderr} {
		r, w, err := os.Pipe()
		if err != nil {
			return 0, err
		}
		defer r.Close()
		defer w.Close()
		*to = w
		readers = append(readers, r)
	}
	apart(c.cmd)
	began := time.Now()
	c.said.begin(began)
	if err := c.cmd.Start(); err != nil {
		return 0, err
	}
	for i, r := range readers {
		[]io.Closer{c.cmd.Stdout.(io.Closer), c.cmd.Stderr.(io.Closer)}[i].Close()
		reading.Go(func() { c.said.read(i, r) })
	}
	ended := make(chan struct{})
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		select {
		case <-ended:
			return
		case <-ctx.Done():
		}
		interrupt(c.cmd)
		select {
		case <-ended:
		case <-time.After(grace):
			kill(c.cmd)
		}
	}()
	err := c.cmd.Wait()
	wall := time.Since(began)
	close(ended)
	<-stopped
	c.drain(&reading, readers)
	if ctx.Err() != nil {
		return wall, ctx.Err()
	}
	return wall, c.failure(err)
}

// drain waits for the rest of the output, but not for ever.
func (c *child) drain(reading *sync.WaitGroup, readers []*os.File) {
	all := make(chan struct{})
	go func() { reading.Wait(); close(all) }()
	select {
	case <-all:
		return
	case <-time.After(drain):
	}
	for _, r := range readers {
		r.SetReadDeadline(time.Now())
	}
	<-all
}

// failure is how a program ended badly; nil: it did not.
func (c *child) failure(err error) error {
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return err
	}
	f := &Failure{ExitCode: exit.ExitCode(), LastSaid: c.said.last()}
	if number, name := signalOf(exit.ProcessState); number > 0 {
		f.ExitCode, f.Signal = 128+number, name
	}
	return f
}

// usage is what the system says of the program and the processes that it waited for.
func (c *child) usage() []measure.Measure {
	state := c.cmd.ProcessState
	out := []measure.Measure{{Name: "cpu", Unit: "ms", Samples: []float64{ms(state.UserTime() + state.SystemTime())}}}
	if peak := peakResident(state); peak > 0 {
		out = append(out, measure.Measure{Name: "peak_rss", Unit: "bytes", Samples: []float64{float64(peak)}})
	}
	return out
}

func ms(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e6 }

// commandWords is a command as a person would type it.
func commandWords(args []string) string {
	var words []string
	for _, a := range args {
		if a == "" || strings.ContainsAny(a, " \t\n'\"\\$`*?[]{}()<>|&;#~!") {
			a = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
		}
		words = append(words, a)
	}
	return strings.Join(words, " ")
}
