package commands

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"lacuna/internal/answer/engine"
	"lacuna/internal/base/golden"
)

// fakeMeasure stands for perf/measure.sh where the test must not depend on the machine's speed: the speed of a
// version is in a file, and scatters by 0.2 % from run to run.
const fakeMeasure = `#!/usr/bin/env bash
n=$(($(cat "$COUNTER") + 1)); echo $n > "$COUNTER"
awk -v x="$(cat speed)" -v n="$n" 'BEGIN { printf "{\"schema\":\"lacuna.metrics/1\",\"runs\":[{\"measures\":{\"step\":{\"unit\":\"ms\",\"values\":[%f,%f,%f]}}}]}", x*(1+(n%5)/1000), x*(1+(n%3)/1000), x }'
`

// A workflow of the examples is run as it stands, step by step, in a repository with a version before and one after.
type workflow struct {
	steps []string
	env   map[string]string
}

func githubWorkflow(t *testing.T) workflow {
	var file struct {
		Jobs map[string]struct {
			Env      map[string]any
			Defaults struct{ Run struct{ Shell string } }
			Steps    []struct{ Run, Uses, Name string }
		}
	}
	readYAML(t, ".github/workflows/performance.yml", &file)
	job, w := file.Jobs["check"], workflow{env: make(map[string]string)}
	if job.Defaults.Run.Shell != "bash" {
		t.Errorf("shell %q", job.Defaults.Run.Shell)
	}
	for name, value := range job.Env {
		w.env[name] = fmt.Sprint(value)
	}
	for _, s := range job.Steps {
		switch {
		case s.Run != "":
			w.steps = append(w.steps, s.Run)
		case !strings.HasPrefix(s.Uses, "actions/checkout@") && !strings.HasPrefix(s.Uses, "actions/upload-artifact@"):
			t.Errorf("step %q is not run here", s.Uses)
		}
	}
	return w
}

func gitlabWorkflow(t *testing.T) workflow {
	var file struct {
		Performance struct {
			Variables map[string]string
			Script    []string
		}
	}
	readYAML(t, ".gitlab-ci.yml", &file)
	// GitLab runs the lines of a script in one shell.
	return workflow{[]string{strings.Join(file.Performance.Script, "\n")}, file.Performance.Variables}
}

func readYAML(t *testing.T, name string, to any) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(golden.Root(t), "examples/ci", name))
	if err == nil {
		err = yaml.Unmarshal(text, to)
	}
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

// run runs the workflow's steps in a repository as CI does, and gives the status of the first that fails.
func (w workflow) run(t *testing.T, repo, base, home string) (status int, output string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	// a runner empties its folder for each job, and keeps the repository
	bin, temp := t.TempDir(), filepath.Join(home, "temp")
	if err := errors.Join(os.RemoveAll(temp), os.Mkdir(temp, 0o777)); err != nil {
		t.Fatal(err)
	}
	// testscript.Main runs a command by the name that the binary is called by
	if err := os.Symlink(self, filepath.Join(bin, "lacuna")); err != nil {
		t.Skip(err)
	}
	counter := filepath.Join(temp, "counter")
	if err := os.WriteFile(counter, []byte("0"), 0o666); err != nil {
		t.Fatal(err)
	}
	env := append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "HOME="+home, "COUNTER="+counter,
		"RUNNER_TEMP="+temp, "GITHUB_WORKSPACE="+repo, "GITHUB_STEP_SUMMARY="+filepath.Join(temp, "summary.md"),
		"CI_PROJECT_DIR="+repo, "CI_MERGE_REQUEST_DIFF_BASE_SHA="+base)
	for name, value := range w.env {
		if strings.HasPrefix(value, "${{") {
			if name != "BASE" {
				t.Errorf("%s: %s is not known here", name, value)
			}
			value = base
		}
		env = append(env, name+"="+value)
	}
	for _, step := range w.steps {
		cmd := exec.Command("bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step)
		cmd.Dir, cmd.Env = repo, env
		out, err := cmd.CombinedOutput()
		output += string(out)
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			return exit.ExitCode(), output
		} else if err != nil {
			t.Fatalf("%s: %v", step, err)
		}
	}
	return 0, output
}

// repository makes one of the examples, with a commit of a speed before and one after; base is the first.
func repository(t *testing.T, before, after string) (repo, base, home string) {
	t.Helper()
	repo, home = t.TempDir(), t.TempDir()
	if err := os.CopyFS(repo, os.DirFS(filepath.Join(golden.Root(t), "examples/ci"))); err != nil {
		t.Fatal(err)
	}
	write := func(name, text string, mode os.FileMode) {
		if err := os.WriteFile(filepath.Join(repo, name), []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	git := func(args ...string) string {
		cmd := exec.Command("git", append([]string{"-C", repo, "-c", "user.name=t", "-c", "user.email=t@example.org",
			"-c", "commit.gpgsign=false"}, args...)...)
		cmd.Env = append(os.Environ(), "HOME="+home)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v: %s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	write("perf/measure.sh", fakeMeasure, 0o777)
	write("speed", before, 0o666)
	git("init", "-q", "-b", "main")
	git("add", "-A")
	git("commit", "-q", "-m", "before")
	base = git("rev-parse", "HEAD")
	write("speed", after, 0o666)
	git("commit", "-q", "--allow-empty", "-am", "after")
	return repo, base, home
}

func TestExampleWorkflows(t *testing.T) {
	for _, tool := range []string{"bash", "git", "awk", "seq"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip(err)
		}
	}
	for _, test := range []struct {
		name  string
		of    func(*testing.T) workflow
		after string
		want  int
		says  string
		files []string
	}{
		{"github, nothing changed", githubWorkflow, "10", 0, "pass: 2 verdicts",
			[]string{"lacuna.xml", "lacuna.sarif"}},
		{"github, slower", githubWorkflow, "10.6", 1, "::error file=lacuna.yaml,line=4,title=step%3A regression",
			[]string{"lacuna.xml", "lacuna.sarif"}},
		{"github, faster", githubWorkflow, "9", 0, "::notice file=lacuna.yaml", nil},
		{"gitlab, nothing changed", gitlabWorkflow, "10", 0, "pass: 2 verdicts",
			[]string{"lacuna.xml", "gl-code-quality-report.json"}},
		{"gitlab, slower", gitlabWorkflow, "10.6", 1, "regression: step +6",
			[]string{"lacuna.xml", "gl-code-quality-report.json"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			repo, base, home := repository(t, "10", test.after)
			w := test.of(t)
			if test.want == 0 { // a job before on the same runner
				w.run(t, repo, base, home)
			}
			status, output := w.run(t, repo, base, home)
			if status != test.want || !strings.Contains(output, test.says) {
				t.Errorf("exit status %d, want %d; want %q in:\n%s", status, test.want, test.says, output)
			}
			for _, name := range test.files {
				if st, err := os.Stat(filepath.Join(repo, name)); err != nil || st.Size() == 0 {
					t.Errorf("%s was not written: %v", name, err)
				}
			}
		})
	}
}

// What perf/measure.sh of the examples prints is a run.
func TestExampleMeasures(t *testing.T) {
	if _, err := exec.LookPath("awk"); err != nil {
		t.Skip(err)
	}
	dir := filepath.Join(golden.Root(t), "examples/ci")
	cmd := exec.Command("bash", "perf/measure.sh")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "STEPS=3")
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "run.json")
	if err := os.WriteFile(path, out, 0o666); err != nil {
		t.Fatal(err)
	}
	runs, err := new(Env).openRuns(engine.StepOptions{}, engine.AllRanks).Read(t.Context(), []string{path})
	if err != nil || len(runs) != 1 || len(runs[0].Find("step").Samples) != 3 ||
		slices.Min(runs[0].Find("step").Samples) <= 0 {
		t.Errorf("%v, %v: %s", runs, err, out)
	}
}
