package kernel

import "fmt"

// Clocks is how fast the device ran while the kernel was measured, against the most that it runs at.
// The profiler holds clocks down unless --clock-control none was given, so that measurements repeat:
// a kernel is then slower under it than it ever is in its program.
type Clocks struct {
	SMHz      Measure // measured; unknown, as DRAMHz is, for kernels so short that it is measured wrong
	SMMostHz  Measure // boost, of the device's attributes
	DRAMHz    Measure // measured
	DRAMMost  Measure // Hz
	Locked    bool    // the profiler says that it locked clocks
	Us        float64 // time as measured
	AtBoostUs float64 // time with the SMs at boost clock; equal to Us if they were, or if nothing is known
	// LowUs is the time if everything but DRAM's part gets faster, and HighUs if nothing does.
	LowUs, HighUs float64
}

const (
	// sameClock is how near clocks are that are taken for one: the SM clock of one report varies by 5 %
	// from kernel to kernel on an H200 that nothing locks.
	sameClock = 0.95
	// dramAtBest is the share of DRAM's peak that streaming kernels reach: what DRAM does in that share
	// of the time does not get faster with the SMs.
	dramAtBest = 0.93
)

// Clocks is the clocks of the measurement; nil: neither they nor the time are known.
func (k *Kernel) Clocks() *Clocks {
	us, timed := k.Microseconds()
	if !timed {
		return nil
	}
	c := &Clocks{Us: us, AtBoostUs: us, LowUs: us, HighUs: us, Locked: k.Launch.Clocks.Locked}
	if hz, ok := k.Rate("sm"); ok && us >= shortForClocks {
		c.SMHz = Measure{hz, true}
	}
	if khz, ok := k.Attribute("clock_rate"); ok {
		c.SMMostHz = Measure{khz * 1000, khz > 0}
	}
	if hz, ok := k.Rate("dram"); ok && us >= shortForClocks {
		c.DRAMHz = Measure{hz, true}
	}
	if khz, ok := k.Attribute("memory_clock_rate"); ok {
		c.DRAMMost = Measure{khz * 1000, khz > 0}
	}
	if !c.Slowed() {
		return c
	}
	scaled := us * c.SMHz.Value / c.SMMostHz.Value
	dram, ok := k.Load(DRAM)
	if !ok {
		c.LowUs, c.AtBoostUs = scaled, scaled
		return c
	}
	c.LowUs = max(scaled, us*min(1, dram))
	c.AtBoostUs = max(scaled, us*min(1, dram/dramAtBest))
	return c
}

// Slowed says that the SMs ran below their boost clock by more than clocks vary by themselves.
func (c *Clocks) Slowed() bool {
	return c.SMHz.Known && c.SMMostHz.Known && c.SMHz.Value < sameClock*c.SMMostHz.Value
}

// Words says it in a sentence; "" if clocks were as usual.
func (c *Clocks) Words() string {
	if !c.Slowed() {
		return ""
	}
	held := "the SMs ran at"
	if c.Locked {
		held = "the profiler held the SMs at"
	}
	if timeText(c.AtBoostUs) == timeText(c.Us) {
		return fmt.Sprintf("%s %.2f of %.2f GHz, which costs it nothing: DRAM sets its time", held, c.SMHz.Value/1e9,
			c.SMMostHz.Value/1e9)
	}
	return fmt.Sprintf("%s %.2f of %.2f GHz: at full clock the kernel would take about %s instead of %s",
		held, c.SMHz.Value/1e9, c.SMMostHz.Value/1e9, timeText(c.AtBoostUs), timeText(c.Us))
}
