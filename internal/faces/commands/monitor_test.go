//go:build linux && (amd64 || arm64)

package commands

import (
	"bytes"
	"context"
	"io"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/mattn/go-runewidth"
	"golang.org/x/sys/unix"

	"lacuna/internal/capture/monitor"
	"lacuna/internal/capture/nvml"
)

// openPTY is a terminal of a size: what a program draws comes out of the first, the program gets the second.
func openPTY(t *testing.T, columns, rows uint16) (outside, inside *os.File) {
	t.Helper()
	outside, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no terminals can be made here: %v", err)
	}
	fd := int(outside.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Skip(err)
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Skip(err)
	}
	inside, err = os.OpenFile("/dev/pts/"+strconv.Itoa(n), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skip(err)
	}
	if err := unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Col: columns, Row: rows}); err != nil {
		t.Fatal(err)
	}
	return outside, inside
}

// lacunaProcess is lacuna as a process of its own.
func lacunaProcess(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	// testscript.Main runs a command by the name that the binary is called by
	link := filepath.Join(t.TempDir(), "lacuna")
	if err := os.Symlink(self, link); err != nil {
		t.Skip(err)
	}
	return exec.Command(link, args...)
}

// monitorProcess is lacuna monitor as a process of its own, with the stand-in for the driver's library.
func monitorProcess(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	c := lacunaProcess(t, append([]string{"monitor"}, args...)...)
	c.Env = append(os.Environ(), "LD_LIBRARY_PATH="+fakeDriver(t), "TERM=xterm", "LC_ALL=C.UTF-8", "COLUMNS=")
	return c
}

// A log has each reading at once: of hours of them none is lost with the process.
func TestMonitorLogOutlivesSIGKILL(t *testing.T) {
	for _, name := range []string{"gpu.csv", "gpu.csv.gz", "gpu.csv.zst"} {
		path := filepath.Join(t.TempDir(), name)
		c := monitorProcess(t, "--interval", "50ms", "--format", "csv", "-o", path)
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		var text []byte
		for began := time.Now(); bytes.Count(text, []byte("GPU-aaaa-0")) < 2 &&
			time.Since(began) < 10*time.Second; time.Sleep(20 * time.Millisecond) {
			text = unpacked(path)
		}
		_ = c.Process.Kill()
		_ = c.Wait()
		if bytes.Count(text, []byte("GPU-aaaa-0")) < 2 {
			t.Errorf("%s while it runs:\n%s", name, text)
		}
	}
}

// unpacked is what can be read of a file that is still written.
func unpacked(path string) []byte {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	var in io.Reader = f
	switch filepath.Ext(path) {
	case ".gz":
		if in, err = gzip.NewReader(f); err != nil {
			return nil
		}
	case ".zst":
		z, err := zstd.NewReader(f)
		if err != nil {
			return nil
		}
		defer z.Close()
		in = z
	}
	text, _ := io.ReadAll(in) // its end is not written
	return text
}

// fakeDriver builds the stand-in for the driver's library and gives its folder.
func fakeDriver(t *testing.T) string {
	t.Helper()
	cc, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("no C compiler: the stand-in for the driver's library cannot be built")
	}
	dir := t.TempDir()
	if out, err := exec.Command(cc, "-DFAKE_INIT=0", "-shared", "-fPIC", "-o", filepath.Join(dir, "libnvidia-ml.so.1"),
		"../../capture/nvml/testdata/fake.c").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return dir
}

// On a terminal views are drawn over each other within its width and height, and it is left as it was, by q and by a
// signal.
func TestMonitorOnTerminal(t *testing.T) {
	for _, test := range []struct {
		name          string
		columns, rows uint16
		end           func(outside *os.File, p *os.Process) error
	}{
		{"80 columns, q", 80, 24, func(outside *os.File, _ *os.Process) error {
			_,
				err := outside.WriteString("q")
			return err
		}},
		{"40 columns, 8 rows, Ctrl-C", 40, 8, func(outside *os.File, _ *os.Process) error {
			_,
				err := outside.WriteString("\x03")
			return err
		}},
		{"80 columns, SIGTERM", 80, 24, func(_ *os.File, p *os.Process) error { return p.Signal(syscall.SIGTERM) }},
	} {
		t.Run(test.name, func(t *testing.T) {
			outside, inside := openPTY(t, test.columns, test.rows)
			before, err := unix.IoctlGetTermios(int(inside.Fd()), unix.TCGETS)
			if err != nil {
				t.Fatal(err)
			}
			c := monitorProcess(t, "--interval", "100ms")
			c.Stdin, c.Stdout, c.Stderr = inside, inside, inside
			if err := c.Start(); err != nil {
				t.Fatal(err)
			}
			var drawn bytes.Buffer
			done := make(chan struct{})
			go func() { _, _ = io.Copy(&drawn, outside); close(done) }()
			time.Sleep(1500 * time.Millisecond)
			if err := test.end(outside, c.Process); err != nil {
				t.Fatal(err)
			}
			stuck := time.AfterFunc(10*time.Second, func() { _ = c.Process.Kill() })
			if err := c.Wait(); err != nil || !stuck.Stop() {
				t.Errorf("ends with %v", err)
			}
			after, err := unix.IoctlGetTermios(int(inside.Fd()), unix.TCGETS)
			if err != nil || *after != *before {
				t.Errorf("the terminal is left in another mode: %+v, was %+v", after, before)
			}
			inside.Close()
			<-done
			outside.Close()
			checkScreen(t, drawn.String(), int(test.columns), int(test.rows))
		})
	}
}

// A frame clears each line before it writes it, and what is below only if there is something.
func TestFrame(t *testing.T) {
	for _, test := range []struct {
		text   string
		height int
		want   string
	}{
		{"a\nb\n", 3, "\x1b[H\x1b[Ka\r\n\x1b[Kb\r\n\x1b[J"},
		{"a\nb\n", 2, "\x1b[H\x1b[Ka\r\n\x1b[Kb"},
		{"a\nb\nc\n", 2, "\x1b[H\x1b[Ka\r\n\x1b[K... 2 more lines"},
		{"a\nb\n", 1, "\x1b[H\x1b[Ka\r\n\x1b[Kb"},
	} {
		if got := frame(test.text, test.height); got != test.want {
			t.Errorf("%q in %d: %q, want %q", test.text, test.height, got, test.want)
		}
	}
}

var colours = regexp.MustCompile("\x1b\\[[0-9;]*m")

// checkScreen checks what was drawn: several frames, none wider or higher than the screen, and the usual screen at
// the end.
func checkScreen(t *testing.T, drawn string, columns, rows int) {
	t.Helper()
	screen, rest, ok := strings.Cut(drawn, usualScreen)
	if !ok || !strings.HasPrefix(screen, otherScreen) || !strings.Contains(rest, "GPU 0 to 1: NVIDIA Fake") {
		t.Fatalf("no screen of its own that is left:\n%q", drawn)
	}
	frames := strings.Split(screen, toTheTop)[1:]
	if len(frames) < 3 {
		t.Errorf("%d frames", len(frames))
	}
	for _, f := range frames {
		f = colours.ReplaceAllString(strings.NewReplacer(restOfLine, "", restOfScreen, "").Replace(f), "")
		lines := strings.Split(strings.TrimSuffix(f, "\r\n"), "\r\n")
		if len(lines) > rows || !strings.Contains(f, "util %") {
			t.Errorf("%d lines on %d rows:\n%s", len(lines), rows, f)
		}
		for _, l := range lines {
			if runewidth.StringWidth(l) > columns || strings.Contains(l, "\x1b") {
				t.Errorf("%d columns: %q", columns, l)
			}
		}
	}
}

// Prometheus is answered at /metrics alone, and questions in quick succession get one reading.
func TestMetricsHandler(t *testing.T) {
	f := &oneGPU{}
	m, err := monitor.New(f)
	if err != nil {
		t.Fatal(err)
	}
	h := metricsHandler(m, time.Hour)
	for path, want := range map[string]int{"/metrics": 200, "/": 200, "/x": 404} {
		for range 3 {
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
			if w.Code != want {
				t.Errorf("%s: %d", path, w.Code)
			}
			if path == "/metrics" && (w.Header().Get("Content-Type") != prometheusType ||
				!strings.Contains(w.Body.String(), "lacuna_gpu_power_watts{gpu=\"0\",uuid=\"\"} 300\n")) {
				t.Errorf("%v\n%s", w.Header(), w.Body)
			}
		}
	}
	if f.read != 1 {
		t.Errorf("%d readings", f.read)
	}
}

// The server ends when it is told to, and listens on this machine unless asked otherwise.
func TestServeGPUs(t *testing.T) {
	for in, want := range map[string]string{"9836": "127.0.0.1:9836", ":9836": "127.0.0.1:9836",
		"0.0.0.0:1": "0.0.0.0:1", "[::1]:5": "[::1]:5", "host:": "", "a:b:c": "", "abc": "", "99999": "",
		"host:-1": ""} {
		if got, err := listenAddress(in); got != want || (err == nil) != (want != "") {
			t.Errorf("%s: %q, %v", in, got, err)
		}
	}
	m, err := monitor.New(&oneGPU{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(100*time.Millisecond, cancel)
	var errs bytes.Buffer
	if err := (&Env{Err: &errs}).serveGPUs(ctx, m, "0", time.Second); err != nil ||
		!strings.Contains(errs.String(), "http://127.0.0.1:") {
		t.Errorf("%v, %s", err, &errs)
	}
}

type oneGPU struct {
	nvml.Library // nil: what is not below is not asked for
	read         int
}

func (o *oneGPU) Driver() string              { return "1" }
func (o *oneGPU) Devices() []nvml.Device      { return make([]nvml.Device, 1) }
func (o *oneGPU) PCIe(int) (nvml.PCIe, error) { return nvml.PCIe{}, nil }
func (o *oneGPU) Sample(int) (nvml.Sample, error) {
	o.read++
	return nvml.Sample{PowerW: 300}, nil
}
