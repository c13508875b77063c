//go:build linux && !static && (amd64 || arm64)

package doctor

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A library is loaded and asked; one that is none, or has no such function, is told.
func TestCUPTIVersion(t *testing.T) {
	cc, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("no C compiler: the stand-in for CUPTI cannot be built")
	}
	dir := t.TempDir()
	for _, test := range []struct {
		source, want string
		version      uint32
	}{
		{"int cuptiGetVersion(unsigned *v) { *v = 130000; return 0; }", "", 130000},
		{"int cuptiGetVersion(unsigned *v) { return 15; }", "cuptiGetVersion returns 15", 0},
		{"int other;", "it has no cuptiGetVersion", 0},
	} {
		lib := filepath.Join(dir, "libcupti.so."+test.want)
		c := exec.Command(cc, "-shared", "-fPIC", "-x", "c", "-o", lib, "-")
		c.Stdin = strings.NewReader(test.source)
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		v, err := cuptiVersion(lib)
		if v != test.version || (err == nil) != (test.want == "") || err != nil && err.Error() != test.want {
			t.Errorf("%s: %d, %v", test.source, v, err)
		}
	}
	text := filepath.Join(dir, "text.so")
	if err := os.WriteFile(text, []byte("no library"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := cuptiVersion(text); err == nil {
		t.Error("a text is loaded")
	}
}

// A program that does not end is ended, one that says too much is cut, and one that fails keeps what it said.
func TestRunProgram(t *testing.T) {
	x := &exam{Machine: &Machine{Run: runProgram}, ctx: t.Context()}
	if _, err := x.askFor(100*time.Millisecond, "/bin/sh", "-c", "sleep 60"); err == nil ||
		!strings.Contains(err.Error(), "does not finish") {
		t.Errorf("%v", err)
	}
	if out, err := x.ask("/bin/sh", "-c", "head -c 9000000 /dev/zero"); err != nil || len(out) != maxRead {
		t.Errorf("%d bytes, %v", len(out), err)
	}
	if out, err := x.ask("/bin/sh", "-c", "echo hello; exit 3"); err == nil || out != "hello\n" {
		t.Errorf("%q, %v", out, err)
	}
}
