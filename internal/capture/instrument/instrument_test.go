package instrument

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"lacuna/internal/base/golden"
)

// A want is the comment at the head of a script of testdata.
type want struct {
	line, steps, status int
	kind, phases        string
}

var wantLine = regexp.MustCompile(`(?m)^# want: line=(\d+) kind=(\w+) steps=(\d+) phases=(\S*)(?: status=(\d+))?`)

func wanted(t *testing.T, text string) (w want) {
	t.Helper()
	f := wantLine.FindStringSubmatch(text)
	if f == nil {
		t.Fatal("no want line")
	}
	w.kind, w.phases = f[2], f[4]
	fmt.Sscan(f[1], &w.line)
	fmt.Sscan(f[3], &w.steps)
	fmt.Sscan(f[5], &w.status)
	return w
}

// ran is what a script did, by the log of the fake torch.
type ran struct {
	status int
	log    []string
	output string
}

func (r ran) count(line string) (n int) {
	for _, l := range r.log {
		if l == line {
			n++
		}
	}
	return n
}

// without the lines of profilers: what the script itself did.
func (r ran) itself() string {
	return strings.Join(slices.DeleteFunc(slices.Clone(r.log), func(l string) bool {
		return strings.HasPrefix(l, "push") || strings.HasPrefix(l, "export") ||
			slices.Contains([]string{"pop", "step", "start", "stop"}, l)
	}), " ")
}

func run(t *testing.T, name, text string) ran {
	t.Helper()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no python3: that instrumented scripts run is not tested")
	}
	dir := t.TempDir()
	path, log := filepath.Join(dir, name), filepath.Join(dir, "log")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	fake, err := filepath.Abs("testdata/fake")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(python, "-B", path)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "PYTHONPATH="+fake, "FAKE_LOG="+log, "PYTHONDONTWRITEBYTECODE=1")
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	logged, _ := os.ReadFile(log)
	return ran{cmd.ProcessState.ExitCode(), strings.Split(strings.TrimSpace(string(logged)), "\n"), string(out)}
}

// Each script is instrumented in both ways, as it is and with CRLF and a byte order mark: the loop meant is found, the
// result runs, does what it did before, and its steps are as many as the passes through the loop.
func TestScripts(t *testing.T) {
	files, _ := filepath.Glob("testdata/scripts/*.py")
	if len(files) < 12 {
		t.Fatalf("%d scripts", len(files))
	}
	for i, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		w, name := wanted(t, string(text)), filepath.Base(file)
		before := run(t, name, string(text))
		if before.status != w.status {
			t.Fatalf("%s: ends with %d as it is: %s", name, before.status, before.output)
		}
		for _, form := range []struct{ name, text string }{
			{"", string(text)}, {" crlf", "\ufeff" + strings.ReplaceAll(string(text), "\n", "\r\n")},
		} {
			kinds := Kinds()
			if form.name != "" { // starting Python takes most of the time
				kinds = kinds[1:]
				if i%4 > 0 && !golden.IsLong() {
					continue
				}
			}
			for _, kind := range kinds {
				t.Run(name+form.name+" "+kind, func(t *testing.T) {
					r, err := Patch(kind, form.text, "", 0)
					if err != nil {
						t.Fatal(err)
					}
					if r.Loop.Line != w.line || r.Loop.Kind != w.kind || strings.Join(r.Phases, ",") != w.phases {
						t.Errorf("line %d, %s, %s", r.Loop.Line, r.Loop.Kind, strings.Join(r.Phases, ","))
					}
					if form.name == " crlf" && strings.Count(r.Text, "\n") != strings.Count(r.Text, "\r\n") {
						t.Error("ends of line are mixed")
					}
					after := run(t, name, r.Text)
					if after.status != w.status || after.itself() != before.itself() {
						t.Fatalf("ends with %d and does %s\nwant %d, %s\n%s", after.status, after.itself(), w.status,
							before.itself(), after.output)
					}
					check(t, kind, after, w, r.Phases)
					patched(t, name, form.text, r.Text)
				})
			}
		}
	}
}

// check holds what was recorded against the passes of the loop.
func check(t *testing.T, kind string, r ran, w want, phases []string) {
	t.Helper()
	for _, phase := range phases {
		if r.count("push "+phase) == 0 {
			t.Errorf("phase %s was not entered", phase)
		}
	}
	pushes := 0
	for _, l := range r.log {
		if strings.HasPrefix(l, "push ") {
			pushes++
		}
	}
	if pushes != r.count("pop") {
		t.Errorf("%d ranges begin, %d end", pushes, r.count("pop"))
	}
	if kind == NVTX {
		for i := range w.steps + 1 {
			if n := r.count(fmt.Sprintf("push step_%d", i)); n != 1 && i < w.steps || n != 0 && i == w.steps {
				t.Errorf("step_%d is there %d times of %d", i, n, w.steps)
			}
		}
		return
	}
	recorded := min(max(w.steps-6, 0), 10) // one waits, five warm up, ten are recorded
	if n := r.count("step"); n != min(w.steps, 16) || r.count("start") != 1 || r.count("stop") != 1 {
		t.Errorf("%d steps of %d, %d starts, %d stops", n, w.steps, r.count("start"), r.count("stop"))
	}
	if w.steps > 6 && r.count(fmt.Sprintf("export %d", recorded)) != 1 {
		t.Errorf("want one trace of %d steps: %q", recorded, r.log[max(0, len(r.log)-4):])
	}
	if w.steps <= 6 != strings.Contains(r.output, "no trace") && w.steps != 6 {
		t.Errorf("it says %q", r.output)
	}
}

// patched applies the diff with patch, where there is one.
func patched(t *testing.T, name, before, after string) {
	t.Helper()
	tool, err := exec.LookPath("patch")
	if err != nil {
		return
	}
	dir := t.TempDir()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(before), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(tool, "-p0")
	cmd.Dir, cmd.Stdin = dir, strings.NewReader(Diff(name, before, after))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("patch: %v: %s", err, out)
	}
	if got, _ := os.ReadFile(path); string(got) != after {
		t.Error("patch makes something else")
	}
}
