package monitor

import (
	"errors"
	"fmt"
	"reflect"
	"sync"
	"testing"
	"time"

	"lacuna/internal/capture/nvml"
)

// fakeGPUs gives samples in turn; the clock moves by a second with each reading of it.
type fakeGPUs struct {
	nvml.Library // nil: what is not below is not asked for
	devices      []nvml.Device
	samples      []nvml.Sample
	fails        bool
}

func (f *fakeGPUs) Driver() string         { return "580" }
func (f *fakeGPUs) Devices() []nvml.Device { return f.devices }
func (f *fakeGPUs) Sample(int) (nvml.Sample, error) {
	if f.fails {
		return nvml.Sample{}, errors.New("GPU 0: GPU is lost (NVML error 15)")
	}
	s := f.samples[0]
	if len(f.samples) > 1 {
		f.samples = f.samples[1:]
	}
	return s, nil
}
func (f *fakeGPUs) PCIe(int) (nvml.PCIe, error) { return nvml.PCIe{}, errors.New("not told") }

func watch(t *testing.T, f *fakeGPUs) *Monitor {
	t.Helper()
	m, err := New(f)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Unix(1_700_000_000, 0)
	var one sync.Mutex // GPUs are read at once
	m.now = func() time.Time {
		one.Lock()
		defer one.Unlock()
		now = now.Add(time.Second)
		return now
	}
	m.pause = func(time.Duration) {}
	m.name = func(pid int) string { return fmt.Sprint("p", pid) }
	return m
}

// Rates are of the time between two readings; a counter that began anew has none, and neither has one that is not told.
func TestRates(t *testing.T) {
	link := func(tx int64) nvml.Sample {
		return nvml.Sample{NVLinkTx: tx, NVLinkRx: 2 * tx, Told: nvml.ToldNVLink}
	}
	m := watch(t, &fakeGPUs{devices: make([]nvml.Device, 1),
		samples: []nvml.Sample{link(1000), link(3000), link(9000), link(500), {}, link(700)}})
	var got []string
	for range 5 {
		g := m.Read().GPUs[0]
		text := "none"
		if g.NVLinkTxBps != nil {
			text = fmt.Sprint(*g.NVLinkTxBps, " ", *g.NVLinkRxBps)
		}
		got = append(got, text)
	}
	// the first reading samples twice, two ticks of the clock apart; between others lie two ticks too
	want := []string{"1000 2000", "3000 6000", "none", "none", fmt.Sprint(200.0/4, " ", 400.0/4)}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// What a device does not tell is absent; a zero that it tells is there.
func TestAbsent(t *testing.T) {
	m := watch(t, &fakeGPUs{devices: []nvml.Device{{Name: "X", MIG: true}, {}},
		samples: []nvml.Sample{{Told: nvml.ToldBusy | nvml.ToldReasons}}})
	s := m.Read()
	split, whole := s.GPUs[0], s.GPUs[1]
	if split.UtilPct != nil || whole.UtilPct == nil || *whole.UtilPct != 0 || whole.Throttle == nil ||
		whole.Processes != nil ||
		whole.MemoryUsedBytes != nil || whole.PowerW != nil || whole.PCIeTxBps != nil || whole.NVLinkTxBps != nil {
		t.Errorf("%+v\n%+v", split, whole)
	}
}

// A GPU that falls off the bus is told, and the others are still read.
func TestLost(t *testing.T) {
	m := watch(t, &fakeGPUs{devices: []nvml.Device{{Name: "X"}}, fails: true})
	if g := m.Read().GPUs[0]; g.Error == "" || g.Name != "X" || g.SMClockMHz != nil {
		t.Errorf("%+v", g)
	}
	if _, err := New(&fakeGPUs{}); err == nil {
		t.Error("no GPU is no error")
	}
}
