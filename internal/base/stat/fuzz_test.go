package stat

import (
	"encoding/binary"
	"math"
	"testing"
	"time"
)

// FuzzCompare holds Compare to what must be true of any samples: it ends, the change lies in its interval,
// nothing is NaN, and a verdict agrees with the interval.
func FuzzCompare(f *testing.F) {
	seed := func(perRun, split uint8, values ...float64) {
		var b []byte
		for _, v := range values {
			b = binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
		}
		f.Add(b, perRun, split, 0.02, 0.0, 0.0, 0.0, 20)
	}
	seed(1, 3, 0, 0, 0, 0, 0, 0)
	seed(1, 6, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2)
	seed(1, 6, 1e200, 1e300, 1e200, 1e308, 1e308, 1e308, 1, 1, 1, 1, 1, 1) // squares overflow
	seed(1, 3, 1e-320, 5e-324, 1e-310, 1e150, 1e149, 1e148)                // so does the change
	// a step of no length among others
	seed(3, 2, 0, 1, 1, 1, 1, 0)
	// one run of a side is no number
	seed(3, 2, math.NaN(), 1, 1, 1, 1, 1, 1, 2, 3)
	seed(1, 2, 1, 1+1e-16, 1, 1+2e-16)           // scatter of rounding only
	seed(2, 1, math.Inf(1), math.Inf(-1), -1, 1) //
	seed(1, 2, -1, 1, 1, -1)                     // a before of about nothing
	// hardly any degrees of freedom
	f.Add([]byte("0000000010000000"), uint8(1), uint8(1), 0.02, 0.0, 0.01, 1e-9, 1)
	f.Add([]byte("0000000010000000"), uint8(1), uint8(1), -1.0, -1.0, -1.0, -1.0, 0)      //
	f.Add([]byte("0000000010000000"), uint8(1), uint8(1), 1e300, 1e300, 1e300, 1e300, -1) //
	f.Fuzz(func(t *testing.T, data []byte, perRun, split uint8, minEffect, minAbsolute, sd, runs float64, family int) {
		var sides [2][][]float64
		for i := 0; i+8 <= len(data) && i < 8*256; i += 8 {
			run := i / 8 / max(1, int(perRun))
			side := 0
			if run >= int(split) {
				side, run = 1, run-int(split)
			}
			for len(sides[side]) <= run {
				sides[side] = append(sides[side], nil)
			}
			v := math.Float64frombits(binary.LittleEndian.Uint64(data[i:]))
			sides[side][run] = append(sides[side][run], v)
		}
		// a panic leaves the input behind, a test's limit does not
		watch := time.AfterFunc(10*time.Second, func() { panic("it does not end") })
		defer watch.Stop()
		e := Compare(Question{Before: sides[0], After: sides[1], MinEffect: minEffect, MinAbsolute: minAbsolute,
			Family: family, Noise: Noise{sd, runs}})
		for name, v := range map[string]float64{"before": e.Before, "after": e.After, "change": e.Change, "low": e.Low,
			"high": e.High, "sd": e.SD} {
			if math.IsNaN(v) {
				t.Errorf("%s is no number: %+v", name, e)
			}
		}
		if !(e.Low <= e.Change && e.Change <= e.High) {
			t.Errorf("change %v is not within %v to %v", e.Change, e.Low, e.High)
		}
		if e.Verdict == Higher && !(e.Low > 0) || e.Verdict == Lower && !(e.High < 0) {
			t.Errorf("%v of %v to %v", e.Verdict, e.Low, e.High)
		}
		if e.RunsNeeded < 0 || e.RunsNeeded > maxRuns || e.RunsNeeded > 0 && e.Verdict != Undecided {
			t.Errorf("%d runs needed, verdict %v", e.RunsNeeded, e.Verdict)
		}
	})
}
