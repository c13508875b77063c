package commands

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/tools/txtar"

	"lacuna/internal/base/golden"
	"lacuna/internal/faces/page"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"lacuna": func() { os.Exit(Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) },
	})
}

// captures puts the captures that examples and scripts speak of into dir.
func captures(dir string) error {
	db, err := os.ReadFile("testdata/dominant_kernel.sqlite.zst")
	if err != nil {
		return err
	}
	inside, err := os.ReadFile("testdata/gemm.ncu-rep.zst") // corpus/kernel/gemm, made for this project
	if err != nil {
		return err
	}
	torch, err := os.ReadFile("../../../bench/gpu/captures/attention_out/slow/torch.json.gz")
	if err != nil {
		return err
	}
	var failed []error
	for _, kind := range []struct {
		content []byte
		paths   []string
	}{
		// the last: what the ncu command that report names would write
		{inside, []string{"gemm.ncu-rep", "slow.ncu-rep", "fixed.ncu-rep", "AFTER.ncu-rep", "kernels.ncu-rep"}},
		{torch, []string{"trace.json.gz", "before.json.gz", "after.json.gz"}},
		// a recording and a spool are made of the same chunks
		{demoCapture, []string{demoPath, "train.spools/1.spool"}},
		// packed or not is seen from the content
		{db, []string{"run.sqlite", "before.sqlite", "after.sqlite", "before/1.sqlite", "after/1.sqlite",
			"after/2.sqlite"}},
	} {
		for _, path := range kind.paths {
			path = filepath.Join(dir, path)
			failed = append(failed, os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, kind.content, 0o644))
		}
	}
	job, err := txtar.ParseFile("testdata/script/whatif.txtar")
	if err != nil {
		return err
	}
	for _, f := range job.Files { // the two ranks of its job, in text form: the content says what a file is
		if rank, ok := strings.CutSuffix(f.Name, ".txt"); ok && strings.HasPrefix(rank, "rank") {
			failed = append(failed, os.WriteFile(filepath.Join(dir, rank+".json.gz"), f.Data, 0o644))
		}
	}
	// what examples of bench run
	train := "#!/bin/sh\necho step 1, 120.5 tok/s; echo step 2, 121 tok/s\n"
	// what examples of record --print patch
	script := "for batch in loader:\n    loss = model(batch)\n    loss.backward()\n    optimizer.step()\n"
	failed = append(failed, os.WriteFile(filepath.Join(dir, "train.py"), []byte(script), 0o644))
	return errors.Join(append(failed, os.WriteFile(filepath.Join(dir, "train"), []byte(train), 0o755))...)
}

// Exit statuses, and what goes to stdout and what to stderr.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:           "testdata/script",
		UpdateScripts: golden.Updating(), // with -update what cmp wants is rewritten
		Setup: func(env *testscript.Env) error {
			env.Setenv("COLUMNS", "80")
			env.Setenv("LC_ALL", "C.UTF-8")
			env.Setenv("XDG_DATA_HOME", filepath.Join(env.WorkDir, "data"))
			if cache, err := os.UserCacheDir(); err == nil {
				env.Setenv("XDG_CACHE_HOME", cache) // the recording library is compiled once, not in every script
			}
			fake, err := filepath.Abs("../../capture/nvml/testdata/fake.c")
			env.Setenv("FAKE_NVML", fake) // the source of a stand-in for the driver's library
			return errors.Join(err, captures(env.WorkDir))
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){"status": wantStatus},
	})
}

// wantStatus is "status N COMMAND...": run it and want exactly that exit status; "status N,M COMMAND..." takes either.
func wantStatus(ts *testscript.TestScript, neg bool, args []string) {
	err := ts.Exec(args[1], args[2:]...)
	got := 0
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		got = exit.ExitCode()
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if !slices.Contains(strings.Split(args[0], ","), strconv.Itoa(got)) {
		ts.Fatalf("exit status %d, want %s", got, args[0])
	}
}

// everyTopic is every command and subcommand.
func everyTopic() (out []topic) {
	env := &Env{shelf: All}
	tree(env)
	var add func(t topic)
	add = func(t topic) {
		out = append(out, t)
		for _, s := range t.subs {
			add(s)
		}
	}
	for _, c := range All {
		add(env.topic(c, c.Name))
	}
	return out
}

// ofTheMachine is the exit status of commands where there is no GPU, no recorded program and no long history.
var ofTheMachine = map[string]int{
	"doctor": No, "monitor": Wrong, "record start": No, "record stop": No, "history blame": NoVerdict,
}

// Every example of every help text runs and succeeds, but for what a machine without a GPU cannot do.
func TestExamples(t *testing.T) {
	dir := t.TempDir()
	if err := captures(dir); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	// a history of its own
	t.Setenv("XDG_DATA_HOME", dir)
	// for diff --predicted
	predict := []string{"whatif", "before.sqlite", "-x", "drop-syncs", "--format", "json", "-o", "whatif.json"}
	if status := Main(predict, strings.NewReader(""), io.Discard, io.Discard); status != Done {
		t.Fatalf("%v: exit status %d", predict, status)
	}
	for _, c := range everyTopic() {
		if len(c.Examples) == 0 {
			t.Errorf("%s has no example", c.path)
		}
		for _, e := range c.Examples {
			words, err := splitWords(e)
			if err != nil { // a glob that no file matches, which a shell leaves as it is
				words = strings.Fields(strings.ReplaceAll(e, "'", ""))
			}
			if !strings.HasPrefix(e+" ", "lacuna "+c.path+" ") {
				t.Errorf("%s: example %q is not of it", c.path, e)
				continue
			}
			if c.Name == "demo" { // it writes over nothing
				os.Remove(demoPath)
			}
			var out, errs bytes.Buffer
			if status := Main(words[1:], strings.NewReader(""), &out, &errs); status != Done &&
				status != ofTheMachine[c.path] {
				t.Errorf("%s: exit status %d: %s", e, status, errs.String())
			}
		}
	}
}

// Help is for terminals of 80 columns and says purpose, examples, flags and exit status.
func TestHelp(t *testing.T) {
	calls := [][]string{nil, {"--help"}, {"help"}, {"stats", "--list"}, {"whatif", "--list"}}
	for _, c := range everyTopic() {
		calls = append(calls, append(strings.Fields(c.path), "--help"),
			append([]string{"help"}, strings.Fields(c.path)...))
	}
	for _, name := range tableNames() {
		calls = append(calls, []string{"stats", "--help", name})
	}
	for _, name := range changeNames() {
		calls = append(calls, []string{"whatif", "--help", name})
	}
	for _, args := range calls {
		var out, errs bytes.Buffer
		if status := Main(args, strings.NewReader(""), &out, &errs); status != Done || errs.Len() > 0 ||
			out.Len() == 0 {
			t.Errorf("%v: exit status %d, %d bytes, stderr %q", args, status, out.Len(), errs.String())
		}
		for _, line := range strings.Split(out.String(), "\n") {
			if len([]rune(line)) > helpWidth {
				t.Errorf("%v: %d columns: %s", args, len([]rune(line)), line)
			}
		}
	}
	for _, c := range everyTopic() {
		text := helpText(c)
		first, _, _ := strings.Cut(strings.TrimLeft(c.Doc, "\n"), "\n") // of its lines, with its indent
		parts := []string{"Usage: lacuna " + c.path, "\n  lacuna " + c.path, "\n" + first + "\n", "Exit status: 0 done"}
		for _, s := range c.subs {
			parts = append(parts, fmt.Sprintf("\n  %-13s%s\n", s.Name, s.Title))
		}
		for _, part := range parts {
			if !strings.Contains(text, part) {
				t.Errorf("%s lacks %q", c.path, part)
			}
		}
	}
}

// What is advised after a report names commands, tables and flags that exist.
func TestAdviceRuns(t *testing.T) {
	dir := t.TempDir()
	if err := captures(dir); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	for _, call := range [][2]string{{"report", "trace.json.gz"}, {"report", "run.sqlite"}, {"report", demoPath},
		{"kernel", "gemm.ncu-rep"}} {
		var out, errs bytes.Buffer
		if status := Main(call[:], nil, &out, &errs); status != Done {
			t.Fatalf("%s: %s", call, errs.String())
		}
		_, next, found := strings.Cut(out.String(), "\nNext\n")
		ran := 0
		for _, line := range strings.Split(next, "\n") {
			command, ok := strings.CutPrefix(line, "  lacuna ")
			if !ok {
				continue
			}
			if asked, ok := strings.CutPrefix(command, "kernel --from "); ok { // there is no ncu, and no program
				command = "kernel --dry-run --from " + asked
			}
			ran++
			errs.Reset()
			if status := Main(strings.Fields(command), nil, io.Discard, &errs); status != Done {
				t.Errorf("lacuna %s: exit status %d: %s", command, status, errs.String())
			}
		}
		if !found || ran == 0 {
			t.Errorf("%s advises nothing:\n%s", call, out.String())
		}
	}
}

// A result that fails half way leaves neither itself nor a temporary file, and what was there stays.
func TestWriteIsWhole(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "out.json")
	if err := os.WriteFile(path, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	env := &Env{output: path}
	broken := errors.New("broken")
	err := env.write(func(w io.Writer) error {
		_, _ = w.Write(make([]byte, 1<<20))
		return broken
	})
	if !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
	if got, _ := os.ReadFile(path); string(got) != "old" {
		t.Errorf("%s is %d bytes now", path, len(got))
	}
	if files, _ := os.ReadDir(dir); len(files) != 1 {
		t.Errorf("left behind: %v", files)
	}
	if err := env.write(func(w io.Writer) error { return writeText(w, "new") }); err != nil {
		t.Fatal(err)
	}
	if st, _ := os.Stat(path); st.Mode().Perm() != 0o600 {
		t.Errorf("permissions became %v", st.Mode())
	}
}

// Ctrl-C ends a program that waits for stdin, says so, and leaves nothing behind.
func TestInterrupt(t *testing.T) {
	dir := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	// testscript.Main runs a command by the name that the binary is called by
	link := filepath.Join(dir, "lacuna")
	if err := os.Symlink(self, link); err != nil {
		t.Skip(err)
	}
	work := t.TempDir()
	cmd := exec.Command(link, "export", "-", "--to", "text", "-o", filepath.Join(work, "out.txt"))
	cmd.Env = append(os.Environ(), "TMPDIR="+work)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	var errs bytes.Buffer
	cmd.Stderr = &errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	db, err := os.ReadFile("testdata/dominant_kernel.sqlite.zst")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stdin.Write(db[:len(db)/2]); err != nil { // it begins to unpack, and then waits
		t.Fatal(err)
	}
	time.Sleep(time.Second)
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	select {
	case <-done:
	case <-time.After(10 * time.Second):
		_ = cmd.Process.Kill()
		t.Fatal("still running")
	}
	if got := cmd.ProcessState.ExitCode(); got != Wrong || !strings.Contains(errs.String(), "interrupted") {
		t.Errorf("exit status %d, stderr %q", got, errs.String())
	}
	if files, _ := os.ReadDir(work); len(files) != 0 {
		t.Errorf("left behind: %v", files)
	}
}

// A reader that has seen enough (| head) is no error.
func TestClosedPipe(t *testing.T) {
	env := &Env{Out: closedPipe{}, Err: io.Discard}
	if got := env.status(context.Background(), env.write(
		func(w io.Writer) error { return writeText(w, "x") })); got != Done {
		t.Errorf("exit status %d", got)
	}
}

type closedPipe struct{}

func (closedPipe) Write([]byte) (int, error) {
	return 0, &os.PathError{Op: "write", Path: "stdout", Err: syscall.EPIPE}
}

func TestNearest(t *testing.T) {
	names := []string{"report", "stats", "info", "export"}
	for in, want := range map[string]string{"reprot": "report", "stat": "stats", "exp": "export", "kernel": "", "": "",
		"STATS": "stats"} {
		if got, ok := nearest(in, names); got != want && ok {
			t.Errorf("nearest(%q) = %q, want %q", in, got, want)
		} else if ok != (want != "") {
			t.Errorf("nearest(%q) = %q, %v", in, got, ok)
		}
	}
}

func TestASCIIOnly(t *testing.T) {
	for _, test := range []struct {
		env  map[string]string
		want bool
	}{
		{nil, false},
		{map[string]string{"LANG": "en_GB.UTF-8"}, false},
		{map[string]string{"LANG": "C.utf8"}, false},
		{map[string]string{"LANG": "C"}, true},
		{map[string]string{"LC_ALL": "POSIX", "LANG": "en_GB.UTF-8"}, true},
		{map[string]string{"LC_CTYPE": "en_GB.UTF-8", "LANG": "C"}, false},
	} {
		if got := asciiOnly(func(name string) string { return test.env[name] }); got != test.want {
			t.Errorf("%v: %v", test.env, got)
		}
	}
}

func TestParseRequests(t *testing.T) {
	got, err := parseRequests([]string{"cuda_gpu_kern_sum:base, cuda_api_sum", "op_sum:group-by=shape"})
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 3 || !got[0].Args.Has("base") || got[2].Args["group-by"] != "shape" ||
		got[1].Table.Name != "cuda_api_sum" {
		t.Errorf("got %v", got)
	}
	for _, bad := range []string{"", "nosuch", "cuda_api_sum:x=1:", "op_sum:group-by", "cuda_gpu_kern_sum:base=1"} {
		if _, err := parseRequests([]string{bad}); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}

// Steps are positions; open ends and negative ones count from the end.
func TestStepOptions(t *testing.T) {
	for in, want := range map[string][2]int{"2:10": {2, 10}, "1:-1": {1, -1}, ":3": {0, 3}, "5:": {5, 0}} {
		opt, err := stepOptions(in, "")
		if err != nil || opt.First != want[0] || opt.Last != want[1] || !opt.Pin ||
			opt.Whole != strings.HasSuffix(in, ":") {
			t.Errorf("%s: %+v, %v", in, opt, err)
		}
	}
	for _, bad := range []string{"3", "a:b", "1:2:3", "1.5:2"} {
		if _, err := stepOptions(bad, ""); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
	opt, err := stepOptions("", "train[0]")
	if err != nil || !opt.Range.MatchString("train[0]") || opt.Range.MatchString("train[0]x") {
		t.Errorf("a name is no pattern: %v, %v", opt.Range, err)
	}
	if opt, err = stepOptions("", "/^train/"); err != nil || !opt.Range.MatchString("train[0]x") {
		t.Errorf("a pattern is one: %v, %v", opt.Range, err)
	}
}

// The README shows what demo and whatif print, up to a line of dots.
func TestReadmeShowsOutput(t *testing.T) {
	readme, err := os.ReadFile("../../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, demoPath), demoCapture, 0o644); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	t.Setenv("LC_ALL", "C.UTF-8")
	for call, prompt := range map[string]string{
		"demo --short": "$ go run ./cmd/lacuna demo\n", // what a terminal gets
		"whatif data_loading.lacuna -x prefetch:data_load@12": "$ lacuna whatif data_loading.lacuna -x " +
			"prefetch:data_load@12\n",
	} {
		var out bytes.Buffer
		if status := Main(append(strings.Fields(call), "--width", "80"), nil, &out, io.Discard); status != Done {
			t.Fatalf("%s fails", call)
		}
		_, block, ok := strings.Cut(string(readme), prompt)
		block, _, ok2 := strings.Cut(block, "\n```")
		if !ok || !ok2 {
			t.Fatalf("README.md has no block that begins with: %s", prompt)
		}
		shown, _, _ := strings.Cut(block, "\n...")
		if !strings.HasPrefix(out.String(), shown) || len(shown) < 500 {
			t.Errorf("README.md does not show what %s prints:\n%s", call, out.String())
		}
	}
}

func TestManPagesAreClean(t *testing.T) {
	for _, c := range everyTopic() {
		var out bytes.Buffer
		call := append([]string{"help", "--format", "man"}, strings.Fields(c.path)...)
		if status := Main(call, nil, &out, io.Discard); status != Done {
			t.Fatalf("%s has no man page", c.path)
		}
		for _, line := range strings.Split(out.String(), "\n") {
			if strings.HasPrefix(line, ".") && !strings.HasPrefix(line, ".TH ") && !strings.HasPrefix(line, ".SH ") &&
				!strings.HasPrefix(line, ".SS ") &&
				!strings.HasPrefix(line, ".B ") && line != ".TP" && line != ".PP" && line != ".nf" && line != ".fi" {
				t.Errorf("%s: %q is no request that man pages use", c.path, line)
			}
		}
		if text := out.String(); page.Printable(strings.ReplaceAll(text, "\n", "")) != strings.ReplaceAll(text, "\n",
			"") {
			t.Errorf("%s: unprintable characters", c.path)
		}
	}
}
