package nsys

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lacuna/internal/base/golden"
	"lacuna/internal/reader"
	"lacuna/tools/synth"
)

// fakeNsys puts a shell script called nsys alone on the PATH, and the cache into a folder of its own.
func fakeNsys(t *testing.T, script string) {
	t.Helper()
	bin := t.TempDir()
	if script != "" {
		if err := os.WriteFile(filepath.Join(bin, "nsys"), []byte("#!/bin/sh\n"+script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", bin)
	t.Setenv("XDG_CACHE_HOME", filepath.Join(bin, "cache"))
	t.Setenv("HOME", bin)
}

func TestExport(t *testing.T) {
	folder := t.TempDir()
	export, report, count := filepath.Join(folder, "ready.sqlite"), filepath.Join(folder, "report.nsys-rep"),
		filepath.Join(folder, "count")
	if err := synth.Nsys(export, 100); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(report, []byte("NVIDIA Tegra Profiler Report 2026@1@1@204-261137176666v0.\n\x0a\x00"),
		0o644); err != nil {
		t.Fatal(err)
	}
	// called as: nsys export -t sqlite --force-overwrite=true -o OUT REPORT
	fakeNsys(t, `[ "$1 $2 $3 $4 $5" = "export -t sqlite --force-overwrite=true -o" ] && [ "$7" = "`+report+
		`" ] || exit 9
echo x >>`+count+`
/bin/cp `+export+` "$6"`)
	var told []string
	opt := reader.Options{Notice: func(s string) { told = append(told, s) }}
	for range 2 {
		trace, err := readFile(report, opt)
		if err != nil {
			t.Fatal(err)
		}
		if trace.Kernels.Len() != 100 || trace.Info.Path != report {
			t.Errorf("%d kernels of %s", trace.Kernels.Len(), trace.Info.Path)
		}
	}
	if runs, _ := os.ReadFile(count); string(runs) != "x\n" || len(told) != 1 {
		t.Errorf("nsys ran %d times, %d notices: the second read should find the first's export", len(runs)/2,
			len(told))
	}
}

func TestExportFails(t *testing.T) {
	tests := []struct{ name, script, want string }{
		{"no nsys", "", "is not on the PATH; where it is installed, run: nsys export -t sqlite -o report.sqlite "},
		{"nsys refuses", "echo 'Section Table Reference magic number mismatch' >&2; exit 1",
			"Section Table Reference magic number mismatch"},
		{"nsys writes nothing", "exit 0", "wrote no export"},
		{"nsys writes rubbish", `echo rubbish >"$6"`, "is not SQLite"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			fakeNsys(t, tt.script)
			path := filepath.Join(t.TempDir(), "old.qdrep")
			if err := os.WriteFile(path, []byte("NVIDIA Tegra Profiler Report 1.\nrest\n"), 0o644); err != nil {
				t.Fatal(err)
			}
			_, err := readFile(path, reader.Options{})
			if err == nil || !strings.HasPrefix(err.Error(), path) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error is %v, want one with %q", err, tt.want)
			}
		})
	}
}

// TestDamagedReport: a report that nsys itself refuses gets the same clear error.
func TestDamagedReport(t *testing.T) {
	fakeNsys(t, "")
	path := filepath.Join(golden.Corpus(t), "public/nsys/h20-nocuda/damaged.nsys-rep")
	if _, err := os.Stat(path); err != nil {
		t.Fatal(err)
	}
	if _, err := readFile(path, reader.Options{}); err == nil ||
		!strings.Contains(err.Error(), "nsys export -t sqlite") {
		t.Errorf("error is %v", err)
	}
}
