package internal

import (
	"fmt"
	"go/ast"
	"go/scanner"
	"go/token"
	"os"
	"strings"
	"testing"
	"unicode/utf8"
)

// The widest line of code and of prose, in columns; a tab counts four. A line may be wider for one text that is
// longTextColumns or more: regular expressions, commands and data are not broken.
const (
	maxColumns      = 120
	longTextColumns = 40
)

// columns is the width of a line.
func columns(line string) int { return utf8.RuneCountInString(line) + 3*strings.Count(line, "\t") }

// TestLinesAreShort reads all Go that is written by hand, and the prose of documents.
func TestLinesAreShort(t *testing.T) {
	walk(t, "..", func(path string, f *ast.File, text []byte) {
		if ast.IsGenerated(f) {
			return
		}
		long := longTexts(text)
		for i, line := range strings.Split(string(text), "\n") {
			if columns(line) > maxColumns && !long[i+1] {
				t.Errorf("%s:%d: %d columns", path, i+1, columns(line))
			}
		}
	})
	for _, path := range prose(t) {
		if madeFromCode(path) {
			continue
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		code := false
		for i, line := range strings.Split(string(text), "\n") {
			code = code != strings.HasPrefix(line, "```")
			if columns(line) > maxColumns && !code && isProse(line) {
				t.Errorf("%s:%d: %d columns", path, i+1, columns(line))
			}
		}
	}
}

// madeFromCode says whether a page is generated: its lines are as long as what they show.
func madeFromCode(path string) bool {
	for _, made := range []string{"changes/", "cli/", "exporters/", "kernelrules/", "rules/", "schema/", "tables/",
		"formats/README.md", "peaks.md"} {
		if strings.HasPrefix(path, "../docs/"+made) {
			return true
		}
	}
	return false
}

// isProse says whether a line of Markdown can be broken.
func isProse(line string) bool {
	for _, sign := range []string{"|", "    ", "#", "<", "[", "- ["} {
		if strings.HasPrefix(line, sign) {
			return false
		}
	}
	return strings.Contains(strings.TrimSpace(line), " ")
}

// longTexts is the lines, from 1, that a long text stands on, alone or with other code.
func longTexts(src []byte) map[int]bool {
	out := make(map[int]bool)
	fset := token.NewFileSet()
	file := fset.AddFile("", -1, len(src))
	var s scanner.Scanner
	s.Init(file, src, nil, 0)
	for {
		pos, tok, lit := s.Scan()
		switch {
		case tok == token.EOF:
			return out
		case tok != token.STRING:
		case strings.Contains(lit, "\n"):
			first := fset.Position(pos).Line
			for i := range strings.Count(lit, "\n") + 1 {
				out[first+i] = true
			}
		case utf8.RuneCountInString(lit) >= longTextColumns:
			out[fset.Position(pos).Line] = true
		}
	}
}

func TestLongTexts(t *testing.T) {
	long := strings.Repeat("x", longTextColumns)
	src := fmt.Sprintf("package x\n\nvar a = %q\nvar b = `one\ntwo`\nvar c = \"short\" // %s\n", long, long)
	if got, want := fmt.Sprint(longTexts([]byte(src))), "map[3:true 4:true 5:true]"; got != want {
		t.Errorf("lines %s, want %s", got, want)
	}
}
