package commands

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// onScreen runs a call on a terminal of a size, and says what it printed there and what it gave to which pager.
func onScreen(t *testing.T, columns, rows int, call ...string) (printed, pager, paged string) {
	t.Helper()
	var out bytes.Buffer
	env := &Env{Out: &out, Err: io.Discard, shelf: All}
	env.screen = &screen{columns: columns, rows: rows, page: func(p string, text []byte) error {
		pager, paged = p, string(text)
		return nil
	}}
	if err := execute(t.Context(), env, call); err != nil {
		t.Fatal(err)
	}
	return out.String(), pager, paged
}

// On a terminal the verdict is shown; more is shown when it is asked for, and paged when it is longer than the screen.
func TestTerminal(t *testing.T) {
	t.Setenv("LC_ALL", "C.UTF-8")
	t.Setenv("COLUMNS", "")
	t.Setenv("TERM", "xterm")
	t.Setenv("LACUNA_PAGER", "my-pager -x")
	const verdict, whole = "-v shows the evidence", "Confirmed if"
	for _, test := range []struct {
		rows         int
		call         string
		paged, short bool
	}{
		{60, "demo", false, true},
		{24, "demo", true, true},
		{24, "demo --no-pager", false, true},
		{60, "demo -v", true, false},
		{60, "demo --short=false", true, false},
		{500, "demo -v", false, false},
		{24, "stats --list", true, false},
		{24, "help report", true, false},
		{24, "report --help", true, false},
	} {
		printed, pager, paged := onScreen(t, 80, test.rows, strings.Fields(test.call)...)
		text := printed + paged
		if (pager == "my-pager -x") != test.paged || (paged == "") == test.paged || (printed == "") != test.paged {
			t.Errorf("%s on %d rows: pager %q, %d bytes paged and %d printed", test.call, test.rows, pager, len(paged),
				len(printed))
		}
		if strings.Contains(text, verdict) != test.short {
			t.Errorf("%s: the verdict only: want %v:\n%s", test.call, test.short, text)
		}
		if strings.Contains(test.call, "-v") && !strings.Contains(text, whole) {
			t.Errorf("%s does not show all", test.call)
		}
		for line := range strings.Lines(text) {
			if n := len([]rune(plainLine(line))); n > 80 {
				t.Errorf("%s: a line of %d columns: %q", test.call, n, line)
			}
		}
	}
}

// The verdict of the demo fits on a terminal of 80 columns and 45 rows.
func TestVerdictIsShort(t *testing.T) {
	t.Setenv("COLUMNS", "")
	printed, _, _ := onScreen(t, 80, 1000, "demo")
	if n := strings.Count(printed, "\n"); n > 45 {
		t.Errorf("%d lines:\n%s", n, printed)
	}
}

// A pipe and a file get the whole report, and no pager, however the environment is set.
func TestNoPagerIntoPipes(t *testing.T) {
	t.Setenv("LACUNA_PAGER", "false")
	var out bytes.Buffer
	if status := Main([]string{"demo"}, nil, &out, io.Discard); status != Done {
		t.Fatal("demo fails")
	}
	if text := out.String(); !strings.Contains(text, "Top kernels") || strings.Contains(text, "\x1b") {
		t.Errorf("a pipe gets %s", text)
	}
	file := filepath.Join(t.TempDir(), "report.txt")
	_, pager, _ := onScreen(t, 80, 24, "demo", "-o", file)
	text, err := os.ReadFile(file)
	if err != nil || pager != "" || !strings.Contains(string(text), "Top kernels") {
		t.Errorf("-o on a terminal: pager %q, %v, %s", pager, err, text)
	}
}

func TestPagerOf(t *testing.T) {
	for env, want := range map[string]string{
		"LACUNA_PAGER=a PAGER=b": "a", "PAGER=b": "b", "LACUNA_PAGER=none PAGER=b": "", "LACUNA_PAGER=cat PAGER=b": "",
		"PAGER=cat": "", "PAGER=b TERM=dumb": "",
	} {
		got := pagerOf(func(name string) string {
			for _, v := range strings.Fields(env) {
				if value, ok := strings.CutPrefix(v, name+"="); ok {
					return value
				}
			}
			return ""
		})
		if got != want {
			t.Errorf("%s: %q, want %q", env, got, want)
		}
	}
}

func TestScrolls(t *testing.T) {
	for _, test := range []struct {
		lines, columns int // of the text
		want           bool
	}{{23, 10, false}, {24, 10, true}, {12, 80, false}, {12, 81, true}} {
		text := strings.Repeat("\x1b[1;31m"+strings.Repeat("x", test.columns)+"\x1b[0m\n", test.lines)
		if got := (screen{columns: 80, rows: 24}).scrolls(text); got != test.want {
			t.Errorf("%d lines of %d columns: %v", test.lines, test.columns, got)
		}
	}
}

// On a real terminal the pager gets the text and the terminal; one that does not exist costs nothing.
func TestPagerOnTerminal(t *testing.T) {
	for pager, want := range map[string]string{
		`echo "LESS=$LESS"; head -n 3; test -t 1 && echo to a terminal`: "LESS=FRX\r\ndata_loading.lacuna",
		"no-such-pager-anywhere": "data_loading.lacuna",
	} {
		outside, inside := openPTY(t, 80, 20)
		c := lacunaProcess(t, "demo", "--color", "never")
		c.Env = append(os.Environ(), "LACUNA_PAGER="+pager, "LESS=", "TERM=xterm", "COLUMNS=")
		c.Stdin, c.Stdout, c.Stderr = inside, inside, inside
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		var shown bytes.Buffer
		done := make(chan struct{})
		go func() { _, _ = io.Copy(&shown, outside); close(done) }()
		err := c.Wait()
		inside.Close()
		<-done
		outside.Close()
		if err != nil || !strings.Contains(shown.String(), want) {
			t.Errorf("LACUNA_PAGER=%s: %v, %s", pager, err, shown.String())
		}
		if paged := strings.Contains(shown.String(), "to a terminal"); paged != strings.HasPrefix(pager, "echo") {
			t.Errorf("LACUNA_PAGER=%s: %s", pager, shown.String())
		}
		if !strings.HasPrefix(pager, "echo") && !strings.Contains(shown.String(), "-v shows the evidence") {
			t.Errorf("without a pager the whole answer is printed: %s", shown.String())
		}
	}
}

// Where the locale is ASCII, help is as well; what programs read of it is not changed.
func TestHelpInASCII(t *testing.T) {
	t.Setenv("LC_ALL", "C")
	for _, call := range []string{"whatif --list", "whatif --help fuse-optimizer", "stats --help op_roofline",
		"help report"} {
		var out bytes.Buffer
		if status := Main(strings.Fields(call), nil, &out, io.Discard); status != Done {
			t.Fatalf("%s fails", call)
		}
		if i := strings.IndexFunc(out.String(), func(r rune) bool { return r > 0x7e }); i >= 0 || out.Len() < 200 {
			t.Errorf("%s: %q", call, out.String()[max(i-40, 0):])
		}
	}
}
