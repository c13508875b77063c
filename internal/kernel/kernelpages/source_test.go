package kernelpages

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"lacuna/internal/base/golden"
	"lacuna/internal/kernel/cubin"
)

// With a disassembler the source page has the text that it prints, by section and offset.
func TestSourceText(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the stand-in is a shell script")
	}
	path := filepath.Join(golden.Corpus(t), "public/ncu/cudacode-gtx1660s-2024.1-vecadd/report.ncu-rep")
	if _, err := os.Stat(path); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	script := "#!/bin/sh\necho '.section .text._Z7vec_addPfS_S_i,\"ax\"'\necho '/*0010*/  S2R R0, SR_CTAID.X ;'\n"
	if err := os.WriteFile(filepath.Join(dir, "nvdisasm"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir)
	tool, err := cubin.FindDisassembler()
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := Write(&out, open(t, path), "source", Options{Format: "csv", Disassembler: tool}); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(out.String(), "\n")
	if !strings.Contains(lines[3], `"S2R R0, SR_CTAID.X"`) || strings.Contains(lines[4], "S2R R0") {
		t.Errorf("lines of instructions:\n%s", strings.Join(lines[2:5], "\n"))
	}
}

// Every page has a form for people; that of sections fits the terminal.
func TestText(t *testing.T) {
	path := filepath.Join(golden.Corpus(t), "public/ncu/cudacode-gtx1660s-2024.1-vecadd/report.ncu-rep")
	if _, err := os.Stat(path); err != nil {
		t.Fatal(err)
	}
	r := open(t, path)
	for _, page := range Names() {
		var out bytes.Buffer
		if err := Write(&out, r, page, Options{Width: 60}); err != nil {
			t.Errorf("%s: %v", page, err)
		}
		wide := 0
		for line := range strings.Lines(out.String()) {
			if len([]rune(line)) > 61 {
				wide++
			}
		}
		total := strings.Count(out.String(), "\n")
		if total < 10 || page == "details" && wide > total/20 {
			t.Errorf("%s: %d of %d lines are wider than 60 columns", page, wide, total)
		}
	}
}

func TestWrongCalls(t *testing.T) {
	for _, test := range []struct {
		page string
		opt  Options
		want string
	}{
		{"rawer", Options{}, `page "rawer": there is none of that name; pages are details, raw, session, source`},
		{"raw", Options{Units: "kilo"}, `units "kilo": want auto or base`},
		{"raw", Options{Format: "html"}, `format "html": want text or csv`},
		{"raw", Options{View: "sass"}, `view "sass": page raw has no views; leave it out`},
		{"source", Options{View: "ptx"}, `view "ptx": page source has the views sass, cuda, cuda,sass`},
	} {
		err := Write(&bytes.Buffer{}, nil, test.page, test.opt)
		if err == nil || err.Error() != test.want {
			t.Errorf("%s %+v: %v, want %s", test.page, test.opt, err, test.want)
		}
	}
}
