package commands

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"lacuna/internal/capture/nsight"
	"lacuna/internal/faces/page"
)

// findTool finds a profiler. With dry, one that is not here is named as it would be typed.
func (e *Env) findTool(ctx context.Context, name string, dry bool) (nsight.Tool, error) {
	tool, err := nsight.ThisMachine().Find(ctx, name)
	var none *nsight.NotFoundError
	if dry && errors.As(err, &none) {
		e.remark("%s is not on this machine; the command is for a machine that has it", name)
		return nsight.Tool{Name: name, Path: name}, nil
	}
	return tool, err
}

// withArgs divides the text of --with-args into words.
func withArgs(text string) ([]string, error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	words, err := splitWords(text)
	if err != nil {
		return nil, errCall("--with-args %s: %v", text, err)
	}
	return words, nil
}

// streams is what a program under a profiler reads and writes: what lacuna does.
func (e *Env) streams() nsight.Streams { return nsight.Streams{In: e.In, Out: e.Out, Err: e.Err} }

// runNcu profiles launches: its own messages go to stderr as they come. Where the clocks cannot be locked it profiles
// again without, and says so: nothing was profiled until then. It returns the report's path and how the program ended.
func (e *Env) runNcu(tool nsight.Tool, what nsight.Launches) (string, nsight.Ending, error) {
	report := what.Output + ".ncu-rep"
	_ = os.Remove(report) // what is there afterwards is of this run
	log, err := os.CreateTemp("", "lacuna-ncu-*.log")
	if err != nil {
		return "", nsight.Ending{}, err
	}
	log.Close()
	defer os.Remove(log.Name())
	what.Log = log.Name()
	for {
		stop := e.follow(log.Name())
		ending, err := nsight.Run(what.Command(tool.Path), e.streams())
		stop()
		if err != nil {
			return "", ending, err
		}
		said, err := nsight.ReadLog(log.Name())
		if err != nil {
			return "", ending, err
		}
		trouble := nsight.ReadTrouble(said)
		there := false
		if st, err := os.Stat(report); err == nil {
			there = st.Size() > 0
		}
		switch {
		case trouble != nil && trouble.Code == nsight.TroubleClocks && what.Clock == nsight.ClockBase:
			e.remark("%s: the program is run again with the clocks as they are (--clock-control none): times vary "+
				"more from run to run", trouble.What)
			what.Clock = nsight.ClockNone
			continue
		case there && trouble != nil:
			e.tell("%v", trouble) // some of what was asked for is there
			ending.ByTool = nsight.EndedProgram(said)
		case trouble != nil:
			return "", ending, fmt.Errorf("%s: %w", filepath.Base(tool.Path), trouble)
		case !there && ending.Status != 0:
			return "", ending, fmt.Errorf("%s ended with %s and ncu wrote no report", what.Program[0],
				endingWords(ending))
		case !there:
			return "", ending, &nsight.EmptyError{Tool: "ncu", Path: report}
		}
		return report, ending, nil
	}
}

func endingWords(x nsight.Ending) string {
	if x.Signal != "" {
		return x.Signal
	}
	return fmt.Sprintf("exit status %d", x.Status)
}

// followEvery is how often a tool's log is looked at while it runs.
const followEvery = 300 * time.Millisecond

// follow passes on to stderr what a tool writes to a file, unless -q, until the function that it returns is called.
func (e *Env) follow(path string) func() {
	if e.quiet {
		return func() {}
	}
	done, over := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(over)
		var at int64
		pass := func() {
			f, err := os.Open(path)
			if err != nil {
				return
			}
			defer f.Close()
			if st, err := f.Stat(); err == nil && st.Size() < at {
				at = 0 // begun anew
			}
			text, _ := io.ReadAll(io.NewSectionReader(f, at, 1<<20))
			text = text[:strings.LastIndexByte(string(text), '\n')+1] // whole lines
			at += int64(len(text))
			for _, line := range strings.Split(strings.TrimRight(string(text), "\n"), "\n") {
				if line != "" {
					fmt.Fprintf(e.Err, "%s\n", page.Printable(strings.TrimRight(line, "\r")))
				}
			}
		}
		tick := time.NewTicker(followEvery)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				pass()
			case <-done:
				pass()
				return
			}
		}
	}()
	return func() { close(done); <-over }
}

// ended makes the error that ends lacuna as the program under a profiler ended; nil: well.
func (e *Env) ended(program string, x nsight.Ending) error {
	switch {
	case x.ByTool:
		return &statusError{status: Wrong, err: fmt.Errorf(
			"%s was ended by the profiler, which could not continue; the result covers what was profiled before",
			program)}
	case x.Status == 0:
		return nil
	}
	e.tell("%s ended with %s", program, endingWords(x))
	return &statusError{status: x.Status}
}

// freshName refuses a name of output whose files are there already.
func freshName(flag, base string, endings ...string) error {
	for _, end := range endings {
		if _, err := os.Stat(base + end); err == nil {
			return errCall("%s%s: already exists; move it away, or name another with %s", base, end, flag)
		}
	}
	if st, err := os.Stat(filepath.Dir(base)); err != nil || !st.IsDir() {
		return errCall("%s: there is no folder %s; make it, or name another with %s", base, filepath.Dir(base), flag)
	}
	return nil
}
