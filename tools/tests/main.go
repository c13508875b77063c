// Tests runs go test, and says what go test does not: how many tests passed, and which were skipped, and why.
//
//	go run ./tools/tests [-skips FILE] [ARGUMENTS OF go test; ./... if there are none]
//
// With -skips a test may be skipped only if the file names it. A line of the file is a package, a test and the
// reason that the test gives; * stands for any text, a line with # at its beginning is a comment. The exit
// status is 1 if a test fails, or is skipped without being named.
package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"
)

func main() {
	list, args := "", os.Args[1:]
	if len(args) > 1 && args[0] == "-skips" { // all others are go test's
		list, args = args[1], args[2:]
	}
	if len(args) == 0 {
		args = []string{"./..."}
	}
	ok, err := run(os.Stdout, list, args)
	if err != nil {
		fmt.Fprintln(os.Stderr, "tests:", err)
	}
	if err != nil || !ok {
		os.Exit(1)
	}
}

// run runs go test and reports; ok says that nothing failed and nothing was skipped that may not be.
func run(out io.Writer, list string, args []string) (ok bool, err error) {
	var may []allowed
	if list != "" {
		text, err := os.ReadFile(list)
		if err != nil {
			return false, err
		}
		if may, err = parseAllowed(string(text)); err != nil {
			return false, fmt.Errorf("%s: %w", list, err)
		}
	}
	began := time.Now()
	cmd := exec.Command("go", append([]string{"test", "-json"}, args...)...)
	cmd.Stderr = os.Stderr
	events, err := cmd.StdoutPipe()
	if err != nil {
		return false, err
	}
	if err := cmd.Start(); err != nil {
		return false, err
	}
	w := bufio.NewWriter(out)
	s := newSummary(w)
	lines := bufio.NewScanner(events)
	lines.Buffer(nil, 64<<20) // a line of a test's output is one event
	for lines.Scan() {
		s.event(lines.Bytes())
		w.Flush()
	}
	readErr := lines.Err()
	_, _ = io.Copy(io.Discard, events)
	err = cmd.Wait()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		s.failed = true
		err = nil
	}
	ok = s.report(may, list != "", time.Since(began))
	return ok, errors.Join(readErr, err, w.Flush())
}
