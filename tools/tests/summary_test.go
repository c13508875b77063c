package main

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

const events = `{"Action":"start","Package":"a"}
{"Action":"output","Package":"a","Test":"TestOne","Output":"=== RUN   TestOne\n"}
{"Action":"pass","Package":"a","Test":"TestOne","Elapsed":1}
{"Action":"output","Package":"a","Test":"TestTwo","Output":"    two_test.go:3: no compiler\n"}
{"Action":"output","Package":"a","Test":"TestTwo","Output":"--- SKIP: TestTwo (0.00s)\n"}
{"Action":"skip","Package":"a","Test":"TestTwo","Elapsed":0}
{"Action":"pass","Package":"a","Elapsed":1.5}
{"Action":"skip","Package":"empty","Elapsed":0}
`

const failing = `{"Action":"output","Package":"b","Test":"TestBad","Output":"=== RUN   TestBad\n"}
{"Action":"output","Package":"b","Test":"TestBad","Output":"    bad_test.go:9: 1, want 2\n"}
{"Action":"fail","Package":"b","Test":"TestBad"}
{"Action":"output","Package":"b","Test":"TestHangs","Output":"panic: test timed out\n"}
{"Action":"output","Package":"b","Output":"FAIL b\n"}
{"Action":"fail","Package":"b","Elapsed":2}
no event
{"ImportPath":"c","Action":"build-output","Output":"c.go:1: broken\n"}
`

func TestSummary(t *testing.T) {
	for _, test := range []struct {
		name, events, list string
		ok                 bool
		want               []string
	}{
		{"all pass", events, "a TestT* no compiler", true,
			[]string{"ok    a", "1.5 s, 1 passed",
				"  1  no compiler\n         a: TestTwo\n",
				"1 packages, 0 of them failed; tests: 1 passed, 0 failed, 1 skipped; 3 s"}},
		{"a skip for another reason", events, "a TestTwo no python", false,
			[]string{"NOT ON THE LIST: a TestTwo: no compiler"}},
		{"a skip that is not listed", events, "a TestThree no compiler", false,
			[]string{"NOT ON THE LIST: a TestTwo: no compiler", "1 skips are not on the list"}},
		{"failures", failing, "", false,
			[]string{"bad_test.go:9: 1, want 2", "panic: test timed out", "FAIL  b",
				"no event\n", "c.go:1: broken\n",
				"1 packages, 1 of them failed; tests: 0 passed, 1 failed"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			may, err := parseAllowed(test.list)
			if err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			s := newSummary(&out)
			for line := range strings.Lines(test.events) {
				s.event([]byte(strings.TrimSpace(line)))
			}
			if ok := s.report(may, test.list != "", 3*time.Second); ok != test.ok {
				t.Errorf("ok is %v", ok)
			}
			for _, want := range test.want {
				if !strings.Contains(out.String(), want) {
					t.Errorf("no %q in\n%s", want, &out)
				}
			}
			if strings.Contains(out.String(), "=== RUN") {
				t.Errorf("noise in\n%s", &out)
			}
		})
	}
}

func TestListNeedsReasons(t *testing.T) {
	if _, err := parseAllowed("# comment\n\na TestOne\n"); err == nil || !strings.Contains(err.Error(), "line 3") {
		t.Error(err)
	}
}
