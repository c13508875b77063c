// Package internal has no code, only the test that holds the house up.
package internal

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// wings is the folders of internal that group packages. reader and readers, and kernel itself, are packages too.
var wings = []string{"base", "timeline", "kernel", "capture", "runs", "answer", "faces"}

// floors is the house from the ground up, by rooms: packages without their wing. A package may import lower floors
// only. A name that ends in /* is every folder below it. Helpers of tests are in helpers.
var floors = [][]string{
	{"unit", "interval", "stat", "sqlite", "kernelname", "nvml", "nvtool", "spool", "page", "lanes"},
	{"model", "cubin", "changepoint", "cpusample"},
	{"profile", "measure", "nccl"},
	{"evtext", "reader", "peaks", "flops", "llmsize"},
	{"readers/*", "facts", "kernel", "synth"},
	{"tables", "rules", "replay", "kernelrules", "kernelpages", "readers", "exporters"},
	{"report", "kernelreport", "changes", "launchplan"},
	{"compare", "gate", "history"},
	{"bench", "record", "nsight", "instrument", "doctor", "monitor"},
	{"pages", "diagnose"},
	{"writers", "engine"},
	{"commands"},
	{"gen", "gen/docs", "accuracy", "seriesproof", "gateproof", "tests"},
}

// helpers are imported by tests only.
var helpers = []string{"golden", "page/pagetest", "pages/samples", "servesim"}

// long is the files over maxLines that may be, each with its reason.
var long = map[string]string{}

// maxLines is the length from which a file written by hand needs a reason.
const maxLines = 500

// An imported is one import of one file.
type imported struct{ file, from, to string } // rooms

// roomOf is the room of a folder of the repository: without internal or tools, and without its wing.
func roomOf(dir string) string {
	for _, top := range []string{"internal/", "tools/"} {
		if rest, ok := strings.CutPrefix(dir, top); ok {
			if wing, room, deeper := strings.Cut(rest, "/"); deeper && slices.Contains(wings, wing) {
				return room
			}
			return rest
		}
	}
	return dir
}

// Reading the files here, not through "go list", lets go test see when its cached result is stale.
func TestImportsGoDown(t *testing.T) {
	var all []imported
	walk(t, "..", func(path string, f *ast.File, _ []byte) {
		if strings.HasSuffix(path, "_test.go") {
			return
		}
		for _, spec := range f.Imports {
			to, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			if to, ok := strings.CutPrefix(to, "lacuna/"); ok && !strings.HasPrefix(to, "agent") &&
				!strings.HasPrefix(to, "metrics") {
				all = append(all, imported{path, roomOf(filepath.ToSlash(filepath.Dir(path))), roomOf(to)})
			}
		}
	})
	if len(all) < 20 {
		t.Errorf("%d imports found, which cannot be all", len(all))
	}
	for _, problem := range slices.Concat(upward(all), aroundTheDoor(all)) {
		t.Error(problem)
	}
}

// behindTheDoor is what faces do not import: they ask package engine. Shelves are not in it: flags and help name what
// is on them.
var behindTheDoor = []string{"model", "reader", "readers", "facts", "replay", "diagnose"}

// faces are the packages that ask the engine and print its answers.
var faces = []string{"commands"}

// aroundTheDoor says which imports of a face go past the engine.
func aroundTheDoor(all []imported) (problems []string) {
	for _, i := range all {
		if slices.Contains(faces, i.from) && slices.Contains(behindTheDoor, i.to) {
			problems = append(problems, fmt.Sprintf("%s imports %s: a face asks engine", i.file, i.to))
		}
	}
	return problems
}

// upward says which imports do not go down.
func upward(all []imported) (problems []string) {
	for _, i := range all {
		from, to := floorOf(i.from), floorOf(i.to)
		switch {
		case strings.HasPrefix(i.from, "cmd/") && i.to == "commands":
		case slices.Contains(helpers, i.from):
		case slices.Contains(helpers, i.to):
			problems = append(problems, fmt.Sprintf("%s imports %s, which is for tests", i.file, i.to))
		case from < 0:
			problems = append(problems, fmt.Sprintf(
				"%s: package %s has no floor; give it one in internal/house_test.go", i.file, i.from))
		case to < 0:
			problems = append(problems, fmt.Sprintf("%s imports %s, which has no floor", i.file, i.to))
		case to >= from:
			problems = append(problems, fmt.Sprintf("%s (floor %d) imports %s (floor %d)", i.file, from, i.to, to))
		}
	}
	return problems
}

// floorOf is the floor of a package, or -1.
func floorOf(name string) int {
	return slices.IndexFunc(floors, func(floor []string) bool {
		return slices.ContainsFunc(floor, func(room string) bool {
			stem, shelf := strings.CutSuffix(room, "*")
			return room == name || shelf && strings.HasPrefix(name, stem) && len(name) > len(stem)
		})
	})
}

// Each room of the floors is a folder, each folder of Go is a room or a helper, and docs/architecture.md names all.
func TestRooms(t *testing.T) {
	have := make(map[string]bool)
	walk(t, "..", func(path string, _ *ast.File, _ []byte) {
		dir := filepath.ToSlash(filepath.Dir(path))
		if room := roomOf(dir); room != dir && room != "internal" {
			have[room] = true
		}
	})
	plan, err := os.ReadFile("../docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	for room := range have {
		if floorOf(room) < 0 && !slices.Contains(helpers, room) {
			t.Errorf("%s has no floor", room)
		}
	}
	for _, floor := range floors {
		for _, room := range floor {
			stem, shelf := strings.CutSuffix(room, "/*")
			if !have[room] && !shelf {
				t.Errorf("%s is on a floor, but there is no such folder", room)
			}
			if !regexp.MustCompile(`\b` + regexp.QuoteMeta(stem) + `\b`).Match(plan) {
				t.Errorf("docs/architecture.md does not name %s", room)
			}
		}
	}
}

// What captures on a machine runs where nothing else of lacuna need be: it knows no timeline.
func TestCaptureStandsAlone(t *testing.T) {
	walk(t, "capture", func(path string, f *ast.File, _ []byte) {
		for _, spec := range f.Imports {
			for _, wing := range []string{"timeline", "kernel", "runs", "answer", "faces", "reader", "readers"} {
				to, _ := strconv.Unquote(spec.Path.Value)
				if !strings.HasSuffix(path, "_test.go") && strings.HasPrefix(to+"/", "lacuna/internal/"+wing+"/") {
					t.Errorf("internal/capture/%s imports %s", path, to)
				}
			}
		}
	})
}

func TestUpward(t *testing.T) {
	for _, test := range []struct {
		from, to, want string
	}{
		{"facts", "model", ""},
		{"facts", "tables", "internal/facts/x.go (floor 4) imports tables (floor 5)"},
		{"readers/kineto", "readers/nsys", "internal/readers/kineto/x.go (floor 4) imports readers/nsys (floor 4)"},
		{"readers", "readers/nsys", ""},
		{"tables", "golden", "internal/tables/x.go imports golden, which is for tests"},
		{"attic", "model", "internal/attic/x.go: package attic has no floor; give it one in internal/house_test.go"},
		{"model", "attic", "internal/model/x.go imports attic, which has no floor"},
		{"readersx", "model", "internal/readersx/x.go: package readersx has no floor; give it one in " +
			"internal/house_test.go"},
	} {
		got := strings.Join(upward([]imported{{"internal/" + test.from + "/x.go", test.from, test.to}}), "; ")
		if got != test.want {
			t.Errorf("%s to %s: %q, want %q", test.from, test.to, got, test.want)
		}
	}
	if got := upward([]imported{{"cmd/lacuna/main.go", "cmd/lacuna", "model"}}); len(got) != 1 {
		t.Errorf("cmd may import model: %q", got)
	}
}

// A file over 500 lines has a reason, and a reason has its file.
func TestFilesAreShort(t *testing.T) {
	excused := make(map[string]bool)
	check := func(path string, text []byte) {
		n := strings.Count(string(text), "\n")
		if n <= maxLines {
			return
		}
		if long[path] == "" {
			t.Errorf("%s has %d lines, over %d: split it, or give the reason in internal/house_test.go", path, n,
				maxLines)
		}
		excused[path] = true
	}
	walk(t, "..", func(path string, f *ast.File, text []byte) {
		if !ast.IsGenerated(f) {
			check(path, text)
		}
	})
	sources, err := filepath.Glob("../agent/*.[ch]")
	tests, err2 := filepath.Glob("../agent/test/*.[ch]")
	if err != nil || err2 != nil || len(sources) == 0 || len(tests) == 0 {
		t.Fatalf("the agent's C: %d and %d files, %v, %v", len(sources), len(tests), err, err2)
	}
	for _, path := range slices.Concat(sources, tests) {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		check(strings.TrimPrefix(filepath.ToSlash(path), "../"), text)
	}
	for path := range long {
		if !excused[path] {
			t.Errorf("%s is excused for its length but is short or gone", path)
		}
	}
}

// walk gives every Go file of the repository, with its path from the root.
func walk(t *testing.T, root string, visit func(path string, f *ast.File, text []byte)) {
	t.Helper()
	fset := token.NewFileSet()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() {
			if path != root && (strings.HasPrefix(name, ".") || name == "testdata" || name == "vendor") {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		f, err := parser.ParseFile(fset, path, text, parser.ImportsOnly|parser.ParseComments)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		visit(filepath.ToSlash(rel), f, text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
