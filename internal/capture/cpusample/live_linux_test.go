package cpusample

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// needs skips where the kernel lets nothing be sampled, and says why.
func needs(t *testing.T) {
	t.Helper()
	if r := Check(); !r.Samples {
		t.Skipf("NOT TESTED: sampling is not possible here: %s; %s", r.Why, r.Fix)
	}
}

// compiled compiles a program of testdata.
func compiled(t *testing.T, source string, flags ...string) string {
	t.Helper()
	cc, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("NOT TESTED: there is no C compiler here")
	}
	program := filepath.Join(t.TempDir(), strings.TrimSuffix(source, ".c"))
	args := append([]string{"-O1", "-fno-omit-frame-pointer", "-fno-optimize-sibling-calls", "-o", program,
		filepath.Join("testdata", source), "-lpthread"}, flags...)
	if out, err := exec.Command(cc, args...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return program
}

// hot checks what is known of the program hot. On a busy machine the kernel may drop records that were not read in
// time: they must be counted, and what they may have stood for is allowed to be missing.
func hot(t *testing.T, r *recording, s Stats, seconds float64) {
	t.Helper()
	t.Logf("%+v", s)
	if s.Lost > 0 != strings.Contains(strings.Join(s.Notes, ""), "dropped by the kernel") ||
		s.Lost > (s.Samples+s.Switches)/20 {
		t.Errorf("%d records are lost: %q", s.Lost, s.Notes)
	}
	if s.Broken != 0 || int64(len(r.samples)) != s.Samples || int64(len(r.switches)) != s.Switches {
		t.Errorf("stats %+v, but %d samples and %d switches", s, len(r.samples), len(r.switches))
	}
	for function, want := range map[string]float64{"hot_three": 0.75, "hot_one": 0.25, "burn": 1} {
		if got := r.share(function); math.Abs(got-want) > 0.1 {
			t.Errorf("%s has %.0f%% of the samples, want %.0f%%", function, 100*got, 100*want)
		}
	}
	var weight float64
	for _, sample := range r.samples {
		weight += float64(sample.Weight) / 1e9
	}
	if want := 2 * seconds; weight < 0.8*want-float64(s.Lost)/float64(s.Hz) || weight > 1.3*want {
		t.Errorf("samples stand for %.2f s of CPU time, want about %.2f", weight, want)
	}
	if runtime.GOARCH == "amd64" && s.Whole*10 < s.Samples*9 {
		t.Errorf("%d of %d stacks go to where their thread began", s.Whole, s.Samples)
	}
	if !r.named("worker") {
		t.Errorf("no thread is named worker: %v", r.tasks)
	}
}

func TestLaunch(t *testing.T) {
	needs(t)
	for _, kind := range []string{"-fPIE -pie", "-fno-pie -no-pie", "-O2 -fomit-frame-pointer"} {
		t.Run(kind, func(t *testing.T) {
			if strings.Contains(kind, "omit") && runtime.GOARCH != "amd64" {
				t.Skip("NOT TESTED: frame pointers are needed here")
			}
			r := newRecording(t)
			cmd := exec.Command(compiled(t, "hot.c", strings.Fields(kind)...), "0.6")
			session, err := Launch(t.Context(), Options{Switches: true, Writer: r.w}, cmd.Start)
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Wait(); err != nil {
				t.Fatal(err)
			}
			stats := session.Stop()
			r.read(t)
			hot(t, r, stats, 0.6)
			for _, s := range r.samples {
				if int(s.Pid) != cmd.Process.Pid {
					t.Fatalf("a sample of process %d; the program is %d", s.Pid, cmd.Process.Pid)
				}
			}
			in, out := 0, 0
			for _, s := range r.switches {
				if s.In == 1 {
					in++
				} else {
					out++
				}
			}
			if in < 24 || math.Abs(float64(in-out)) > 4+float64(stats.Lost) { // it sleeps 15 times in each thread
				t.Errorf("%d switches in and %d out", in, out)
			}
		})
	}
}

// A child of a shell that is run, and its threads, are followed; what this process starts meanwhile is not.
func TestLaunchFollowsChildren(t *testing.T) {
	needs(t)
	program := compiled(t, "hot.c")
	r := newRecording(t)
	cmd := exec.Command("/bin/sh", "-c", program+" 1 & wait")
	session, err := Launch(t.Context(), Options{Switches: true, Writer: r.w}, cmd.Start)
	if err != nil {
		t.Fatal(err)
	}
	if err := exec.Command(program, "0.3").Run(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	stats := session.Stop()
	r.read(t)
	hot(t, r, stats, 1)
	if !r.named("sh") {
		t.Error("the shell is not named")
	}
}

func TestStart(t *testing.T) {
	needs(t)
	cmd := exec.Command("/bin/sh", "-c", compiled(t, "hot.c")+" 1.5 & wait") // the program is a child already
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(300 * time.Millisecond)
	r := newRecording(t)
	session, err := Start(t.Context(), Options{Pid: cmd.Process.Pid, Switches: true, Writer: r.w})
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	stats := session.Stop()
	r.read(t)
	var before float64 // what ran before sampling began is not known, only that it is at most this
	for _, s := range r.samples {
		before += float64(s.Weight) / 1e9
	}
	if before < 1 || before > 3.2 {
		t.Errorf("samples stand for %.2f s of CPU time of 3 s", before)
	}
	hot(t, r, stats, before/2)
}

func TestStopBeforeTheEnd(t *testing.T) {
	needs(t)
	cmd := exec.Command(compiled(t, "hot.c"), "30")
	r := newRecording(t)
	ctx, cancel := context.WithCancel(t.Context())
	session, err := Launch(ctx, Options{Writer: r.w}, cmd.Start)
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(300 * time.Millisecond)
	cancel()
	stats := session.Stop()
	if again := session.Stop(); again.Samples != stats.Samples {
		t.Errorf("%d samples, then %d", stats.Samples, again.Samples)
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	r.read(t)
	if len(r.samples) == 0 || stats.Switches != 0 {
		t.Errorf("%+v", stats)
	}
}

// Python's functions are seen by name, in whole stacks, though it is compiled without frame pointers.
func TestPython(t *testing.T) {
	needs(t)
	python := python312()
	if python == "" || runtime.GOARCH != "amd64" {
		t.Skip("NOT TESTED: there is no Python 3.12 or later here that can name its functions")
	}
	r := newRecording(t)
	cmd := exec.Command(python, filepath.Join("testdata", "hot.py"))
	cmd.Env = append(os.Environ(), "PYTHONPERFSUPPORT=1")
	session, err := Launch(t.Context(), Options{Writer: r.w}, cmd.Start)
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	stats := session.Stop()
	r.read(t)
	_ = os.Remove(fmt.Sprintf("/tmp/perf-%d.map", cmd.Process.Pid))
	t.Logf("%+v", stats)
	file, err := filepath.Abs(filepath.Join("testdata", "hot.py"))
	if err != nil {
		t.Fatal(err)
	}
	forward := 0.0
	for _, name := range []string{"testdata/hot.py", file} {
		forward += r.share("Model.forward (" + name + ")")
		for function, want := range map[string]float64{"heavy": 0.75, "light": 0.25} {
			if got := r.share(function + " (" + name + ")"); got > 0 && math.Abs(got-want) > 0.15 {
				t.Errorf("%s has %.0f%% of the samples, want %.0f%%", function, 100*got, 100*want)
			}
		}
	}
	if forward < 0.8 { // the rest is the start of the interpreter
		t.Errorf("Model.forward has %.0f%% of the samples", 100*forward)
	}
}

// python312 is a Python that names its functions for profilers, or "".
func python312() string {
	found, _ := filepath.Glob(filepath.Join(os.Getenv("HOME"), ".pyenv/versions/3.1[2-9]*/bin/python3"))
	for _, name := range append([]string{"python3", "python3.12", "python3.13", "python3.14"}, found...) {
		out, err := exec.Command(name, "-X", "perf", "-c",
			"import sys, os; print(sys.is_stack_trampoline_active()); os.remove(f'/tmp/perf-{os.getpid()}.map')").Output()
		if err == nil && strings.HasPrefix(string(out), "True") {
			return name
		}
	}
	return ""
}

func TestErrors(t *testing.T) {
	needs(t)
	r := newRecording(t)
	_, err := Launch(t.Context(), Options{Writer: r.w}, exec.Command("/no/such/program").Start)
	if e := new(Error); errors.As(err, &e) || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a program that is not there: %v", err)
	}
	gone := exec.Command("/bin/true")
	if err := gone.Run(); err != nil {
		t.Fatal(err)
	}
	_, err = Start(t.Context(), Options{Pid: gone.Process.Pid, Writer: r.w})
	if e := new(Error); !errors.As(err, &e) {
		t.Errorf("a process that is gone: %v", err)
	}
	if _, err = Start(t.Context(), Options{Writer: r.w}); err == nil {
		t.Error("process 0 is sampled")
	}
}
