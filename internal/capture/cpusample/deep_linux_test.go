package cpusample

import (
	"os"
	"os/exec"
	"runtime"
	"testing"
	"time"
)

// sampled samples a program until it ends. It says how many bytes of each stack were taken.
func sampled(t *testing.T, cmd *exec.Cmd) (r *recording, stats Stats, taken uint32) {
	t.Helper()
	needs(t)
	if runtime.GOARCH != "amd64" {
		t.Skip("NOT TESTED: stacks are followed by frame pointers here")
	}
	r = newRecording(t)
	session, err := Launch(t.Context(), Options{Writer: r.w}, cmd.Start)
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	taken = session.kernel.(*events).attr.Sample_stack_user
	stats = session.Stop()
	r.read(t)
	t.Logf("%+v", stats)
	if stats.Samples < 20 {
		t.Skipf("NOT TESTED: only %d samples", stats.Samples)
	}
	return r, stats, taken
}

// A stack of 48 KiB is taken as a whole, where there is room for the best layout.
func TestDeep(t *testing.T) {
	r, stats, taken := sampled(t, exec.Command(compiled(t, "deep.c", "-O2", "-fomit-frame-pointer")))
	if taken < layouts[0].stack {
		t.Skipf("NOT TESTED: too little memory may be locked here to take more than %d bytes of a stack", taken)
	}
	if got := r.share("main"); stats.Whole*10 < stats.Samples*9 || got < 0.9 {
		t.Errorf("%d of %d stacks are whole; %.0f%% of the samples are of main", stats.Whole, stats.Samples, 100*got)
	}
}

// goBusy makes a test of this package a busy Go program.
const goBusy = "LACUNA_TEST_BUSY"

func TestBusy(t *testing.T) {
	if os.Getenv(goBusy) == "" {
		t.Skip("it is the program that TestGo samples")
	}
	t.Log(busyUntil(time.Now().Add(400 * time.Millisecond)))
}

//go:noinline
func busyUntil(end time.Time) (n int) {
	for time.Now().Before(end) {
		for i := range 20000 {
			n += i * i
		}
	}
	return n
}

// Stacks of Go's goroutines go to where each began, though Go writes no call frame information.
func TestGo(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Skip(err)
	}
	cmd := exec.Command(self, "-test.run=^TestBusy$")
	cmd.Env = append(os.Environ(), goBusy+"=1")
	_, stats, _ := sampled(t, cmd) // tests are linked without names
	if stats.Whole*10 < stats.Samples*9 || stats.OneFrame*10 > stats.Samples {
		t.Errorf("%d of %d stacks are whole, %d have one frame", stats.Whole, stats.Samples, stats.OneFrame)
	}
}
