package record

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"lacuna/internal/capture/nvml"
	"lacuna/internal/capture/spool"
)

// options is what most tests record with.
func options(t *testing.T, args ...string) Options {
	return Options{
		Args: args, Library: "/nowhere/liblacuna.so", Output: filepath.Join(t.TempDir(), "run.lacuna"),
		Window:   Window{Kind: Whole},
		Interval: 20 * time.Millisecond, In: strings.NewReader(""), Out: &bytes.Buffer{}, Err: &bytes.Buffer{},
		Notice: func(text string) { t.Log(text) },
	}
}

func mustRun(t *testing.T, o Options) *Result {
	t.Helper()
	r, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if r.Failed != nil {
		t.Fatal(r.Failed)
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(o.Output), "*.spools")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	return r
}

// The program's exit status is kept, as shells count.
func TestStatus(t *testing.T) {
	for _, test := range []struct {
		words  []string
		status int
		signal string
	}{
		{[]string{"exit=0"}, 0, ""},
		{[]string{"exit=3"}, 3, ""},
		{[]string{"cuda", "kernels=5", "exit=255"}, 255, ""},
		{[]string{"cuda", "signal=9"}, 137, "killed"},
		{[]string{"signal=15"}, 143, "terminated"},
	} {
		r := mustRun(t, options(t, self(t, test.words...)...))
		if r.Status != test.status || r.Signal != test.signal {
			t.Errorf("%v: status %d, signal %q", test.words, r.Status, r.Signal)
		}
	}
}

// What cannot be started is told as a shell tells it, and leaves nothing behind.
func TestCannotStart(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	for name, content := range map[string]string{"plain": "hello", "plain.py": "print()", "there": "#!/bin/sh\n",
		"lost": "#!/no/such/interpreter\n", "binary": "\x7fELF nothing"} {
		mode := os.FileMode(0o755)
		if strings.HasPrefix(name, "plain") {
			mode = 0o644
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), mode); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct {
		name   string
		status int
		want   string
	}{
		{"no-such-program-here", 127, "no such program on the PATH; shell built-ins and aliases"},
		{"plain.py", 127, "run a script with its interpreter: python"},
		{"there", 127, "the one here is ./there"},
		{dir + "/missing", 127, "no such program"},
		{dir + "/plain", 126, "is not executable; chmod +x"},
		{dir + "/lost", 126, "the interpreter that its first line names"},
		{dir + "/binary", 126, "is not a program for this machine"},
		{dir, 126, "is a folder"},
	} {
		o := options(t, test.name)
		_, err := Run(t.Context(), o)
		var start *StartError
		if !errors.As(err, &start) || start.Status != test.status || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v", test.name, err)
		}
		if left, _ := os.ReadDir(filepath.Dir(o.Output)); len(left) > 0 {
			t.Errorf("%s: left behind: %v", test.name, left)
		}
	}
}

// scan reads a packed file as the reader will.
func scan(t *testing.T, path string) (begins []spool.Begin, rows map[string]int, notes []string) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	plain, err := zstd.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	rows = make(map[string]int)
	s := spool.NewScanner(plain)
	for s.Next() {
		c := s.Chunk()
		switch {
		case c.Type == spool.TypeBegin:
			begins = append(begins, c.Process.Begin)
		case c.Type == spool.TypeNote:
			notes = append(notes, string(c.Payload))
		case c.Table != nil:
			rows[c.Table.Name] += c.Count
		}
	}
	if s.Lost().Any() {
		t.Errorf("%s: lost %+v", path, s.Lost())
	}
	return begins, rows, notes
}

// Every process of the program is in the file, and what was seen from outside.
func TestRecords(t *testing.T) {
	o := options(t, self(t, "cuda", "kernels=7", "child=cuda+kernels=5+sleep=1300", "sleep=200")...)
	library := &fakeNVML{}
	o.GPU, o.Visible = library, []int{0, 1}
	r := mustRun(t, o)
	begins, rows, notes := scan(t, o.Output)
	if len(begins) != 3 || begins[2].Role != spool.RoleRecorder || begins[0].Session == "" ||
		begins[0].Session != begins[2].Session {
		t.Errorf("streams: %+v", begins)
	}
	if rows["kernel"] != 12 || rows["clock"] < 2 || rows["task"] < 2 || len(r.Contents.Agents) != 2 ||
		r.Contents.work() != 12 {
		t.Errorf("rows %v, contents %+v", rows, r.Contents)
	}
	// 2 GPUs with 8 values, 5 reasons and NVLink's two, and PCIe's two of each in turn
	if rows["track"] != 2*(8+5+2+2) || rows["counter"] < 100 || library.samples() < 20 {
		t.Errorf("rows %v of %d samples", rows, library.samples())
	}
	if all := strings.Join(notes, "\n"); !strings.Contains(all, `"note":"host"`) ||
		!strings.Contains(all, "driver 580.1") {
		t.Errorf("notes:\n%s", all)
	}
	if len(r.Remarks) > 0 {
		t.Errorf("remarks on a recording that is well: %q", r.Remarks)
	}
}

// A fakeNVML is two GPUs.
type fakeNVML struct {
	mu sync.Mutex
	n  int
}

func (f *fakeNVML) samples() int        { f.mu.Lock(); defer f.mu.Unlock(); return f.n }
func (f *fakeNVML) Driver() string      { return "580.1" }
func (f *fakeNVML) System() nvml.System { return nvml.System{CUDA: 13000} }
func (f *fakeNVML) Close() error        { return nil }
func (f *fakeNVML) Devices() []nvml.Device {
	return []nvml.Device{{Name: "A", UUID: "GPU-a"}, {Name: "B", UUID: "GPU-b"}}
}
func (f *fakeNVML) PCIe(int) (nvml.PCIe, error) { return nvml.PCIe{TxBps: 1, RxBps: 2}, nil }
func (f *fakeNVML) Sample(device int) (nvml.Sample, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.n++
	return nvml.Sample{
		SMMHz: 1980, MemoryMHz: 2619, PowerW: 400, PowerLimitW: 700, TemperatureC: 50, BusyPct: 0, MemoryUsed: 1 << 30,
		Reasons: nvml.PowerCap, NVLinkTx: int64(1000 * f.n), NVLinkRx: int64(f.n),
		Told: nvml.ToldBusy | nvml.ToldMemory | nvml.ToldReasons | nvml.ToldNVLink,
	}, nil
}

// What is 0 and told is recorded as 0; what is not told is not there. Traffic of NVLink is a difference.
func TestGauge(t *testing.T) {
	var file bytes.Buffer
	w, err := spool.NewWriter(&file, spool.Begin{Role: spool.RoleRecorder})
	if err != nil {
		t.Fatal(err)
	}
	g := newGauge(&fakeNVML{}, []int{1}, w)
	for range 2 {
		g.sample()
		time.Sleep(10 * time.Millisecond)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	names, values, texts := map[uint32]string{}, map[string]float64{}, map[spool.Text]string{}
	s := spool.NewScanner(&file)
	for s.Next() {
		c := s.Chunk()
		switch {
		case c.Type == spool.TypeTexts:
			c.Texts(func(id spool.Text, text []byte) { texts[id] = string(text) })
		case c.Table != nil && c.Table.Name == "track":
			for _, x := range spool.Rows[spool.Track](c) {
				names[x.Track] = texts[x.Name] + " " + texts[x.Unit]
				if x.Device != 1 || texts[x.UUID] != "GPU-b" {
					t.Errorf("track %+v", x)
				}
			}
		case c.Table != nil && c.Table.Name == "counter":
			for _, x := range spool.Rows[spool.Counter](c) {
				values[names[x.Track]] = x.Value
			}
		}
	}
	for name, want := range map[string]float64{"SM clock MHz": 1980, "GPU use %": 0, "memory use %": 0,
		"throttle: power cap ": 1, "throttle: heat ": 0, "power W": 400} {
		if got, have := values[name]; !have || got != want {
			t.Errorf("%s: %v, %v", name, got, have)
		}
	}
	if v := values["NVLink sent bytes/s"]; v < 1000 || v > 1000/0.01 { // 1000 bytes in 10 ms or more
		t.Errorf("NVLink: %v bytes/s", v)
	}
}

// What went wrong in the program's processes is told once for all that it befell, each with what to do.
func TestRemarks(t *testing.T) {
	held := `note=refused:{"code":39,"why":"error 39","holder":"libkineto"}`
	for _, test := range []struct {
		name   string
		words  []string
		change func(*Options)
		want   []string
	}{
		{"no CUDA", []string{"exit=0"}, nil, []string{"no CUDA call was seen", "clocks and threads only"}},
		{"refused", []string{"cuda", held, "child=cuda+" + held}, nil,
			[]string{"2 processes (", "libkineto", "Only one can record"}},
		{"yielded", []string{"cuda", `note=yielded:{"why":"LACUNA_YIELD"}`}, nil, []string{"stood aside"}},
		{"failed", []string{"cuda", `note=state:{"state":"failed","why":"no libcupti"}`}, nil,
			[]string{"CUPTI could not record (no libcupti)", "lacuna doctor"}},
		{"dropped", []string{"cuda", "kernels=1", "account=90"}, nil,
			[]string{"90 of 100 records were dropped", "--memory", "CUPTI dropped 3 records",
				"1 kernel or copy was not finished"}},
		{"full", []string{"cuda", "kernels=1", `note=full:{"errno":28}`, "account=1"}, nil,
			[]string{"disk was full", "1 record was dropped"}},
		{"armed", []string{"cuda"}, func(o *Options) { o.Window = Window{Kind: Armed} },
			[]string{"recording never began", "lacuna record start"}},
		{"nothing ran", []string{"cuda"}, nil, []string{"no GPU work was seen while recording was on"}},
		{"no NVML", []string{"cuda", "kernels=1"}, func(o *Options) { o.NoGPU = "no driver" },
			[]string{"clocks, power and temperature of the GPUs are not recorded: no driver"}},
		{"nobody asked for it", []string{"cuda", "kernels=1"}, nil, nil},
	} {
		o := options(t, self(t, test.words...)...)
		if test.change != nil {
			test.change(&o)
		}
		got := strings.Join(mustRun(t, o).Remarks, "\n")
		for _, want := range test.want {
			if !strings.Contains(got, want) {
				t.Errorf("%s: no %q in:\n%s", test.name, want, got)
			}
		}
		if test.want == nil && got != "" {
			t.Errorf("%s: %s", test.name, got)
		}
	}
}

// A process that the program leaves running stops recording, and what it had is in the file.
func TestLeftBehind(t *testing.T) {
	began := time.Now()
	o := options(t, self(t, "cuda", "kernels=2", "orphan=cuda+kernels=3+sleep=20000", "sleep=500")...)
	r := mustRun(t, o)
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("waited %v for it", took)
	}
	if r.Contents.work() != 5 || len(r.Remarks) != 1 ||
		!strings.Contains(r.Remarks[0], "1 process of the program still ran") {
		t.Errorf("%d kernels, remarks %q", r.Contents.work(), r.Remarks)
	}
}

// What is there is not written over unless asked; a name of ours gives way.
func TestOutput(t *testing.T) {
	o := options(t, self(t, "exit=0")...)
	if err := os.WriteFile(o.Output, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), "already exists; give -f") {
		t.Errorf("%v", err)
	}
	o.Unnamed = true
	if r := mustRun(t, o); r.Path != strings.TrimSuffix(o.Output, Extension)+"-2"+Extension {
		t.Errorf("written to %s", r.Path)
	}
	if text, _ := os.ReadFile(o.Output); string(text) != "mine" {
		t.Error("it was written over")
	}
	o.Unnamed, o.Overwrite = false, true
	mustRun(t, o)
	if text, _ := os.ReadFile(o.Output); string(text) == "mine" {
		t.Error("-f does nothing")
	}
	for path, want := range map[string]string{
		t.TempDir():                      "is a folder",
		"/no/such/folder/x.lacuna":       "no such file or directory",
		"/proc/sys/kernel/x.lacuna":      "cannot be written",
		"/dev/null":                      "already exists",
		filepath.Join(o.Output, "under"): "",
	} {
		o.Output, o.Overwrite = path, false
		if _, err := Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", path, err)
		}
	}
	// spools could be written: the program must not run for nothing
	o.Output, o.SpoolDir = "/proc/sys/kernel/x.lacuna", t.TempDir()
	if r, err := Run(t.Context(), o); err == nil {
		t.Errorf("the program ran, and ended with %v", r.Failed)
	}
}

// What is no spool at all does not become a recording.
func TestPackNothing(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{"train.py": "import torch\n", "empty.spool": ""} {
		path, output := filepath.Join(dir, name), filepath.Join(dir, name+Extension)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Pack(t.Context(), []string{path}, output, false); err == nil ||
			!strings.Contains(err.Error(), path+": no spool") {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := os.Stat(output); err == nil {
			t.Errorf("%s: a file was made of it", name)
		}
	}
}

// Processes that start side by side, with one name in mind, write a file each.
func TestSideBySide(t *testing.T) {
	dir := t.TempDir()
	var over sync.WaitGroup
	for i := range 4 {
		over.Go(func() {
			o := options(t, self(t, "cuda", "kernels=3", "sleep=200")...)
			o.Output, o.Unnamed = filepath.Join(dir, "run.lacuna"), true
			if r, err := Run(t.Context(), o); err != nil || r.Failed != nil || r.Contents.work() != 3 {
				t.Errorf("%d: %+v, %v", i, r, err)
			}
		})
	}
	over.Wait()
	if files, _ := os.ReadDir(dir); len(files) != 4 {
		t.Errorf("%v", files)
	}
}

// A file that comes to be while the program runs is not written over: the spools stay, and can be packed elsewhere.
func TestOutputAppears(t *testing.T) {
	o := options(t, "sh", "-c", "echo mine > $0; exec \"$@\"", "OUT")
	o.Args[3] = o.Output
	o.Args = append(o.Args, self(t, "cuda", "kernels=4")...)
	r, err := Run(t.Context(), o)
	if err != nil || r.Failed == nil || r.Spools == "" || r.Status != 0 {
		t.Fatalf("%+v, %v", r, err)
	}
	elsewhere := filepath.Join(t.TempDir(), "x.lacuna")
	p, err := Pack(t.Context(), []string{r.Spools}, elsewhere, false)
	if err != nil || p.Contents.work() != 4 {
		t.Errorf("%+v, %v", p, err)
	}
}

// The program has our stdin, its own signals, and the environment that the agent reads.
func TestSurroundings(t *testing.T) {
	var out bytes.Buffer
	o := options(t, self(t, "cat", "env=LACUNA_STEPS", "env=CUDA_INJECTION64_PATH", "env=LACUNA_WINDOW")...)
	o.In, o.Out, o.Window = strings.NewReader("from stdin\n"), &out, Window{Kind: Steps, From: 3, Upto: 9}
	mustRun(t, o)
	if want := "from stdin\n3:9\n/nowhere/liblacuna.so\nsteps\n"; out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
	out.Reset()
	o = options(t, "sh", "-c", "grep SigIgn /proc/self/status")
	o.Out = &out
	mustRun(t, o)
	var mask uint64
	if _, err := fmt.Sscanf(out.String(), "SigIgn:\t%x", &mask); err != nil || mask&(1<<(13-1)) != 0 {
		t.Errorf("SIGPIPE is ignored in the program: %q", out.String())
	}
}

// Signals that mean something to the program only, such as those of a batch system, reach it, and recording goes on.
func TestPassesUserSignal(t *testing.T) {
	r := mustRun(t, options(t, "sh", "-c", `trap "exit 7" USR1; kill -USR1 $PPID; while :; do sleep 0.05; done`))
	if r.Status != 7 || r.Interrupted {
		t.Errorf("%+v", r)
	}
}

// When the window is over, what was recorded is saved while the program goes on.
func TestSavedWhenOver(t *testing.T) {
	o := options(t, self(t, "cuda", "kernels=4", "self=stop", "sleep=4500", "self=start", "kernels=2")...)
	o.Window = Window{Kind: Whole, Duration: time.Second}
	saved := ""
	o.Notice = func(text string) {
		if strings.Contains(text, "is saved in") {
			c, err := Inspect(t.Context(), []string{o.Output})
			saved = fmt.Sprint(c.work(), err)
		}
	}
	if r := mustRun(t, o); saved != "4 <nil>" || r.Contents.work() != 6 {
		t.Errorf("saved early: %q; at the end %d kernels", saved, r.Contents.work())
	}
}

// Recording goes on when the caller's context ends: Ctrl-C is handled by signal, and what was recorded is saved.
func TestContextEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	o := options(t, self(t, "cuda", "kernels=4")...)
	r, err := Run(ctx, o)
	if err != nil || r.Failed != nil || r.Contents.work() != 4 {
		t.Errorf("%+v, %v", r, err)
	}
}
