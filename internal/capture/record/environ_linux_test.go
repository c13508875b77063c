package record

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// The agent's settings, and what was in its place before.
func TestEnviron(t *testing.T) {
	plain := &Options{Library: "/x/liblacuna.so", Window: Window{Kind: Whole}}
	for _, test := range []struct {
		name     string
		env      string
		o        *Options
		want     string // NAME=VALUE, or NAME for not there
		warnings string // in order, parted by |
	}{
		{"plain", "HOME=/h", plain, "HOME=/h LACUNA_DIR=/d LACUNA_SESSION=s LACUNA_WINDOW=whole LACUNA_GRAPH=node " +
			"CUDA_INJECTION64_PATH=/x/liblacuna.so NVTX_INJECTION64_PATH=/x/liblacuna.so LACUNA_CHAIN " +
			"PYTHONPERFSUPPORT LACUNA_YIELD", ""},
		{"all", "", &Options{Library: "/x", Kinds: "kernel", CUPTI: "/c", Yield: true, WholeGraphs: true,
			Flush: 250 * time.Millisecond, MemoryMB: 64, SampleHz: 99,
			Window: Window{Kind: Delayed, Delay: 1500 * time.Millisecond, Duration: time.Minute}},
			"LACUNA_KINDS=kernel LACUNA_CUPTI=/c LACUNA_YIELD=1 LACUNA_GRAPH=whole LACUNA_FLUSH_MS=250 " +
				"LACUNA_MEMORY_MB=64 PYTHONPERFSUPPORT=1 LACUNA_WINDOW=delay LACUNA_DELAY=1.5 LACUNA_DURATION=60", ""},
		{"steps", "", &Options{Library: "/x", Window: Window{Kind: Steps, From: 0, Upto: 4, Range: "train*"}},
			"LACUNA_STEPS=0:4 LACUNA_STEP_RANGE=train* LACUNA_DURATION", ""},
		{"another tool", "CUDA_INJECTION64_PATH=/t/parca.so NVTX_INJECTION64_PATH=/t/n.so", plain,
			"LACUNA_CHAIN=/t/parca.so LACUNA_CHAIN_NVTX=/t/n.so", "is loaded too"},
		{"nsys", "LD_PRELOAD=/a/libfoo.so:/n/libToolsInjection64.so", plain,
			"LD_PRELOAD=/a/libfoo.so:/n/libToolsInjection64.so", "libToolsInjection64.so of Nsight Systems"},
		{"ncu", "LD_PRELOAD=/n/libInterceptorInjectionTarget.so", plain, "", "Nsight Compute or Compute Sanitizer"},
		{"within another recording", "LACUNA_SESSION=old LACUNA_DIR=/old LACUNA_KINDS=copy " +
			"LACUNA_CHAIN=/t/parca.so CUDA_INJECTION64_PATH=/x/liblacuna.so", plain,
			"LACUNA_DIR=/d LACUNA_SESSION=s LACUNA_KINDS LACUNA_CHAIN=/t/parca.so", "another lacuna record"},
	} {
		got, warnings := Environ(strings.Fields(test.env), test.o, "/d", "s")
		for _, want := range strings.Fields(test.want) {
			name, _, valued := strings.Cut(want, "=")
			n := 0
			for _, v := range got {
				if strings.HasPrefix(v, name+"=") {
					n++
				}
			}
			if valued && (!slices.Contains(got, want) || n != 1) || !valued && n > 0 {
				t.Errorf("%s: want %s, have %q", test.name, want, got)
			}
		}
		if all := strings.Join(warnings, "|"); (test.warnings == "") != (all == "") ||
			!strings.Contains(all, test.warnings) {
			t.Errorf("%s: warnings %q, want %q", test.name, all, test.warnings)
		}
	}
}

func TestDefaultName(t *testing.T) {
	at := time.Date(2026, 11, 21, 17, 5, 9, 0, time.UTC)
	for _, test := range []struct{ args, env, want string }{
		{"./train", "", "train-20261121-170509.lacuna"},
		{"python train.py --x 1", "", "train-20261121-170509.lacuna"},
		{"python3.12 -m pkg.train", "", "pkg.train-20261121-170509.lacuna"},
		{"torchrun --nproc-per-node 2 a/b.py", "", "b-20261121-170509.lacuna"},
		{"/usr/bin/env", "RANK=3", "env-rank3-20261121-170509.lacuna"},
		{"train", "SLURM_PROCID=0", "train-rank0-20261121-170509.lacuna"},
		{"./-rf", "", "rf-20261121-170509.lacuna"},
		{"..", "", "program-20261121-170509.lacuna"},
		{"ein-häßlicher:name", "", "ein-h__licher_name-20261121-170509.lacuna"},
	} {
		getenv := func(name string) string {
			have, value, _ := strings.Cut(test.env, "=")
			if have == name {
				return value
			}
			return ""
		}
		if got := DefaultName(strings.Fields(test.args), getenv, at); got != test.want {
			t.Errorf("%s: %s, want %s", test.args, got, test.want)
		}
	}
}

func TestExpand(t *testing.T) {
	getenv := func(name string) string { return map[string]string{"RANK": "3"}[name] }
	for in, want := range map[string]string{"a.lacuna": "a.lacuna", "a-%q{RANK}-100%%": "a-3-100%"} {
		if got, err := Expand(in, getenv); err != nil || got != want {
			t.Errorf("%s: %s, %v", in, got, err)
		}
	}
	if got, err := Expand("%h.%p", getenv); err != nil || strings.ContainsAny(got, "%") || got == "." {
		t.Errorf("%s, %v", got, err)
	}
	for _, bad := range []string{"%x", "a%", "%q{}", "%q{RANK", "%q{NONE}", "%qRANK"} {
		if got, err := Expand(bad, getenv); err == nil {
			t.Errorf("%s is taken: %s", bad, got)
		}
	}
}

func TestParseSocket(t *testing.T) {
	for in, want := range map[string][2]int{"@lacuna-1000-4711": {1000, 4711}, "@lacuna-0-1": {0, 1}} {
		if uid, pid, ok := parseSocket(in); !ok || uid != want[0] || pid != want[1] {
			t.Errorf("%s: %d %d %v", in, uid, pid, ok)
		}
	}
	for _, bad := range []string{"", "@lacuna-", "@lacuna-1000", "@lacuna-x-1", "@lacuna-1-0", "@lacuna-1--2",
		"lacuna-1-2", "@lacuna-1-2-3"} {
		if _, _, ok := parseSocket(bad); ok {
			t.Errorf("%q is taken", bad)
		}
	}
}

// Progress fits a narrow terminal with the most important first.
func TestProgress(t *testing.T) {
	p := Progress{Elapsed: 61 * time.Second, Processes: 2, Records: 1234567, Bytes: 34_100_000, Recording: true}
	if got, want := p.String(), "61 s: recording, 1,234,567 events, none dropped, 34.1 MB, 2 processes"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	p.Dropped, p.Recording = 12, false
	if got, want := p.String(), "61 s: not recording now, 1,234,567 events, 12 dropped, 34.1 MB, 2 processes"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := (Progress{Elapsed: 2 * time.Second}).String(); got != "2 s: nothing recorded yet" {
		t.Error(got)
	}
}
