package main

import (
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"
)

// A summary is what the events of go test -json come to.
type summary struct {
	out                   io.Writer
	text                  map[string][]string // what a test that has not ended printed, by package and test
	good, bad             map[string]int      // tests of a package
	skips                 []skip
	packages, badPackages int
	passed, badTests      int
	failed                bool
}

// A skip is a test that was not run.
type skip struct{ pkg, test, why string }

// An event is a line of go test -json (go doc test2json).
type event struct {
	Action, Package, ImportPath, Test, Output, FailedBuild string
	Elapsed                                                float64 // seconds
}

func newSummary(out io.Writer) *summary {
	return &summary{out: out, text: make(map[string][]string), good: make(map[string]int), bad: make(map[string]int)}
}

// event takes one line. What is no event is printed: go says so what it could not do.
func (s *summary) event(line []byte) {
	var e event
	if json.Unmarshal(line, &e) != nil || e.Action == "" {
		fmt.Fprintf(s.out, "%s\n", line)
		return
	}
	key := e.Package + " " + e.Test
	switch e.Action {
	case "build-output":
		fmt.Fprint(s.out, e.Output)
	case "output":
		s.text[key] = append(s.text[key], e.Output)
	case "pass", "fail", "skip":
		if e.Test == "" {
			s.endPackage(e)
		} else {
			s.endTest(e)
		}
		delete(s.text, key)
	}
}

func (s *summary) endTest(e event) {
	text := s.text[e.Package+" "+e.Test]
	switch e.Action {
	case "pass":
		s.passed++
		s.good[e.Package]++
	case "skip":
		s.skips = append(s.skips, skip{e.Package, e.Test, reason(text)})
	case "fail":
		s.badTests++
		s.bad[e.Package]++
		for _, line := range text {
			if !strings.HasPrefix(line, "=== ") {
				fmt.Fprint(s.out, line)
			}
		}
	}
}

func (s *summary) endPackage(e event) {
	if e.Action == "skip" {
		return // it has no tests
	}
	s.packages++
	if e.Action == "pass" {
		fmt.Fprintf(s.out, "ok    %-36s %6.1f s, %d passed\n", e.Package, e.Elapsed, s.good[e.Package])
		return
	}
	s.badPackages++
	s.failed = true
	for key, text := range s.text { // of tests that did not end: the program crashed, or ran out of time
		if pkg, _, _ := strings.Cut(key, " "); pkg == e.Package {
			fmt.Fprint(s.out, strings.Join(text, ""))
		}
	}
	fmt.Fprintf(s.out, "FAIL  %-36s %6.1f s, %d passed, %d failed\n",
		e.Package, e.Elapsed, s.good[e.Package], s.bad[e.Package])
}

// said is a line that a test logged.
var said = regexp.MustCompile(`^\s+\S+\.go:\d+: (.*)`)

// reason is the last that a skipped test logged.
func reason(text []string) string {
	for _, line := range slices.Backward(text) {
		if m := said.FindStringSubmatch(line); m != nil {
			return m[1]
		}
	}
	return "no reason is given"
}

// report prints what was skipped, by reason, and the sums. Where a list says what may be skipped, what it lacks
// fails.
func (s *summary) report(may []allowed, strict bool, took time.Duration) bool {
	unlisted := s.printSkips(may, strict)
	fmt.Fprintf(s.out, "\n%d packages, %d of them failed; tests: %d passed, %d failed, %d skipped; %.0f s\n",
		s.packages, s.badPackages, s.passed, s.badTests, len(s.skips), took.Seconds())
	if unlisted > 0 {
		fmt.Fprintf(s.out, "%d skips are not on the list: make them run, or list them with the reason\n", unlisted)
	}
	return !s.failed && unlisted == 0
}

func (s *summary) printSkips(may []allowed, strict bool) (unlisted int) {
	if len(s.skips) == 0 {
		return 0
	}
	fmt.Fprintf(s.out, "\nskipped:\n")
	byReason := make(map[string][]skip)
	for _, k := range s.skips {
		if strict && !slices.ContainsFunc(may, func(a allowed) bool { return a.takes(k) }) {
			fmt.Fprintf(s.out, "  NOT ON THE LIST: %s %s: %s\n", k.pkg, k.test, k.why)
			unlisted++
			continue
		}
		byReason[k.why] = append(byReason[k.why], k)
	}
	var reasons []string
	for why := range byReason {
		reasons = append(reasons, why)
	}
	slices.SortFunc(reasons, func(a, b string) int {
		if d := len(byReason[b]) - len(byReason[a]); d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	for _, why := range reasons {
		fmt.Fprintf(s.out, "  %3d  %s\n", len(byReason[why]), why)
		for _, line := range where(byReason[why]) {
			fmt.Fprintf(s.out, "         %s\n", line)
		}
	}
	return unlisted
}

// where is a line for each package, with its tests.
func where(skips []skip) (lines []string) {
	slices.SortStableFunc(skips, func(a, b skip) int { return strings.Compare(a.pkg, b.pkg) })
	for i, k := range skips {
		if i == 0 || skips[i-1].pkg != k.pkg {
			lines = append(lines, k.pkg+":")
		}
		lines[len(lines)-1] += " " + k.test
	}
	return lines
}

// An allowed is a line of the list of skips.
type allowed struct{ pkg, test, why *regexp.Regexp }

func (a allowed) takes(k skip) bool {
	return a.pkg.MatchString(k.pkg) && a.test.MatchString(k.test) && a.why.MatchString(k.why)
}

// parseAllowed reads the list: package, test and reason on a line. A line without a reason is an error.
func parseAllowed(text string) (out []allowed, err error) {
	pattern := func(s string) *regexp.Regexp {
		return regexp.MustCompile("^" + strings.ReplaceAll(regexp.QuoteMeta(s), `\*`, ".*") + "$")
	}
	n := 0
	for line := range strings.Lines(text) {
		n++
		if strings.HasPrefix(line, "#") {
			continue
		}
		f := strings.Fields(line)
		switch {
		case len(f) == 0:
		case len(f) < 3:
			return nil, fmt.Errorf("line %d: want a package, a test and the reason that it gives", n)
		default:
			out = append(out, allowed{pattern(f[0]), pattern(f[1]), pattern(strings.Join(f[2:], " "))})
		}
	}
	return out, nil
}
