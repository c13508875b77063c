package kernel

import (
	"math"
	"strings"
	"testing"

	"lacuna/internal/kernel/profile"
)

// Everything that the profiler says itself must come out of resources and attributes alone.
func TestOccupancyIsTheProfilersOwn(t *testing.T) {
	reports := corpusReports(t)
	launches := 0
	for _, name := range names(reports) {
		for _, k := range reports[name] {
			o := k.Occupancy()
			if o == nil {
				continue
			}
			launches++
			chip, _ := k.Chip()
			l := chip.Limits(o.Resources)
			same := func(what string, got float64, slack float64, metric string) {
				if want, ok := k.number(metric); ok && math.Abs(got-want) > slack {
					t.Errorf("%s %s: %s %g, the profiler says %g", name, k.Launch.Base, what, got, want)
				}
			}
			same("theoretical occupancy", o.Theoretical*100, 0.006, "sm__maximum_warps_per_active_cycle_pct")
			same("blocks by warps", float64(l.Warps), 0, "launch__occupancy_limit_warps")
			same("blocks by registers", float64(l.Registers), 0, "launch__occupancy_limit_registers")
			same("blocks", float64(l.Blocks), 0, "launch__occupancy_limit_blocks")
			same("waves", o.Waves, 0.006, "launch__waves_per_multiprocessor")
			if o.Theoretical <= 0 || o.Theoretical > 1 || o.Achieved > 1 || o.TailShare < 0 || o.TailShare >= 1 ||
				o.FilledShare <= 0 || o.FilledShare > 1 {
				t.Errorf("%s %s: out of bounds: %+v", name, k.Launch.Base, o)
			}
			// The profiler divides the carveout of this launch, and before 2022 the largest.
			if want, ok := k.number("launch__occupancy_limit_shared_mem"); ok && o.Resources.SharedBytes > 0 {
				if got := float64(o.Limits.Shared); got != want && float64(l.Shared) != want &&
					want < float64(chip.Blocks) {
					t.Errorf("%s %s: %g blocks by shared memory, the profiler says %g", name, k.Launch.Base, got, want)
				}
			}
			for _, s := range o.Steps {
				if s.Share <= o.Theoretical || s.Words == "" {
					t.Errorf("%s %s: a step that gains nothing: %+v", name, k.Launch.Base, s)
				}
			}
		}
	}
	if launches < 125 {
		t.Errorf("%d launches with an occupancy", launches)
	}
	t.Logf("%d launches", launches)
}

func TestOccupancyLimiterAndStep(t *testing.T) {
	reports := corpusReports(t)
	for _, c := range []struct {
		report  string
		at      int
		limiter string
		step    string
	}{
		{"low_occupancy", 0, LimitShared, "at most 115712 bytes of shared memory per block (now 204800)"},
		{"spill_launch_bounds", 1, LimitRegisters, "at most 64 registers per thread (now 73)"},
		{"gemm", 0, "", ""},
	} {
		o := reports[c.report][c.at].Occupancy()
		step := ""
		if len(o.Steps) > 0 {
			step = o.Steps[0].Words
		}
		if o.Limiter() != c.limiter || step != c.step {
			t.Errorf("%s: limited by %q, step %q", c.report, o.Limiter(), step)
		}
	}
}

// A step must be one: with the resources that it names, an SM holds more.
func TestStepsHold(t *testing.T) {
	reports := corpusReports(t)
	for _, name := range names(reports) {
		for _, k := range reports[name] {
			o := k.Occupancy()
			if o == nil {
				continue
			}
			for _, s := range o.Steps {
				w := WhatIf{Registers: -1, SharedBytes: s.SharedBytes, Threads: -1}
				if s.Registers > 0 {
					w.Registers = s.Registers
				}
				if s.Threads > 0 {
					w.Threads = s.Threads
				}
				c, err := k.WhatIf(w)
				if err != nil || math.Abs(c.Share-s.Share) > 1e-9 {
					t.Errorf("%s %s: %+v gives %+v, %v", name, k.Launch.Base, s, c, err)
				}
			}
		}
	}
}

func TestWhatIf(t *testing.T) {
	k := corpusReports(t)["gemm"][1] // 121 registers, 8,320 bytes, 256 threads, 256 blocks on 132 SMs
	for _, c := range []struct {
		text   string
		share  float64
		limits string
		err    string
	}{
		{"regs=64", 0.5, LimitRegisters, ""},
		{"regs=64,smem=32k,block=256", 0.5, LimitRegisters, ""},
		{"regs=32, block=1024", 1, "", ""},
		{"smem=200K", 0.125, LimitShared, ""},
		{"regs=255,block=1024", 0, "", "do not fit into an SM"},
		{"regs=300", 0, "", "1 to 255"},
		{"block=2000", 0, "", "1 to 1024"},
		{"smem=1m", 0, "", "at most 232448"},
		{"regs", 0, "", "NAME=NUMBER"},
		{"regs=-1", 0, "", "is not a number"},
		{"regs=64,regs=32", 0, "", "twice"},
		{"smem=4000000k", 0, "", "is not a number"},
		{"warps=4", 0, "", "nothing to vary"},
	} {
		w, err := ParseWhatIf(c.text)
		var got *Calculation
		if err == nil {
			got, err = k.WhatIf(w)
		}
		switch {
		case c.err != "":
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%s: error %v, want %q", c.text, err, c.err)
			}
		case err != nil:
			t.Errorf("%s: %v", c.text, err)
		case got.Share != c.share || (c.limits != "" && got.Limiting[0] != c.limits):
			t.Errorf("%s: %+v", c.text, got)
		}
	}
}

func TestNoOccupancyWithoutAttributes(t *testing.T) {
	k := launch(map[string]float64{"launch__registers_per_thread": 32, "launch__block_size": 128})
	if o := k.Occupancy(); o != nil {
		t.Errorf("%+v", o)
	}
	if _, err := k.WhatIf(WhatIf{-1, -1, 64}); err == nil {
		t.Error("calculated from nothing")
	}
}

// Reports before 2020.3 lack how many blocks an SM holds at most; the profiler's limit by blocks stands in for it.
func TestOccupancyOfOldReports(t *testing.T) {
	const launch = `attribute multiprocessor_count 80
attribute max_warps_per_multiprocessor 64
attribute max_registers_per_multiprocessor 65536
attribute max_shared_memory_per_multiprocessor 98304
kernel k grid=4096,1,1 block=256,1,1
launch__registers_per_thread 62
launch__shared_mem_per_block_static 44
launch__shared_mem_per_block_dynamic 0
`
	r, err := profile.Parse(launch + "launch__occupancy_limit_blocks 32\n")
	if err != nil {
		t.Fatal(err)
	}
	o := Of(r.Launches[0]).Occupancy()
	if o == nil || o.Theoretical != 0.5 || o.Blocks != 4 || o.Limiter() != LimitRegisters || o.Waves != 12.8 {
		t.Errorf("occupancy %+v, want half by registers in 12.8 waves", o)
	}
	r, _ = profile.Parse(launch)
	if o := Of(r.Launches[0]).Occupancy(); o != nil {
		t.Errorf("without any limit by blocks: %+v", o)
	}
}
