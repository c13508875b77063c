package internal

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// avoided is the worst offenders of docs/words.md, each with what to say instead.
var avoided = []struct {
	pattern *regexp.Regexp
	say     string
}{
	{regexp.MustCompile(`(?i)\b(mend|mends|mended|mending|repair|repairs|repaired|repairing)\b`), "fix"},
	{regexp.MustCompile(`(?i)\b(told|untold|tells)\b`), "report, show, say"},
	{regexp.MustCompile(`(?i)\bundecided\b`), "inconclusive"},
	{regexp.MustCompile(`(?i)\bin vain\b`), "predicted gain, none measured"},
	{regexp.MustCompile(`(?i)\bgraphs? (is|are|was|were)? ?recorded as a whole\b`), "recorded at graph level"},
	{regexp.MustCompile(`(?i)\b(it is|are|was|were) said\b`), "reported"},
	{regexp.MustCompile(`(?i)\b(is|are|was|were) no [a-z]+`), "is not a"},
	{regexp.MustCompile(`(?i)\bwhat which\b`), "two sentences"},
	{regexp.MustCompile(`(?i)\b(buys|would buy)\b`), "saves, gains"},
	{regexp.MustCompile(`(?i)(\d|%s|%d|%v|ms|%%|\bonce|\btimes|\bcalls|\blaunches|\bkernels|\bcopies|\bbytes|\bwaits|\bruns|\bGB|\bMB|\bregisters|\bthreads|\bblocks|\bsectors|\belements|\bFLOP) an? (step|side|thread|block|warp|request|byte|instruction|run|launch|call|line)\b`), "per"},
	{regexp.MustCompile(`(?i)\bkeeps? (its|their) lines back\b`), "buffers its output"},
}

// usual is what only looks like an offender.
var usual = regexp.MustCompile(`(?i)\b(is|are|was|were) no (longer|more|GPU|device|data)\b|there (is|are|was|were) no\b`)

// offence is what is wrong with a text, "" if nothing.
func offence(text string) string {
	text = usual.ReplaceAllString(text, "")
	for _, a := range avoided {
		if m := a.pattern.FindString(text); m != "" {
			return strconv.Quote(m) + ": say " + a.say
		}
	}
	return ""
}

// TestWords reads every text of the program's that people may see, and the documents written by hand.
func TestWords(t *testing.T) {
	seen := 0
	walk(t, "..", func(path string, _ *ast.File, text []byte) {
		if strings.HasSuffix(path, "_test.go") {
			return
		}
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, path, text, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			lit, ok := n.(*ast.BasicLit)
			if !ok || lit.Kind != token.STRING {
				return true
			}
			if s, err := strconv.Unquote(lit.Value); err == nil && strings.Contains(strings.TrimSpace(s), " ") {
				seen++
				if o := offence(s); o != "" {
					t.Errorf("%s: %s", fset.Position(lit.Pos()), o)
				}
			}
			return true
		})
	})
	for _, path := range prose(t) {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for i, line := range strings.Split(string(text), "\n") {
			if seen++; !strings.HasPrefix(line, "    ") && !strings.HasPrefix(line, "|") {
				if o := offence(line); o != "" {
					t.Errorf("%s:%d: %s", path, i+1, o)
				}
			}
		}
	}
	if seen < 5000 {
		t.Errorf("%d texts read, which cannot be all", seen)
	}
}

// prose is the documents that are written by hand. What stands in old entries of the change log stays.
func prose(t *testing.T) []string {
	t.Helper()
	out := []string{"../README.md", "../CONTRIBUTING.md"}
	err := filepath.WalkDir("../docs", func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && strings.HasSuffix(path, ".md") && filepath.Base(path) != "words.md" {
			out = append(out, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestOffence(t *testing.T) {
	for text, wrong := range map[string]bool{
		"mends it": true, "how much is told": true, "25 times a step": true, "%s a step": true, "is no number": true,
		"verdict: undecided": true, "CUDA graphs recorded as a whole": true, "two modes are said": true,
		"a step takes 3 ms": false, "is no longer there": false, "there is no GPU": false, "per step": false,
		"storyteller": false,
	} {
		if got := offence(text) != ""; got != wrong {
			t.Errorf("%q: %v, want %v (%s)", text, got, wrong, offence(text))
		}
	}
}
