package rules

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestRulesStandApart: no file of a rule runs another rule, by its Check or by the function behind it. A rule that
// needs what another finds comes after it (Rule.After).
func TestRulesStandApart(t *testing.T) {
	paths, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	files, checks := make(map[string]*ast.File), make(map[string]string) // the file of each function that is a Check
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		if files[path], err = parser.ParseFile(token.NewFileSet(), path, nil, 0); err != nil {
			t.Fatal(err)
		}
		ast.Inspect(files[path], func(n ast.Node) bool {
			if field, ok := n.(*ast.KeyValueExpr); ok && name(field.Key) == "Check" {
				checks[name(field.Value)] = path
			}
			return true
		})
	}
	if len(checks) != len(All) {
		t.Errorf("%d checks are known of %d rules", len(checks), len(All))
	}
	for path, file := range files {
		ast.Inspect(file, func(n ast.Node) bool {
			switch x := n.(type) {
			case *ast.SelectorExpr:
				if x.Sel.Name == "Check" && path != "rules.go" {
					t.Errorf("%s runs a rule", path)
				}
			case *ast.Ident:
				if of := checks[x.Name]; of != "" && of != path {
					t.Errorf("%s uses %s, the check of %s", path, x.Name, of)
				}
			}
			return true
		})
	}
}

// name is the identifier that an expression is, or "".
func name(e ast.Expr) string {
	if id, ok := e.(*ast.Ident); ok {
		return id.Name
	}
	return ""
}

// TestAfter: rules that others look at stand in All and look at none themselves, so that two rounds are enough.
func TestAfter(t *testing.T) {
	for _, r := range All {
		for _, before := range r.After {
			if len(before.After) > 0 || !slices.Contains(All, before) {
				t.Errorf("%s comes after %s, which comes after others or is not in All", r.ID, before.ID)
			}
		}
	}
}
