package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lacuna/internal/base/golden"
)

// The lists are those of the files that are there.
func TestListsAreCurrent(t *testing.T) {
	root := golden.Root(t)
	files, err := lists(root)
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 3 {
		t.Errorf("%d lists, want those of tables, commands and readers at least", len(files))
	}
	for _, f := range files {
		have, err := os.ReadFile(filepath.Join(root, f.path))
		if err != nil || string(have) != string(f.text) {
			t.Errorf("%s is stale; run go generate ./... (%v)", f.path, err)
		}
	}
}

func TestItems(t *testing.T) {
	for _, test := range []struct{ files, want string }{
		{"package x\nvar b = Table{Name: \"a\"}\nvar (\n\tn = 5\n\ta, c = Table{Name: `b`}, other{Name: \"x\"}\n)\n",
			"b a"},
		{"package x\nvar a = Table{Title: \"a\"}\n", "a has no Name"},
		{"package x\nvar a = Table{Name: \"a\"}\nvar b = Table{Name: \"a\"}\n", `Table "a" is declared at`},
		{"package x\nvar a = &Table{Name: \"a\"}\n", ""}, // of another item: a subcommand
		{"package x\nfunc f() { var a = Table{Name: \"a\"} }\n", ""},
		{"package x\nvar a = Table{\n", "expected"},
	} {
		dir := t.TempDir()
		for name, text := range map[string]string{"a.go": test.files, "a_test.go": "broken",
			listName: "package x\nvar old = Table{Name: \"old\"}\n"} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		items, err := shelf{item: "Table", key: "Name"}.items(dir)
		if err != nil {
			if test.want == "" || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%q gives %v, want %s", test.files, err, test.want)
			}
			continue
		}
		var names []string
		for _, it := range items {
			names = append(names, it.name)
		}
		if got := strings.Join(names, " "); got != test.want {
			t.Errorf("%q gives %q, want %q", test.files, got, test.want)
		}
	}
}
