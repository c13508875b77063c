package nsight

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// script writes a program that is a shell script.
func script(t *testing.T, path, text string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestFind(t *testing.T) {
	nsys := "echo 'NVIDIA Nsight Systems version 2025.3.1.90-253135822126v0'"
	ncu := "echo 'NVIDIA (R) Nsight Compute Command Line Profiler'; echo 'Version 2025.3.1.0 (build 36398880) " +
		"(public-release)'"
	ctx := context.Background()
	for _, test := range []struct {
		name, tool string
		files      map[string]string // below the root
		path       string            // directories of the PATH, below the root
		want       string            // below the root; "": not found
		version    string
		importer   string
	}{
		{"on the PATH first", "nsys", map[string]string{"bin/nsys": nsys,
			"opt/nvidia/nsight-systems/2026.1.1/bin/nsys": nsys}, "none:bin", "bin/nsys", "2025.3.1", ""},
		{"highest version, as numbers", "nsys", map[string]string{"opt/nvidia/nsight-systems/2025.3.1/bin/nsys": nsys,
			"opt/nvidia/nsight-systems/2025.10.2/bin/nsys": nsys}, "", "opt/nvidia/nsight-systems/2025.10.2/bin/nsys",
			"2025.3.1", ""},
		{"inside Nsight Compute, with its importer", "nsys",
			map[string]string{"opt/nvidia/nsight-compute/2025.3.1/host/target-linux-x64/nsys": nsys,
				"opt/nvidia/nsight-compute/2025.3.1/host/linux-desktop-glibc_2_11_3-x64/QdstrmImporter": ""},
			"", "opt/nvidia/nsight-compute/2025.3.1/host/target-linux-x64/nsys", "2025.3.1",
			"opt/nvidia/nsight-compute/2025.3.1/host/linux-desktop-glibc_2_11_3-x64/QdstrmImporter"},
		{"Debian's split", "nsys", map[string]string{"usr/lib/x86_64-linux-gnu/nsight-systems/nsys": "echo no version",
			"usr/lib/nsight-systems/host-linux-x64/QdstrmImporter": ""},
			"usr/lib/x86_64-linux-gnu/nsight-systems", "usr/lib/x86_64-linux-gnu/nsight-systems/nsys", "",
			"usr/lib/nsight-systems/host-linux-x64/QdstrmImporter"},
		{"ncu of the toolkit", "ncu", map[string]string{"usr/local/cuda/bin/ncu": ncu}, "", "usr/local/cuda/bin/ncu",
			"2025.3.1", ""},
		{"none", "ncu", map[string]string{"bin/nsys": nsys}, "bin", "", "", ""},
	} {
		root := t.TempDir()
		for file, text := range test.files {
			script(t, filepath.Join(root, file), text)
		}
		m := Machine{Root: root}
		for _, dir := range filepath.SplitList(test.path) {
			m.Path += "/" + dir + string(filepath.ListSeparator)
		}
		got, err := m.Find(ctx, test.tool)
		if test.want == "" {
			var none *NotFoundError
			if !errors.As(err, &none) || !strings.Contains(err.Error(), "Nsight Compute") {
				t.Errorf("%s: %v", test.name, err)
			}
			continue
		}
		if err != nil || got.Path != filepath.Join(root, test.want) || got.Version != test.version ||
			test.importer != "" && got.Importer != filepath.Join(root, test.importer) || test.importer == "" &&
			got.Importer != "" {
			t.Errorf("%s: %+v, %v", test.name, got, err)
		}
	}
}

// A recording that nsys could not import goes through the importer, then to SQLite; failures are told with what to do.
func TestExport(t *testing.T) {
	nsys := `[ "$1" = export ] || exit 9
for a; do case $a in --output=*) out=${a#--output=};; esac; in=$a; done
cp "$in" "$out"`
	importer := `while [ $# -gt 0 ]; do case $1 in --input-file) in=$2;; --output-file) out=$2;; esac; shift; done; case $LD_LIBRARY_PATH in *desktop*) cp "$in" "$out";; esac`
	lost := `echo "$0: error while loading shared libraries: libdw.so.1: cannot open shared object file: No such file or directory" >&2; exit 127`
	for _, test := range []struct {
		name, importer, nsys string
		files                []string
		want                 string // of the error; "": none
	}{
		{"a report", "", nsys, []string{"r.nsys-rep"}, ""},
		{"imported", importer, nsys, []string{"r.qdstrm"}, ""},
		{"no importer", "", nsys, []string{"r.qdstrm"}, "has no importer"},
		{"no library", lost, nsys, []string{"r.qdstrm"}, "libdw.so.1 is missing; install it"},
		{"importer fails", "echo Wrong event order >&2; exit 1", nsys, []string{"r.qdstrm"}, "(Wrong event order)"},
		{"export fails", "", "echo bad file; exit 1", []string{"r.nsys-rep"}, "did not write SQLite (bad file)"},
		{"nothing", importer, nsys, nil, "wrote no report"},
	} {
		dir := t.TempDir()
		tool := Tool{Name: "nsys", Path: script(t, filepath.Join(dir, "nsys"), test.nsys)}
		if test.importer != "" {
			tool.Importer = script(t, filepath.Join(dir, "linux-desktop-x", "QdstrmImporter"), test.importer)
		}
		for _, f := range test.files {
			if err := os.WriteFile(filepath.Join(dir, f), []byte("recorded"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		path, err := tool.Export(context.Background(), filepath.Join(dir, "r"))
		if test.want != "" {
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%s: %v", test.name, err)
			}
			continue
		}
		if text, _ := os.ReadFile(path); err != nil || string(text) != "recorded" || filepath.Base(path) != "r.sqlite" {
			t.Errorf("%s: %s, %v", test.name, path, err)
		}
		if _, err := os.Stat(filepath.Join(dir, "r.qdstrm")); err == nil {
			t.Errorf("%s: the raw recording is left behind", test.name)
		}
	}
}

func TestRun(t *testing.T) {
	dir := t.TempDir()
	for _, test := range []struct {
		text string
		want Ending
	}{
		{"exit 0", Ending{}},
		{"exit 42", Ending{Status: 42}},
		{"kill -TERM $$", Ending{Status: 143, Signal: "terminated"}},
		{`[ "$A" = b ]`, Ending{}},
	} {
		got, err := Run(Command{Env: []string{"A=b"}, Args: []string{script(t, filepath.Join(dir, "p"), test.text)}},
			Streams{})
		if err != nil || got != test.want {
			t.Errorf("%s: %+v, %v", test.text, got, err)
		}
	}
	if _, err := Run(Command{Args: []string{filepath.Join(dir, "none")}}, Streams{}); err == nil {
		t.Error("a program that is not there ran")
	}
	var missing *MissingProgramError
	if err := CheckProgram([]string{filepath.Join(dir, "none")}); !errors.As(err, &missing) {
		t.Errorf("%v", err)
	}
	if err := CheckProgram([]string{"sh"}); err != nil {
		t.Error(err)
	}
}

// A SIGTERM that reaches lacuna reaches the tool, and its end is waited for.
func TestRunForwards(t *testing.T) {
	dir := t.TempDir()
	started := filepath.Join(dir, "started")
	p := script(t, filepath.Join(dir, "p"), "trap 'exit 5' TERM; : >"+started+"; while :; do sleep 0.05; done")
	go func() {
		for range 200 {
			if _, err := os.Stat(started); err == nil {
				self, _ := os.FindProcess(os.Getpid())
				_ = self.Signal(syscall.SIGTERM)
				return
			}
			time.Sleep(20 * time.Millisecond)
		}
	}()
	got, err := Run(Command{Args: []string{p}}, Streams{})
	if err != nil || got != (Ending{Status: 5}) {
		t.Errorf("%+v, %v", got, err)
	}
}
