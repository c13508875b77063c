package golden

import (
	"os"
	"path/filepath"
	"testing"
)

// IsLong says whether all that takes long is asked for: LACUNA_TEST=long. Without it a suite tests the core of
// everything in little time and without real captures; a test that can be short or long asks here how long.
func IsLong() bool { return os.Getenv("LACUNA_TEST") == "long" }

// Long skips a test that only runs with LACUNA_TEST=long, and says why. A benchmark is asked for by its name,
// and runs.
func Long(t testing.TB, why string) {
	t.Helper()
	if _, benchmark := t.(*testing.B); !benchmark && !IsLong() {
		t.Skip("LACUNA_TEST=long runs this: " + why)
	}
}

// Shared is a path in the folder that lies beside the repository with real captures, which are too large for
// it. A test that needs it is a long one; it is skipped where nothing is there.
func Shared(t testing.TB, path ...string) string {
	t.Helper()
	Long(t, "reads real captures, beside the repository in ../shared")
	whole := filepath.Join(append([]string{filepath.Dir(Root(t)), "shared"}, path...)...)
	if _, err := os.Stat(whole); err != nil {
		t.Skipf("no real captures beside the repository: no %s",
			filepath.Join(append([]string{"../shared"}, path...)...))
	}
	return whole
}

// Corpus is the folder of real captures.
func Corpus(t testing.TB) string {
	t.Helper()
	return Shared(t, "corpus")
}
