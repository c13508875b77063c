package commands

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestReadSmall(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.json")
	if _, err := readSmall(path); !os.IsNotExist(err) {
		t.Errorf("a file that is not there: %v", err)
	}
	if err := os.WriteFile(path, []byte("{}"), 0o644); err != nil {
		t.Fatal(err)
	}
	if text, err := readSmall(path); err != nil || string(text) != "{}" {
		t.Errorf("%q, %v", text, err)
	}
	if err := os.Truncate(path, maxSmall+1); err != nil {
		t.Fatal(err)
	}
	if _, err := readSmall(path); err == nil || !strings.Contains(err.Error(), "larger than") {
		t.Errorf("a file that is too large: %v", err)
	}
}
