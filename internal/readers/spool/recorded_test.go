package spool

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lacuna/internal/reader"
	"lacuna/internal/timeline/model"
)

// TestRecorded reads real recordings. Their rows were counted in the plain files without this reader;
// testdata/README.md says where they come from.
func TestRecorded(t *testing.T) {
	type rows struct{ kernels, copies, sets, calls, syncs, ranges, overheads int }
	for path, want := range map[string]rows{
		"testdata/tiny_kernels_slow.lacuna": {kernels: 1660, calls: 1661, syncs: 1, ranges: 20,
			overheads: 5},
		"testdata/tiny_kernels_fixed.lacuna": {kernels: 1660, calls: 6, syncs: 1, ranges: 10, overheads: 4},
		"testdata/host_sync_slow.lacuna": {kernels: 5936, copies: 200, sets: 776, calls: 7113,
			syncs: 201, ranges: 40, overheads: 5},
		"../../faces/commands/demo/data_loading.lacuna": {kernels: 264, copies: 12, sets: 24, calls: 313, syncs: 13,
			ranges: 36, overheads: 6},
	} {
		t.Run(filepath.Base(path), func(t *testing.T) {
			file, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			x := readBytes(t, file, reader.Options{})
			got := rows{x.Kernels.Len(), x.Copies.Len(), x.Sets.Len(), x.Calls.Len(), x.Syncs.Len(), x.Ranges.Len(),
				x.Overheads.Len()}
			if got != want {
				t.Errorf("rows %+v, want %+v", got, want)
			}
			if l := x.Losses.All(); len(l) > 0 || len(x.Warnings) > 0 {
				t.Errorf("losses %+v, warnings %q", l, x.Warnings)
			}
			if x.Info.Driver != 13000 || x.Info.CUPTI != 130001 || len(x.Devices) != 1 ||
				x.Devices[0].Name != "NVIDIA H200" || x.Devices[0].SMs != 132 {
				t.Errorf("driver %d, CUPTI %d, devices %+v", x.Info.Driver, x.Info.CUPTI, x.Devices)
			}
			testRecordedKernels(t, x)
			testRecordedTimes(t, x)
		})
	}
}

// testRecordedKernels: each kernel has a readable name, a grid, and the call that launched it, which began before it
// did: the clocks of GPU and host are one.
func testRecordedKernels(t *testing.T, x *model.Trace) {
	k, calls := &x.Kernels, make(map[uint32]int64)
	for i, corr := range x.Calls.Corr {
		calls[corr] = x.Calls.StartNs[i]
	}
	bad := 0
	for i := range k.Len() {
		called, launched := calls[k.Corr[i]]
		name, mangled := x.Strings.Text(k.Name[i]), x.Strings.Text(k.Mangled[i])
		if !launched || called > k.StartNs[i] || k.DurNs[i] <= 0 || k.GridX[i] <= 0 || k.BlockX[i] <= 0 ||
			name == "" || mangled == "" || strings.HasPrefix(name, "_Z") {
			if bad++; bad < 5 {
				t.Errorf("kernel %d: %q (%q) at %d ns for %d ns, its call %v at %d ns", i, name, mangled, k.StartNs[i],
					k.DurNs[i], launched, called)
			}
		}
	}
	if bad > 0 {
		t.Errorf("%d kernels of %d are wrong", bad, k.Len())
	}
}

// testRecordedTimes: time 0 is the first event or before. In these recordings the agent's stream begins after the
// first ranges and kernels.
func testRecordedTimes(t *testing.T, x *model.Trace) {
	first := int64(1 << 62)
	for _, startNs := range [][]int64{x.Kernels.StartNs, x.Calls.StartNs, x.Copies.StartNs, x.Ranges.StartNs,
		x.Overheads.StartNs} {
		for _, ns := range startNs {
			first = min(first, ns)
		}
	}
	if first != 0 {
		t.Errorf("the first event is at %d ns", first)
	}
}
