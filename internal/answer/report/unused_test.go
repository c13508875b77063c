package report

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"lacuna/internal/timeline/evtext"
	"lacuna/internal/timeline/facts"
)

// TestUnused: what is read and looked at by nothing is counted, and so is what was left unread.
func TestUnused(t *testing.T) {
	trace, err := evtext.Parse(`
call c1 0us+5us cudaLaunchKernel
kernel c1 10us+5us gemm
call c2 50us+5us cudaLaunchKernel
kernel c2 60us+5us gemm
mark 3us here
mark 4us there
thread 1 tid=1 main
thread 2 tid=2 other
sample t1 20us
sample t2 20us
sample t2 30us
`)
	if err != nil {
		t.Fatal(err)
	}
	trace.Losses.Leave("page faults", 40)
	trace.Info.Events = 49
	r, err := Build([]*facts.Facts{facts.Of(trace)}, Options{}, unjudged)
	if err != nil {
		t.Fatal(err)
	}
	want := []Unused{{"page faults", 40}, {"CPU samples of threads that make no GPU call", 2}, {"marks", 2}}
	if !slices.Equal(r.Capture.Unused, want) {
		t.Errorf("unused %v, want %v", r.Capture.Unused, want)
	}
}

// TestUnusedTablesAreUnused: a table that something begins to look at is taken off the list.
func TestUnusedTablesAreUnused(t *testing.T) {
	tables := make(map[string]*regexp.Regexp)
	for name := range unusedTables {
		tables[name] = regexp.MustCompile(`\b(t|[Tt]race)\.` + name + `\b`)
	}
	read := 0
	for _, wing := range []string{"facts", "rules", "replay", "changes"} {
		files, err := filepath.Glob("../../timeline/" + wing + "/*.go")
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			code, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			read++
			for name, look := range tables {
				if look.Match(code) {
					t.Errorf("%s looks at %s, which unusedTables says nothing does", file, name)
				}
			}
		}
	}
	if read < 100 {
		t.Errorf("only %d files were searched", read)
	}
	for _, table := range modelTables(t) {
		delete(tables, table)
	}
	for name := range tables {
		t.Errorf("%s is no table of the model", name)
	}
}

// modelTables is the names of the model's tables.
func modelTables(t *testing.T) (out []string) {
	trace, err := evtext.Parse("")
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range trace.Tables() {
		out = append(out, table.Name)
	}
	return out
}
