package metrics

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"lacuna/internal/runs/measure"
)

const tools = "../tools/python"

func python(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	path := "/usr/bin/python3" // Debian's, which has Debian's pytest
	if _, err := os.Stat(path); err != nil {
		if path, err = exec.LookPath("python3"); err != nil {
			t.Skip("no python3: the helpers in Python are not tested")
		}
	}
	folder, err := filepath.Abs(tools)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, args...)
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), "PYTHONPATH="+folder+string(os.PathListSeparator)+os.Getenv("PYTHONPATH"),
		"PYTHONDONTWRITEBYTECODE=1", Variable+"="+filepath.Join(cmd.Dir, "m.json"))
	return cmd
}

func readBack(t *testing.T, cmd *exec.Cmd) []*measure.Run {
	t.Helper()
	f, err := os.Open(filepath.Join(cmd.Dir, "m.json"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	runs, err := measure.Read(f)
	if err != nil {
		t.Fatal(err)
	}
	return runs
}

func TestPythonRecorder(t *testing.T) {
	cmd := python(t, "-c", `
import time
from lacuna_metrics import Recorder
with Recorder(program="p", warmup=2, labels={"commit": "abc"}) as m:
    for i in m.steps(range(6)):
        time.sleep(0.005)
    with m.step():
        pass
    m.add("loss", 0.5)
    m.add("loss", 0.25)
    try:
        m.add("loss", float("nan"))
    except ValueError:
        print("refused")
try:
    with Recorder(path="failed.json") as m:
        with m.step():
            raise KeyError("x")
except KeyError:
    print("raised")
import os
os.environ["RANK"] = "1"
with Recorder(path="rank1.json") as m:
    m.add("x", 1)
print(os.path.exists("failed.json"), os.path.exists("rank1.json"))
`)
	out, err := cmd.CombinedOutput()
	if err != nil || string(out) != "refused\nraised\nFalse False\n" {
		t.Fatalf("%v\n%s", err, out)
	}
	run := readBack(t, cmd)[0]
	step, loss := run.Find("step"), run.Find("loss")
	if step == nil || len(step.Samples) != 5 || step.Samples[0] < 5 || step.Samples[4] >= 5 || loss == nil ||
		len(loss.Samples) != 2 {
		t.Errorf("step %+v, loss %+v", step, loss)
	}
	if run.Program != "p" || run.Started == 0 || len(run.Labels) != 1 || run.Find("total").Samples[0] < 30 {
		t.Errorf("%+v", run)
	}
}

func TestPytestPlugin(t *testing.T) {
	if err := python(t, "-c", "import pytest").Run(); err != nil {
		t.Skip("no pytest (Debian: python3-pytest): the plugin is not tested")
	}
	cmd := python(t, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "pytest_lacuna", "test_w.py")
	test := `
import time, pytest
def test_sum(lacuna_step):
    assert lacuna_step(sum, range(1000)) == 499500
@pytest.mark.lacuna(repeats=7, warmup=1)
def test_sleep(lacuna_step):
    calls = []
    lacuna_step(lambda: (calls.append(1), time.sleep(0.002)), name="short")
    assert len(calls) == 8
    lacuna_step(time.sleep, 0.004, name="long", repeats=3)
def test_fails(lacuna_step):
    lacuna_step(lambda: 1)
    assert False
def test_twice(lacuna_step):
    lacuna_step(lambda: 1)
    lacuna_step(lambda: 2)
@pytest.mark.lacuna(7)
def test_mark(lacuna_step):
    pass
def test_without():
    pass
`
	if err := os.WriteFile(filepath.Join(cmd.Dir, "test_w.py"), []byte(test), 0o644); err != nil {
		t.Fatal(err)
	}
	out, err := cmd.CombinedOutput()
	for _, want := range []string{"2 failed, 3 passed, 1 error", "test_w.py::test_sum:step: median",
		"measured before in this test", "the marker is lacuna(repeats=N, warmup=N)"} {
		if !strings.Contains(string(out), want) {
			t.Fatalf("%v: lacks %q\n%s", err, want, out)
		}
	}
	run := readBack(t, cmd)[0]
	got := map[string]int{}
	for _, m := range run.Measures {
		got[m.Name] = len(m.Samples)
	}
	want := map[string]int{"test_w.py::test_sum:step": 30, "test_w.py::test_sleep:short:step": 7,
		"test_w.py::test_sleep:long:step": 3}
	for name, n := range want {
		if got[name] != n {
			t.Errorf("%s has %d samples, want %d", name, got[name], n)
		}
	}
	if len(got) != len(want) || run.Find("test_w.py::test_sleep:long:step").Samples[0] < 4 {
		t.Errorf("measures %v", got)
	}
}
