package nsight

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"lacuna/internal/capture/nvtool"
)

// Streams is what a program reads and writes.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
}

// An Ending is how a tool, and the program under it, ended. Both tools end with the program's own exit status when
// nothing else went wrong.
type Ending struct {
	Status int // as a shell says it: 128 and the signal's number if a signal ended it
	Signal string
	ByTool bool // the tool ended the program when it could not go on itself
}

// Run runs a command to its end. Ctrl-C reaches the program by itself, since all are in the terminal's foreground;
// SIGTERM and SIGHUP are handed on. Whichever comes, the tool is waited for: it writes its report then.
func Run(c Command, s Streams) (Ending, error) {
	cmd := exec.Command(c.Args[0], c.Args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = s.In, s.Out, s.Err
	cmd.Env = append(os.Environ(), c.Env...)
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer signal.Stop(signals)
	if err := cmd.Start(); err != nil {
		if isMissing(err) {
			return Ending{}, fmt.Errorf("%s: cannot be started: %w", c.Args[0], os.ErrNotExist)
		}
		return Ending{}, fmt.Errorf("%s: cannot be started: %w", c.Args[0], err)
	}
	ended := make(chan struct{})
	go func() {
		for {
			select {
			case <-ended:
				return
			case got := <-signals:
				if got != os.Interrupt {
					_ = cmd.Process.Signal(got)
				}
			}
		}
	}()
	err := cmd.Wait()
	close(ended)
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		return endingOf(exit.ProcessState), nil
	case err != nil:
		return Ending{}, fmt.Errorf("%s: %w", c.Args[0], err)
	}
	return Ending{}, nil
}

func endingOf(state *os.ProcessState) Ending {
	if w, ok := state.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		return Ending{Status: 128 + int(w.Signal()), Signal: w.Signal().String()}
	}
	return Ending{Status: state.ExitCode()}
}

// A MissingProgramError says that what was to be profiled is not there.
type MissingProgramError struct{ Name string }

func (e *MissingProgramError) Error() string {
	return e.Name + ": no such program; give its path, or a name that is on the PATH"
}

// CheckProgram says early that a program is not there: the profilers' own message for it comes late and among others.
func CheckProgram(args []string) error {
	if _, err := exec.LookPath(args[0]); err != nil && !errors.Is(err, exec.ErrDot) {
		if errors.Is(err, os.ErrPermission) {
			return fmt.Errorf("%s: cannot be run: %w; chmod +x, or name its interpreter first", args[0],
				os.ErrPermission)
		}
		return &MissingProgramError{args[0]}
	}
	return nil
}

// exportFor is how long an import or an export may take at most; a big report takes minutes.
const exportFor = 30 * time.Minute

// Export makes the SQLite file of what nsys recorded, and returns its path. base is the report's path without its
// ending. Where nsys could not import what it recorded, the importer beside it does.
func (t Tool) Export(ctx context.Context, base string) (string, error) {
	report, raw, out := base+".nsys-rep", base+".qdstrm", base+".sqlite"
	if !filled(report) {
		switch {
		case !filled(raw):
			return "", &EmptyError{Tool: "nsys", Path: report}
		case t.Importer == "":
			return "", fmt.Errorf("%s: nsys recorded it but has no importer to write a report; install all of "+
				"Nsight Systems, or import it on a machine that has it: QdstrmImporter --input-file %s", raw,
				filepath.Base(raw))
		}
		if err := t.importRaw(ctx, raw, report); err != nil {
			return "", err
		}
		_ = os.Remove(raw) // the report has all of it
	}
	said, err := quietly(ctx, nil, t.Path, "export", "--type=sqlite", "--force-overwrite=true", "--output="+out, report)
	if err != nil || !filled(out) {
		return "", fmt.Errorf("%s: nsys export did not write SQLite (%s); try %s export --type=sqlite %s", report,
			why(said, err), t.Path, report)
	}
	return out, nil
}

// An EmptyError says that a tool ended without a report.
type EmptyError struct{ Tool, Path string }

func (e *EmptyError) Error() string {
	if e.Tool == "nsys" {
		return e.Path + ": nsys wrote no report: nothing was recorded before the program ended or was killed, or " +
			"the window asked for was never opened (no cudaProfilerStart, no such range); nsys's messages are above"
	}
	return e.Path + ": ncu wrote no report: no kernel matched, or the program ended first"
}

// importRaw runs the importer with its own libraries; those of the system that it needs beside them (libdw and
// friends) must be installed.
func (t Tool) importRaw(ctx context.Context, raw, report string) error {
	libraries := filepath.Dir(t.Importer)
	if before := os.Getenv("LD_LIBRARY_PATH"); before != "" {
		libraries = before + ":" + libraries
	}
	said, err := quietly(ctx, []string{"LD_LIBRARY_PATH=" + libraries}, t.Importer, "--input-file", raw,
		"--output-file", report)
	if err == nil && filled(report) {
		return nil
	}
	if name := nvtool.MissingLibrary(said); name != "" {
		return fmt.Errorf("%s: the importer of nsys cannot start: %s is missing; install it (on Debian and Ubuntu: "+
			"apt install libdw1 libelf1 liblzma5 libbz2-1.0; on RHEL: dnf install elfutils-libs) or name its "+
			"folder in LD_LIBRARY_PATH, then: LD_LIBRARY_PATH=%s %s --input-file %s; %s export --type=sqlite %s", raw,
			name, libraries, t.Importer, raw, t.Path, report)
	}
	return fmt.Errorf("%s: the importer of nsys failed (%s); an nsys of another version may read it: "+
		"QdstrmImporter --input-file %s", raw, why(said, err), raw)
}

// quietly runs a command and keeps what it says.
func quietly(ctx context.Context, env []string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, exportFor)
	defer cancel()
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Env = append(os.Environ(), env...)
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = &said, &said, 2*time.Second
	err := cmd.Run()
	return said.String(), err
}

// why is the last line that a failing tool said, or else how it ended.
func why(said string, err error) string {
	lines := strings.Split(strings.TrimSpace(said), "\n")
	last := strings.TrimSpace(lines[len(lines)-1])
	switch {
	case last != "" && len(last) < 300:
		return last
	case err != nil:
		return err.Error()
	}
	return "it said nothing"
}

func filled(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.Mode().IsRegular() && st.Size() > 0
}
