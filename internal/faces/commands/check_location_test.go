package commands

import (
	"os"
	"path/filepath"
	"testing"

	"lacuna/internal/runs/gate"
)

// Code hosts want paths from the root of the repository, wherever check is called and however a file is named.
func TestLocationOf(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(dir, "repo", ".git"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(dir, "repo", "gpu"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Chdir(filepath.Join(dir, "repo", "gpu"))
	for text, want := range map[string]gate.Location{
		"":                            {},
		"train.py:12":                 {File: "gpu/train.py", Line: 12},
		"../lacuna.yaml":              {File: "lacuna.yaml", Line: 1},
		dir + "/repo/gpu/train.py:3":  {File: "gpu/train.py", Line: 3},
		dir + "/elsewhere/train.py:3": {File: dir + "/elsewhere/train.py", Line: 3},
	} {
		if got, err := locationOf(text); err != nil || got != want {
			t.Errorf("%q: %+v, %v, want %+v", text, got, err, want)
		}
	}
	for _, bad := range []string{"train.py:", "train.py:0", ":3", "train.py:x"} {
		if _, err := locationOf(bad); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
	t.Chdir(dir)
	if got := inRepository("lacuna.yaml"); got != "lacuna.yaml" {
		t.Errorf("outside a repository: %q", got)
	}
}
