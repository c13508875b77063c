package main

import (
	"os"
	"path/filepath"
	"testing"

	"lacuna/internal/base/golden"
)

// The pages are those of the tables, rules, changes and commands that are there.
func TestPagesAreCurrent(t *testing.T) {
	docs := filepath.Join(golden.Root(t), "docs")
	want, err := pages(golden.Root(t))
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range want {
		have, err := os.ReadFile(filepath.Join(docs, name))
		if err != nil || string(have) != text {
			t.Errorf("docs/%s is stale; run go generate ./... (%v)", name, err)
		}
	}
	old, err := strangers(docs, want)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range old {
		t.Errorf("docs/%s is of nothing that there is; run go generate ./...", name)
	}
}
