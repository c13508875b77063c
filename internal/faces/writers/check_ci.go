package writers

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/xml"
	"fmt"
	"io"
	"slices"
	"strings"

	"lacuna/internal/faces/page"
	"lacuna/internal/faces/pages"
	"lacuna/internal/runs/gate"
)

// checkPlace is the file and line that a verdict is shown at: what was asked for, else the rule's. Code hosts show
// nothing that is not at a file of the repository, so the path of a capture is never given. Without a file of rules its
// usual name is given: reports without any place are refused.
func checkPlace(r *gate.Result, m *gate.Row) (path string, line int) {
	path, line = r.Location.File, r.Location.Line
	if line == 0 {
		line = max(1, m.Line)
	}
	if path == "" {
		return "lacuna.yaml", 1
	}
	return path, line
}

// fingerprint is what a verdict is recognised by from run to run of CI: its measure and its rule, not its numbers.
func fingerprint(m *gate.Row) string {
	sum := sha256.Sum256([]byte("lacuna check\x00" + m.Name + "\x00" + m.Kind))
	return hex.EncodeToString(sum[:16])
}

// tellsCI says whether a verdict is shown beside the code.
func tellsCI(m *gate.Row) bool { return m.Verdict != gate.Pass }

// failing says whether a verdict makes the exit status what it is.
func failing(m *gate.Row) bool {
	return m.Verdict == gate.Regression || m.Verdict == gate.NotComparable || m.Verdict == gate.Inconclusive &&
		m.Policy != "pass"
}

// CheckGitHub writes workflow commands, which GitHub Actions shows as annotations, and a line of text for the log.
func CheckGitHub(w io.Writer, r *gate.Result) error {
	return flushed(w, func(out *bufio.Writer) {
		value := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
		property := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
		for i := range r.Measures {
			m := &r.Measures[i]
			if !tellsCI(m) {
				continue
			}
			level := "warning"
			switch {
			case m.Verdict == gate.Improvement:
				level = "notice"
			case m.Verdict == gate.Regression || m.Verdict == gate.Inconclusive && m.Policy == "fail":
				level = "error"
			}
			at := ""
			if r.Location.File != "" {
				path, line := checkPlace(r, m)
				at = fmt.Sprintf("file=%s,line=%d,", property.Replace(page.Printable(path)), line)
			}
			fmt.Fprintf(out, "::%s %stitle=%s::%s\n", level, at,
				property.Replace(page.Printable(m.Name+": "+pages.CheckVerdict(m.Verdict))),
				value.Replace(page.Printable(m.Name+": "+pages.RowWords(m).String())))
		}
		for _, x := range slices.Concat(r.WhyNot, r.Warnings) {
			fmt.Fprintf(out, "::warning title=lacuna check::%s\n", value.Replace(page.Printable(x)))
		}
		fmt.Fprintln(out, page.Printable(pages.CheckHead(r).String()))
	})
}

// codeQuality is an issue of GitLab's code quality report.
type codeQuality struct {
	Description string `json:"description"`
	CheckName   string `json:"check_name"`
	Fingerprint string `json:"fingerprint"`
	Severity    string `json:"severity"` // info, minor, major, critical, blocker
	Location    struct {
		Path  string `json:"path"`
		Lines struct {
			Begin int `json:"begin"`
		} `json:"lines"`
	} `json:"location"`
}

// CheckGitLab writes a code quality report, which GitLab shows in merge requests.
func CheckGitLab(w io.Writer, r *gate.Result) error {
	out := []codeQuality{}
	for i := range r.Measures {
		m := &r.Measures[i]
		if !tellsCI(m) {
			continue
		}
		q := codeQuality{Description: page.Printable(m.Name + ": " + pages.RowWords(m).String()),
			CheckName: "lacuna/" + string(m.Verdict), Fingerprint: fingerprint(m), Severity: "minor"}
		switch {
		case m.Verdict == gate.Improvement:
			q.Severity = "info"
		case m.Verdict == gate.Regression:
			q.Severity = "major"
		}
		q.Location.Path, q.Location.Lines.Begin = checkPlace(r, m)
		out = append(out, q)
	}
	return JSON(w, out)
}

type junitSuites struct {
	XMLName xml.Name   `xml:"testsuites"`
	Name    string     `xml:"name,attr"`
	Suite   junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Errors   int         `xml:"errors,attr"`
	Skipped  int         `xml:"skipped,attr"`
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Class   string     `xml:"classname,attr"`
	Name    string     `xml:"name,attr"`
	Failure *junitText `xml:"failure"`
	Error   *junitText `xml:"error"`
	Skipped *junitText `xml:"skipped"`
	Out     string     `xml:"system-out,omitempty"`
}

type junitText struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr,omitempty"`
	Text    string `xml:",chardata"`
}

// CheckJUnit writes a JUnit XML report: a regression is a failure, what has no verdict an error, and what is
// inconclusive but taken as a pass is skipped.
func CheckJUnit(w io.Writer, r *gate.Result) error {
	suite := junitSuite{Name: "lacuna check"}
	for i := range r.Measures {
		m := &r.Measures[i]
		text := page.Printable(pages.RowWords(m).String())
		c := junitCase{Class: "lacuna." + strings.Fields(m.Kind)[0], Name: page.Printable(m.Name)}
		c.Class = strings.TrimSuffix(c.Class, ":")
		// some show the message, others only the text
		why := &junitText{Message: text, Type: string(m.Verdict),
			Text: strings.Join(append([]string{text}, m.Warnings...), "\n")}
		suite.Tests++
		switch {
		case m.Verdict == gate.Regression || m.Verdict == gate.Inconclusive && m.Policy == "fail":
			suite.Failures++
			c.Failure = why
		case failing(m):
			suite.Errors++
			c.Error = why
		case m.Verdict == gate.Inconclusive:
			suite.Skipped++
			why.Type = ""
			c.Skipped = why
		default:
			c.Out = text
		}
		suite.Cases = append(suite.Cases, c)
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	e := xml.NewEncoder(w)
	e.Indent("", "  ")
	if err := e.Encode(junitSuites{Name: "lacuna check", Suite: suite}); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}
