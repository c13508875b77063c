//go:build linux && (amd64 || arm64)

package agent_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/klauspost/compress/snappy"

	"lacuna/internal/base/golden"
	"lacuna/internal/capture/spool"
)

// windows: a hundred in one process, one file.
func (d coreDriver) windows(t *testing.T) {
	dir := t.TempDir()
	c, _ := d.run(t, dir, []string{"LACUNA_WINDOW=armed", "LACUNA_FLUSH_MS=20"}, "windows", "100")
	s := only(t, readSpools(t, dir, false), c.dropped)
	if len(s.windows) != 200 || len(s.events) != 50*100 {
		t.Fatalf("%d rows of windows, %d events; %+v", len(s.windows), len(s.events), c)
	}
	for i, w := range s.windows {
		if int(w.On) != (i+1)%2 || i > 0 && w.Time < s.windows[i-1].Time {
			t.Fatalf("window %d: %+v after %+v", i, w, s.windows[max(i-1, 0)])
		}
	}
}

// steps: exactly those that were asked for.
func (d coreDriver) steps(t *testing.T) {
	for _, test := range []struct {
		steps, pattern string
		want           []uint64
	}{
		{"3:5", "", []uint64{3, 4}},
		{"0:2", "step *", []uint64{0, 1}},
		{"8:20", "", []uint64{8, 9}},
		{"0:2", "step 7", []uint64{7, 8, 9}},
		{"0:2", "another", nil},
		{"5:3", "", nil},
		{"nonsense", "", nil},
	} {
		dir := t.TempDir()
		d.run(t, dir, []string{"LACUNA_WINDOW=steps", "LACUNA_STEPS=" + test.steps, "LACUNA_STEP_RANGE=" +
			test.pattern}, "steps")
		var got []uint64
		for _, s := range readSpools(t, dir, false) {
			for _, e := range s.events {
				got = append(got, e.ID)
			}
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%+v: steps %v", test, got)
		}
	}
}

// delay: counted from the process's start.
func (d coreDriver) delay(t *testing.T) {
	golden.Long(t, inTime)
	dir := t.TempDir()
	began := time.Now()
	p := d.live(t, dir, "LACUNA_WINDOW=delay", "LACUNA_DELAY=0.6", "LACUNA_DURATION=0.3", "LACUNA_FLUSH_MS=20")
	time.Sleep(1500 * time.Millisecond)
	p.end(t)
	s := only(t, readSpools(t, dir, false), 0)
	if len(s.windows) != 2 || len(s.events) == 0 {
		t.Fatalf("windows %+v, %d events", s.windows, len(s.events))
	}
	after := time.Unix(0, int64(s.windows[0].Time)).Sub(began)
	long := time.Duration(s.windows[1].Time - s.windows[0].Time)
	if after < 550*time.Millisecond || after > 1400*time.Millisecond || long < 290*time.Millisecond ||
		long > 1200*time.Millisecond {
		t.Errorf("it opened after %v, for %v", after, long)
	}
}

// duration: of the whole run; nothing is recorded after it.
func (d coreDriver) duration(t *testing.T) {
	golden.Long(t, inTime)
	dir := t.TempDir()
	p := d.live(t, dir, "LACUNA_DURATION=0.3", "LACUNA_FLUSH_MS=20")
	time.Sleep(900 * time.Millisecond)
	if got := p.ask(t, "status"); got.State != "stopped" || got.Why != "duration" {
		t.Errorf("status %+v", got)
	}
	p.end(t)
	s := only(t, readSpools(t, dir, false), 0)
	if len(s.windows) != 2 || len(s.events) == 0 {
		t.Fatalf("windows %+v, %d events", s.windows, len(s.events))
	}
	if e := s.events[len(s.events)-1]; uint64(e.Time) > uint64(s.windows[1].Time)+uint64(time.Second/10) {
		t.Error("an event long after the window")
	}
}

// A live driver emits until it is told to end.
type live struct {
	cmd    *exec.Cmd
	in     io.Closer
	out    *bufio.Reader
	stderr *bytes.Buffer
}

func (d coreDriver) live(t *testing.T, dir string, settings ...string) live {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	cmd := d.command(ctx, dir, settings, "live")
	stderr := new(bytes.Buffer)
	cmd.Stderr = stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // before the folder that it writes to is removed
		cancel()
		_ = cmd.Wait()
	})
	p := live{cmd, in, bufio.NewReader(out), stderr}
	if line, err := p.out.ReadString('\n'); line != "ready\n" {
		t.Fatalf("%q, %v, %s", line, err, stderr)
	}
	return p
}

func (p live) end(t *testing.T) counts {
	t.Helper()
	p.in.Close()
	var c counts
	line, _ := p.out.ReadString('\n')
	_, scan := fmt.Sscanf(line, "emitted %d taken %d dropped %d", &c.emitted, &c.taken, &c.dropped)
	if err := p.cmd.Wait(); err != nil || scan != nil || p.stderr.Len() > 0 {
		t.Fatalf("%v, %q, %s", err, line, p.stderr)
	}
	return c
}

func (p live) socket() string { return fmt.Sprintf("lacuna-%d-%d", os.Getuid(), p.cmd.Process.Pid) }

type status struct {
	Error, State, Why, Window, Spool string
	Pid                              int
	Records, Dropped, Bytes          int64
}

func (p live) ask(t *testing.T, line string) (s status) {
	t.Helper()
	c, err := net.Dial("unix", "@"+p.socket())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := io.WriteString(c, line+"\n"); err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(c)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &s); err != nil || text[len(text)-1] != '\n' || s.Pid != p.cmd.Process.Pid {
		t.Fatalf("%s: %q: %v", line, text, err)
	}
	return s
}

func threads(t *testing.T, pid int) int {
	t.Helper()
	list, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}

// armed: nothing but a socket until it is asked; then as often as wanted.
func (d coreDriver) armed(t *testing.T) {
	dir := t.TempDir()
	p := d.live(t, dir, "LACUNA_WINDOW=armed", "LACUNA_FLUSH_MS=20")
	if got := p.ask(t, "status"); got.State != "armed" || got.Window != "armed" || got.Spool != "" {
		t.Errorf("status %+v", got)
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) > 0 {
		t.Errorf("armed, and there is %v %v", files, err)
	}
	if n := threads(t, p.cmd.Process.Pid); d.plain() && n != 2 {
		t.Errorf("armed, and it has %d threads, want the program's and the socket's", n)
	}
	silent, err := net.Dial("unix", "@"+p.socket()) // who says nothing holds nobody up for long
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	for i := range 3 {
		if got := p.ask(t, "start"); got.State != "recording" || got.Error != "" || !strings.HasPrefix(got.Spool, dir) {
			t.Errorf("start %d: %+v", i, got)
		}
		if got := p.ask(t, "start"); got.State != "recording" || got.Error != "" {
			t.Errorf("a second start: %+v", got)
		}
		for range 100 {
			if time.Sleep(100 * time.Millisecond); p.ask(t, "status").Records > 0 {
				break
			}
		}
		if got := p.ask(t, "stop"); got.State != "stopped" || got.Records == 0 || got.Bytes == 0 {
			t.Errorf("stop %d: %+v", i, got)
		}
		if got := p.ask(t, "stop"); got.State != "stopped" || got.Error != "" {
			t.Errorf("a second stop: %+v", got)
		}
	}
	p.ask(t, "start 0.2")
	for range 100 { // most of it for a busy machine
		if time.Sleep(100 * time.Millisecond); p.ask(t, "status").State == "stopped" {
			break
		}
	}
	if got := p.ask(t, "status"); got.State != "stopped" || got.Why != "duration" {
		t.Errorf("after its time: %+v", got)
	}
	for _, line := range []string{"", "begin", "start x", "start -1", "stop now", strings.Repeat("a", 200),
		"\x01\xff\""} {
		if got := p.ask(t, line); !strings.Contains(got.Error, "there are start [SECONDS], stop and status") {
			t.Errorf("%q: %+v", line, got)
		}
	}
	p.end(t)
	if s := only(t, readSpools(t, dir, false), 0); len(s.windows) != 8 {
		t.Errorf("windows %+v", s.windows)
	}
}

// crowd: many ask at once, while the program emits.
func (d coreDriver) crowd(t *testing.T) {
	dir := t.TempDir()
	p := d.live(t, dir, "LACUNA_WINDOW=armed", "LACUNA_FLUSH_MS=10")
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			for k := range 15 {
				p.ask(t, []string{"start", "status", "stop", "start 0.01", "nonsense"}[(i+k)%5])
			}
		})
	}
	all.Wait()
	p.ask(t, "start")
	p.ask(t, "stop")
	c := p.end(t)
	s := only(t, readSpools(t, dir, false), c.dropped)
	if n, _ := checkEvents(t, s, 0); n != c.taken {
		t.Errorf("%d events; %+v", n, c)
	}
}

// otherUser: is refused, and cannot do anything.
func (d coreDriver) otherUser(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("SKIPPED: to ask as another user needs root")
	}
	dir := t.TempDir()
	p := d.live(t, dir, "LACUNA_WINDOW=armed")
	text, err := d.command(context.Background(), "", nil, "ask", "65534", p.socket(), "start").CombinedOutput()
	if err != nil || !strings.Contains(string(text), `"error":"only the program's own user may ask"`) {
		t.Errorf("%s, %v", text, err)
	}
	if got := p.ask(t, "status"); got.State != "armed" {
		t.Errorf("another user started it: %+v", got)
	}
	p.end(t)
}

// off: without a folder that can be written there is no agent, no thread, no word.
func (d coreDriver) off(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"", "/nonexistent", file, strings.Repeat("/x", 4000)} {
		p := d.live(t, dir)
		if n := threads(t, p.cmd.Process.Pid); d.plain() && n != 1 {
			t.Errorf("%.20q: %d threads", dir, n)
		}
		if c, err := net.Dial("unix", "@"+p.socket()); err == nil {
			c.Close()
			t.Errorf("%.20q: it listens", dir)
		}
		if c := p.end(t); c.emitted != 0 {
			t.Errorf("%.20q: %+v", dir, c)
		}
	}
}

// pack: what it packs is Snappy, and packs; the checksum is CRC-32C.
func (d coreDriver) pack(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	inputs := [][]byte{nil, {0}, []byte("abc"), bytes.Repeat([]byte{7}, 100), bytes.Repeat([]byte("abcdefg"), 30000),
		[]byte(spool.SchemaText())}
	for _, n := range []int{1, 3, 4, 5, 59, 60, 61, 63, 64, 65, 67, 68, 69, 255, 256, 257, 65535, 65536, 65537,
		200000} {
		rows, noise := make([]byte, n), make([]byte, n)
		for i := range rows {
			noise[i] = byte(random.Uint32())
			rows[i] = byte(random.Uint32() & 3)
			if i >= 57 && random.Uint32()%8 > 0 {
				rows[i] = rows[i-57]
			}
		}
		near := noise[:min(n/2, 32000)] // what lies further back than 64 KiB is not looked for
		inputs = append(inputs, rows, noise, slices.Concat(near, near))
	}
	inputs = append(inputs, bytes.Repeat([]byte("0123456789"), 400000)) // near SPOOL_MAX_PLAIN
	for _, in := range inputs {
		cmd := d.command(context.Background(), "", nil, "pack")
		cmd.Stdin = bytes.NewReader(in)
		var sum bytes.Buffer
		cmd.Stderr = &sum
		packed, err := cmd.Output()
		if err != nil {
			t.Fatalf("%d bytes: %v %s", len(in), err, &sum)
		}
		if got, err := snappy.Decode(nil, packed); err != nil || !bytes.Equal(got, in) {
			t.Fatalf("%d bytes: %v, %d come back", len(in), err, len(got))
		}
		if want := fmt.Sprintln(crc32.Checksum(in, crc32.MakeTable(crc32.Castagnoli))); sum.String() != want {
			t.Errorf("%d bytes: checksum %s, want %s", len(in), &sum, want)
		}
		if theirs := len(snappy.Encode(nil, in)); len(packed) > theirs+theirs/4+64 {
			t.Errorf("%d bytes: packed to %d, another packer to %d", len(in), len(packed), theirs)
		}
	}
}

// json: whatever a program is called, notes are JSON.
func (d coreDriver) json(t *testing.T) {
	for in, want := range map[string]string{
		"":                              "",
		"train.py":                      "train.py",
		"a\"b\\c\n\x01\x7f":             "a\"b\\c\n\x01\x7f",
		"é ∑ 😀":                         "é ∑ 😀",
		"\xff\xc3x\xe2\x82\xed\xa0\x80": "��x��\ufffd\ufffd\ufffd",
		"\xf4\x90\x80\x80\xc0\xaf":      "\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd",
	} {
		out, err := d.command(context.Background(), "", nil, "json", in).CombinedOutput()
		var got string
		if err == nil {
			err = json.Unmarshal([]byte(`"`+strings.TrimSuffix(string(out), "\n")+`"`), &got)
		}
		if err != nil || got != want {
			t.Errorf("%q: %q, %v: %q, want %q", in, out, err, got, want)
		}
	}
}
