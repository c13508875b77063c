package profile

import (
	"bufio"
	"os"
	"strings"
	"testing"

	"lacuna/internal/base/golden"
)

// TestUnitsAsPrinted: ncu_units.tsv lists units as pages of real reports print them: name, tab, units of all chips
// with | between them.
func TestUnitsAsPrinted(t *testing.T) {
	unitsFile := golden.Shared(t, "formats", "ncu_units.tsv")
	f, err := os.Open(unitsFile)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	n := 0
	for lines := bufio.NewScanner(f); lines.Scan(); {
		name, units, ok := strings.Cut(lines.Text(), "\t")
		if !ok || strings.HasPrefix(name, "#") {
			continue
		}
		n++
		want, _, _ := strings.Cut(units, "|")
		if got := Unit(name); got != want {
			t.Errorf("%s is in %q, want %q", name, got, want)
		}
	}
	if n < 2000 {
		t.Errorf("only %d names in %s", n, unitsFile)
	}
}

func TestUnit(t *testing.T) {
	for _, test := range []struct{ metric, want string }{
		{"gpu__time_duration.sum", "nsecond"},
		{"dram__bytes_read.sum.per_second", "byte/second"},
		{"dram__bytes.sum.pct_of_peak_sustained_elapsed", "%"},
		{"lts__t_sectors_op_read.sum", "sector"},
		{"l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum", "request"},
		{"sm__inst_executed_pipe_fp64.avg.per_cycle_active", "inst/cycle"},
		{"sm__warps_active.avg.per_cycle_active", "warp"},
		{"lts__lts2xbar_cycles_active.avg.peak_sustained", ""},
		{"SM.TriageA.sm__cycles_active.avg", "cycle"},
		{"launch__registers_per_thread", "register/thread"},
		{"launch__grid_size", ""},
		{"device__attribute_clock_rate", ""},
		{"smsp__pcsamp_warps_issue_stalled_wait", "warp"},
		{"breakdown:sm__throughput.avg.pct_of_peak_sustained_elapsed", "%"},
		{"sm__a_counter_not_seen_yet.sum", ""},
		{"", ""},
	} {
		if got := Unit(test.metric); got != test.want {
			t.Errorf("Unit(%q) = %q, want %q", test.metric, got, test.want)
		}
	}
}

func TestBaseUnit(t *testing.T) {
	for _, test := range []struct {
		unit, base string
		factor     float64
	}{
		{"", "", 1},
		{"%", "%", 1},
		{"usecond", "nsecond", 1e3},
		{"second", "nsecond", 1e9},
		{"Gbyte", "byte", 1e9},
		{"Tbyte/second", "byte/second", 1e12},
		{"byte/second", "byte/second", 1},
		{"cycle/nsecond", "cycle/second", 1e9},
		{"/usecond", "/second", 1e6},
		{"Ghz", "cycle/second", 1e9},
		{"us", "nsecond", 1e3},
		{"Gbyte/s", "byte/second", 1e9},
		{"Kbyte/block", "byte/block", 1e3},
		{"%/Kbyte", "%/byte", 1e3},
		{"inst/cycle", "inst/cycle", 1},
	} {
		if base, factor := BaseUnit(test.unit); base != test.base || factor != test.factor {
			t.Errorf("BaseUnit(%q) = %q, %g, want %q, %g", test.unit, base, factor, test.base, test.factor)
		}
	}
}
