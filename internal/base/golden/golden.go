// Package golden compares results with files that a reviewer has read. Run a test with
// -update to rewrite them; the diff is reviewed like code.
package golden

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
)

var update = flag.Bool("update", false, "rewrite the files that hold the wanted results")

// Updating says whether the wanted results are being rewritten.
func Updating() bool { return *update }

// A Case is one case of a txtar file: NAME/events, NAME/want and, if it has any, NAME/args.
type Case struct {
	Name   string
	Events string
	Args   string // one line, without its end; "" if there is none
}

// Cases runs every case of a txtar file: what answer makes of its events must be its want.
// The text above the first case is a comment on the file and is kept.
func Cases(t *testing.T, file string, answer func(t *testing.T, events string) string) {
	t.Helper()
	CasesWithArgs(t, file, func(t *testing.T, c Case) string {
		if c.Args != "" {
			t.Fatalf("%s: %s has args, which this test does not read", file, c.Name)
		}
		return answer(t, c.Events)
	})
}

// CasesWithArgs is Cases for tests whose cases have arguments.
func CasesWithArgs(t *testing.T, file string, answer func(t *testing.T, c Case) string) {
	t.Helper()
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	cases, wants, err := split(archive)
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	got := make(map[string]string)
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			text := endLine(answer(t, c))
			got[c.Name] = text // with -run, some cases keep their want
			want, ok := wants[c.Name]
			switch {
			case *update:
			case !ok:
				t.Errorf("%s: no %s/want; run with -update", file, c.Name)
			default:
				Equal(t, file+" "+c.Name, text, want)
			}
		})
	}
	if *update && !t.Failed() {
		for name, text := range wants {
			if _, ran := got[name]; !ran {
				got[name] = text
			}
		}
		write(t, file, join(archive, cases, got))
	}
}

// NoStrangers fails the test if a folder has a txtar file of nothing that there is: known says what is, by the file's
// name without its ending.
func NoStrangers(t *testing.T, dir string, known func(name string) bool) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range files {
		if !known(strings.TrimSuffix(filepath.Base(path), ".txtar")) {
			t.Errorf("%s is of nothing that there is; remove it", path)
		}
	}
}

// Want is what the file wants of a case; false if it has none.
func Want(t *testing.T, file, name string) (string, bool) {
	t.Helper()
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range archive.Files {
		if f.Name == name+"/want" {
			return string(f.Data), true
		}
	}
	return "", false
}

// File compares a result with a whole file.
func File(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		write(t, file, []byte(got))
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v; run with -update", err)
	}
	Equal(t, file, got, string(want))
}

// Equal fails the test with the first line that differs and the whole result.
func Equal(t testing.TB, what, got, want string) {
	t.Helper()
	if got == want {
		return
	}
	g, w := strings.SplitAfter(got, "\n"), strings.SplitAfter(want, "\n")
	n := 0
	for n < len(g) && n < len(w) && g[n] == w[n] {
		n++
	}
	line := func(lines []string) string {
		if n < len(lines) {
			return fmt.Sprintf("%q", lines[n])
		}
		return "(end)"
	}
	t.Errorf("%s: line %d is %s, want %s\ngot:\n%s", what, n+1, line(g), line(w), got)
}

// split is the cases of an archive, in order, and the wants by name.
func split(a *txtar.Archive) ([]Case, map[string]string, error) {
	var cases []Case
	wants := make(map[string]string)
	seen := make(map[string]bool)
	args := make(map[string]string)
	for _, f := range a.Files {
		name, part, ok := cutLast(f.Name)
		if !ok || seen[f.Name] {
			return nil, nil, fmt.Errorf("section %q: want NAME/events, NAME/want or NAME/args, each once", f.Name)
		}
		seen[f.Name] = true
		switch part {
		case "events":
			cases = append(cases, Case{Name: name, Events: string(f.Data)})
		case "want":
			wants[name] = string(f.Data)
		case "args":
			args[name] = strings.TrimSpace(string(f.Data))
		default:
			return nil, nil, fmt.Errorf("section %q: want NAME/events, NAME/want or NAME/args", f.Name)
		}
	}
	if len(cases) == 0 {
		return nil, nil, fmt.Errorf("no case")
	}
	for i := range cases {
		cases[i].Args = args[cases[i].Name]
	}
	for name := range seen {
		if stem, _, _ := cutLast(name); !seen[stem+"/events"] {
			return nil, nil, fmt.Errorf("section %q has no %s/events", name, stem)
		}
	}
	return cases, wants, nil
}

func cutLast(s string) (name, part string, ok bool) {
	i := strings.LastIndexByte(s, '/')
	if i < 1 {
		return s, "", false
	}
	return s[:i], s[i+1:], true
}

// join is the archive with the results in place of the wants; a new want goes to the end of its case.
func join(a *txtar.Archive, cases []Case, got map[string]string) []byte {
	out := &txtar.Archive{Comment: a.Comment}
	for _, c := range cases {
		for _, f := range a.Files {
			if name, part, _ := cutLast(f.Name); name == c.Name && part != "want" {
				out.Files = append(out.Files, f)
			}
		}
		out.Files = append(out.Files, txtar.File{Name: c.Name + "/want", Data: []byte(got[c.Name])})
	}
	return txtar.Format(out)
}

func endLine(s string) string {
	if s != "" && !strings.HasSuffix(s, "\n") {
		return s + "\n"
	}
	return s
}

func write(t *testing.T, file string, data []byte) {
	t.Helper()
	if old, err := os.ReadFile(file); err == nil && bytes.Equal(old, data) {
		return
	}
	if err := os.WriteFile(file, data, 0o666); err != nil {
		t.Fatal(err)
	}
}

// Root is the folder of go.mod.
func Root(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		up := filepath.Dir(dir)
		if up == dir {
			t.Fatal("no go.mod above the test's folder")
		}
		dir = up
	}
}

// CorpusFiles is the captures under a folder of the corpus whose names end in one of the suffixes, sorted.
func CorpusFiles(t testing.TB, folder string, suffixes ...string) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(filepath.Join(Corpus(t), folder), func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() && slices.ContainsFunc(suffixes,
			func(s string) bool { return strings.HasSuffix(path, s) }) {
			out = append(out, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}
