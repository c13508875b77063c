//go:build linux

package commands

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"lacuna/internal/base/golden"
)

// lacuna record with its real agent, in a program that runs on the driver and the CUPTI of agent/test.
func TestRecordScripts(t *testing.T) {
	if _, err := exec.LookPath("cc"); err != nil {
		t.Skip("no C compiler: lacuna record is NOT tested")
	}
	root := golden.Root(t)
	built := t.TempDir()
	run := func(name string, args ...string) {
		t.Helper()
		if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", name, err, out)
		}
	}
	run("sh", filepath.Join(root, "agent/test/build_fakes.sh"), built, "130000")
	run("cc", "-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror", "-I", filepath.Join(root, "agent/test"), "-o",
		filepath.Join(built, "loop"),
		"testdata/record/loop.c", "-L"+built, "-lcuda", "-ldl", "-pthread")
	cache, err := os.UserCacheDir() // the agent is compiled once for all scripts, and for the next time
	if err != nil {
		cache = t.TempDir()
	}
	testscript.Run(t, testscript.Params{
		Dir:           "testdata/record",
		UpdateScripts: golden.Updating(),
		Setup: func(env *testscript.Env) error {
			env.Setenv("COLUMNS", "80")
			env.Setenv("LC_ALL", "C.UTF-8")
			env.Setenv("LD_LIBRARY_PATH", built)
			env.Setenv("XDG_CACHE_HOME", cache)
			env.Setenv("JOB", "17")
			if err := os.Symlink(filepath.Join(built, "loop"), filepath.Join(env.WorkDir, "loop")); err != nil {
				return err
			}
			return os.WriteFile(filepath.Join(env.WorkDir, "loop.c"), nil, 0o644)
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){"status": wantStatus},
	})
}

// Progress is told often at first and then seldom.
func TestAfterProgress(t *testing.T) {
	at, said := 2*time.Second, ""
	for range 8 {
		said += at.String() + " "
		at = afterProgress(at)
	}
	if want := "2s 5s 10s 20s 30s 1m0s 2m0s 3m0s "; said != want {
		t.Errorf("%s, want %s", said, want)
	}
}

// A range means to the report what it means to the agent.
func TestReportRange(t *testing.T) {
	for in, want := range map[string]string{"": "", "train": "train", "train*": "/^train/", "a.b[0]*": `/^a\.b\[0\]/`} {
		if got := reportRange(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}
