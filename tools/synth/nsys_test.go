package synth

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

func TestNsys(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.sqlite")
	if err := Nsys(path, 1000); err != nil {
		t.Fatal(err)
	}
	db, err := sqlite.OpenConn(path, sqlite.OpenReadOnly)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for query, want := range map[string]int64{
		"select count(*) from CUPTI_ACTIVITY_KIND_KERNEL":          1000,
		"select count(*) from CUPTI_ACTIVITY_KIND_RUNTIME":         1040,
		"select count(*) from CUPTI_ACTIVITY_KIND_MEMCPY":          20,
		"select count(*) from CUPTI_ACTIVITY_KIND_SYNCHRONIZATION": 20,
		"select count(*) from NVTX_EVENTS":                         60,
		// every activity has its call, and starts after it began
		"select count(*) from CUPTI_ACTIVITY_KIND_KERNEL k join CUPTI_ACTIVITY_KIND_RUNTIME r using " +
			"(correlationId) where k.start > r.start": 1000,
	} {
		got, err := sqlitex.ResultInt64(db.Prep(query))
		if err != nil || got != want {
			t.Errorf("%s: %d, %v; want %d", query, got, err, want)
		}
	}
}

// TestLibcPin holds modernc.org/libc at the version that modernc.org/sqlite was made with: another
// crashes on some machines (usememos/memos#4745, pocketbase#6136).
func TestLibcPin(t *testing.T) {
	ours := requires(t, filepath.Join("..", "..", "go.mod"), "modernc.org/libc")
	version := requires(t, filepath.Join("..", "..", "go.mod"), "modernc.org/sqlite")
	cache := os.Getenv("GOMODCACHE")
	if cache == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			t.Skip("no home folder, so no module cache to look into")
		}
		cache = filepath.Join(home, "go", "pkg", "mod")
		if gopath := os.Getenv("GOPATH"); gopath != "" {
			cache = filepath.Join(gopath, "pkg", "mod")
		}
	}
	gomod := filepath.Join(cache, "modernc.org", "sqlite@"+version, "go.mod")
	if _, err := os.Stat(gomod); err != nil {
		t.Skipf("SKIPPED: %v", err)
	}
	if theirs := requires(t, gomod, "modernc.org/libc"); ours != theirs {
		t.Errorf("go.mod has modernc.org/libc %s, but modernc.org/sqlite %s wants %s: go get modernc.org/libc@%s",
			ours, version, theirs, theirs)
	}
}

// requires is the version of a module that a go.mod requires.
func requires(t *testing.T, gomod, module string) string {
	t.Helper()
	text, err := os.ReadFile(gomod)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(strings.TrimPrefix(strings.TrimSpace(line), "require "))
		if len(words) >= 2 && words[0] == module {
			return words[1]
		}
	}
	t.Fatalf("%s does not require %s", gomod, module)
	return ""
}
