//go:build linux && (amd64 || arm64)

package agent

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"lacuna/internal/base/golden"
)

// nvtxUnit builds the driver of NVTX's side alone, with a compiler's flags.
func nvtxUnit(t testing.TB, flags ...string) string {
	t.Helper()
	needCompiler(t)
	sources, err := filepath.Glob("nvtx*.c")
	if err != nil || len(sources) == 0 {
		t.Fatal("no nvtx*.c here: ", err)
	}
	out := filepath.Join(t.TempDir(), "nvtx_unit")
	args := append([]string{"-std=gnu11", "-Wall", "-Wextra", "-Werror", "-g", "-O1", "-pthread", "test/nvtx_unit.c",
		"-o", out}, sources...)
	if said, err := exec.Command("cc", append(append(args, flags...), "-ldl")...).CombinedOutput(); err != nil {
		t.Fatalf("cc %v: %v\n%s", flags, err, said)
	}
	return out
}

func scenario(t testing.TB, unit, name string, env ...string) string {
	t.Helper()
	cmd := exec.Command(unit, name)
	cmd.Env = append(os.Environ(), env...)
	said, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", name, err, said)
	}
	return string(said)
}

// otherInjector is a library that takes NVTX and fills nothing in.
const otherInjector = `int InitializeInjectionNvtx2(const void *get) { return get != 0; }`

// TestNVTX runs every scenario of test/nvtx_unit.c and compares the rows, three times: as it is, and under the
// sanitizers.
func TestNVTX(t *testing.T) {
	t.Parallel()
	for _, build := range []struct {
		name  string
		flags []string
	}{
		{"plain", nil},
		{"address", []string{"-fsanitize=address,undefined", "-fno-sanitize-recover=all"}},
		{"thread", []string{"-fsanitize=thread"}},
	} {
		t.Run(build.name, func(t *testing.T) {
			if build.name != "plain" {
				golden.Long(t, sanitized)
			}
			unit := nvtxUnit(t, build.flags...)
			other := filepath.Join(t.TempDir(), "other.so")
			cc := exec.Command("cc", "-shared", "-fPIC", "-x", "c", "-", "-o", other)
			cc.Stdin = strings.NewReader(otherInjector)
			if said, err := cc.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, said)
			}
			golden.Cases(t, "testdata/nvtx.txtar", func(t *testing.T, name string) string {
				got := scenario(t, unit, strings.TrimSpace(name), "OTHER="+other)
				for line := range strings.Lines(got) {
					if at := strings.Index(line, "{"); at >= 0 && !strings.HasPrefix(line, "note") &&
						!json.Valid([]byte(line[at:])) {
						t.Errorf("no JSON: %s", line)
					}
				}
				return strings.ReplaceAll(got, other, "OTHER")
			})
		})
	}
}

// BenchmarkNVTX is what a push and a pop cost together, in ns: without a tool, outside a window (short name, long
// name, deeper than what is kept), and in one, without the ring.
func BenchmarkNVTX(b *testing.B) {
	unit := nvtxUnit(b, "-O2")
	for b.Loop() {
		said := scenario(b, unit, "cost")
		for line := range strings.Lines(said) {
			name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
			ns, err := strconv.ParseFloat(value, 64)
			if err != nil {
				b.Fatalf("%q: %v", line, err)
			}
			b.ReportMetric(ns, name+"-ns")
		}
	}
}
