package internal

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"lacuna/internal/readers"
)

// namers is the packages that may name a tool or a format, each with its reason. All others see the model.
var namers = map[string]string{
	"nvtool":   "finds nsys and ncu on a machine",
	"nsight":   "drives nsys and ncu",
	"doctor":   "looks for the tools of this machine",
	"commands": "record --with nsys, ncu: the tool to run, not the one that wrote a capture",
	"record":   "finds out which other tool has a process already",
}

// printers is the packages that give what a capture says of itself as it is: its lines of metadata are shown, not
// asked.
var printers = []string{"model", "evtext", "reader", "report"}

// Nothing outside of readers can tell which tool wrote a capture.
func TestFormatBlind(t *testing.T) {
	names := toolNames()
	needed := make(map[string]bool)
	fset := token.NewFileSet()
	walk(t, ".", func(file string, _ *ast.File, text []byte) {
		room := roomOf("internal/" + path.Dir(file))
		if strings.HasSuffix(file, "_test.go") || strings.HasPrefix(room, "readers/") ||
			slices.Contains(helpers, room) {
			return
		}
		f, err := parser.ParseFile(fset, file, text, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		problems := formatKeys(room, f, names)
		if namers[room] != "" {
			needed[room] = needed[room] || len(problems) > 0
			return
		}
		for _, p := range problems {
			t.Errorf("internal/%s: %s", file, p)
		}
	})
	for room := range namers {
		if !needed[room] {
			t.Errorf("%s may name formats but does not: take it out of namers", room)
		}
	}
}

// toolNames is every word that stands for a format or for the tool that writes it. "text" is none: lacuna's own form
// has no tool, and the word is that of what commands print.
func toolNames() map[string]bool {
	names := make(map[string]bool)
	for _, f := range readers.All {
		if f.Maker == "" {
			continue
		}
		names[f.Name], names[f.Maker] = true, true
		if f.Tool != nil {
			names[f.Tool.Name] = true
		}
	}
	return names
}

// formatKeys is where a file knows of a format: a text that is the name of one, a question to Info.Format other than to
// hand it on as a field, or one to the metadata of the file.
func formatKeys(room string, f *ast.File, names map[string]bool) (problems []string) {
	var above []ast.Node
	ast.Inspect(f, func(n ast.Node) bool {
		if n == nil {
			above = above[:len(above)-1]
			return true
		}
		switch x := n.(type) {
		case *ast.BasicLit:
			if word, err := strconv.Unquote(x.Value); x.Kind == token.STRING && err == nil && names[word] {
				problems = append(problems, fmt.Sprintf("%q names a format or tool: a reader sets what depends on it",
					word))
			}
		case *ast.SelectorExpr:
			of := ofInfo(x)
			switch {
			case of == "Format" && !slices.Contains([]string{"reader", "model"}, room) &&
				!handedOn(above[len(above)-1]):
				problems = append(problems, "Info.Format decides something: a reader sets what depends on it")
			case of == "Meta" && !slices.Contains(printers, room):
				problems = append(problems, "Info.Meta is asked: a reader puts what is needed into a field of its own")
			}
		}
		above = append(above, n)
		return true
	})
	return problems
}

// ofInfo is the field if a selector is one of model.Info's, as code here writes it: x.Info.Format or info.Format.
func ofInfo(x *ast.SelectorExpr) string {
	switch of := x.X.(type) {
	case *ast.SelectorExpr:
		if of.Sel.Name == "Info" {
			return x.Sel.Name
		}
	case *ast.Ident:
		if of.Name == "info" || of.Name == "Info" {
			return x.Sel.Name
		}
	}
	return ""
}

// handedOn says whether a value stands as the field of a literal: Format: info.Format.
func handedOn(above ast.Node) bool {
	_, ok := above.(*ast.KeyValueExpr)
	return ok
}

func TestFormatKeys(t *testing.T) {
	for _, test := range []struct {
		room, code string
		want       int
	}{
		{"facts", `x := 1`, 0},
		{"facts", `m := map[string]int{"nsys": 1}`, 1},
		{"replay", `switch p.Facts.Trace.Info.Format { case "nsys", "spool": }`, 3},
		{"replay", `if t.Info.Format == x {}`, 1},
		{"replay", `o := overheads[info.Format]`, 1},
		{"rules", `say(info.Format)`, 1},
		{"report", `c := Contents{Path: info.Path, Format: info.Format}`, 0},
		{"changes", `for _, m := range e.Facts.Trace.Info.Meta {}`, 1},
		{"report", `for _, m := range info.Meta {}`, 0},
		{"reader", `trace.Info.Path, trace.Info.Format = src.Path, f.Name`, 0},
		{"writers", `if tool == "Nsight Systems" {}`, 1},
		{"writers", `if tool == "torch.profiler" {}`, 1},
		{"compare", `const kernelTool = "ncu"`, 1},
		{"rules", `try := "nsys profile --trace=cuda,nvtx"`, 0}, // advice on how to get what is missing
		{"commands", `format := "text"`, 0},
		{"gate", `if opt.Format == "csv" {}`, 0},
	} {
		code := "package x\nfunc f() {\n" + test.code + "\n}\n"
		f, err := parser.ParseFile(token.NewFileSet(), "x.go", code, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		if got := formatKeys(test.room, f, toolNames()); len(got) != test.want {
			t.Errorf("%s: %s: %d problems, want %d: %s", test.room, test.code, len(got), test.want,
				strings.Join(got, "; "))
		}
	}
}

// Each folder of readers is a whole reader.
func TestReadersAreWhole(t *testing.T) {
	entries, err := os.ReadDir("readers")
	if err != nil {
		t.Fatal(err)
	}
	folders := 0
	for _, e := range entries {
		if e.IsDir() {
			folders++
			for _, lack := range readerLacks(t, os.DirFS("readers/"+e.Name())) {
				t.Errorf("internal/readers/%s: %s", e.Name(), lack)
			}
		}
	}
	if folders != len(readers.All) {
		t.Errorf("%d folders, %d formats: run go generate ./...", folders, len(readers.All))
	}
	for _, f := range readers.All {
		for what, has := range map[string]bool{
			"Title": f.Title != "", "Doc": strings.TrimSpace(f.Doc) != "", "Clock": f.Clock != "",
			"Files": f.Files != "",
			"Sniff": f.Sniff != nil, "Read or Profile": f.Read != nil || f.Profile != nil,
			"Fills, which says what Read may find": f.Read == nil || f.Fills != nil,
			"Measured, which says how the costs of its Tool were": f.Tool == nil || !f.Tool.Priced() ||
				f.Measured != "",
			"Tool, since it has a Maker and a timeline": f.Read == nil || f.Maker == "" || f.Tool != nil,
		} {
			if !has {
				t.Errorf("format %s: no %s", f.Name, what)
			}
		}
	}
}

// readerLacks is what a reader's folder must have and does not.
func readerLacks(t *testing.T, folder fs.FS) (lacks []string) {
	t.Helper()
	files, err := fs.Glob(folder, "*.go")
	if err != nil {
		t.Fatal(err)
	}
	format, tests, fuzz := false, false, false
	for _, name := range files {
		text, err := fs.ReadFile(folder, name)
		if err != nil {
			t.Fatal(err)
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, text, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		test := strings.HasSuffix(name, "_test.go")
		for _, d := range f.Decls {
			switch x := d.(type) {
			case *ast.GenDecl:
				format = format || !test && x.Tok == token.VAR && declares(x, "Format")
			case *ast.FuncDecl:
				tests = tests || test && strings.HasPrefix(x.Name.Name, "Test")
				fuzz = fuzz || test && strings.HasPrefix(x.Name.Name, "Fuzz")
			}
		}
	}
	for _, x := range []struct {
		has  bool
		what string
	}{{format, "no var Format"}, {tests, "no test"}, {fuzz, "no func FuzzRead: files come from anywhere"}} {
		if !x.has {
			lacks = append(lacks, x.what)
		}
	}
	return lacks
}

func declares(d *ast.GenDecl, name string) bool {
	return slices.ContainsFunc(d.Specs, func(s ast.Spec) bool {
		v, ok := s.(*ast.ValueSpec)
		return ok && slices.ContainsFunc(v.Names, func(n *ast.Ident) bool { return n.Name == name })
	})
}

func TestReaderLacks(t *testing.T) {
	const (
		format = "package x\nvar Format = reader.Format{}\n"
		local  = "package x\nfunc f() { var Format = 1 }\n"
		test   = "package x\nfunc TestX(t *testing.T) {}\n"
		fuzz   = "package x\nfunc FuzzRead(f *testing.F) {}\n"
	)
	for _, c := range []struct {
		files map[string]string
		want  string
	}{
		{map[string]string{"x.go": format, "x_test.go": test, "fuzz_test.go": fuzz}, ""},
		{map[string]string{"x.go": format, "x_test.go": test}, "no func FuzzRead: files come from anywhere"},
		{map[string]string{"x.go": format, "x_test.go": fuzz}, "no test"},
		{map[string]string{"x.go": format, "fuzz.go": fuzz, "x_test.go": test},
			"no func FuzzRead: files come from anywhere"},
		{map[string]string{"x.go": "package x\n", "x_test.go": test, "y_test.go": fuzz}, "no var Format"},
		{map[string]string{"x.go": local, "x_test.go": test, "y_test.go": fuzz}, "no var Format"},
		{map[string]string{}, "no var Format; no test; no func FuzzRead: files come from anywhere"},
	} {
		folder := make(fstest.MapFS)
		for name, text := range c.files {
			folder[name] = &fstest.MapFile{Data: []byte(text)}
		}
		if got := strings.Join(readerLacks(t, folder), "; "); got != c.want {
			t.Errorf("%v: %q, want %q", c.files, got, c.want)
		}
	}
}
