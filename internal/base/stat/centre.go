package stat

import (
	"fmt"
	"math"
)

// A Centre is where a measure of one program lies.
type Centre struct {
	Median    float64 // over runs of each run's median
	Low, High float64 // 95 % interval on it; infinite if nothing can be said
	SD        float64 // between runs, as in Noise; 0 if only steps were seen
	Runs      int
	OfSteps   bool      // the interval is over the steps of a single run
	Modes     []float64 // the two centres if the runs have two modes
	Warnings  []string
}

// CentreOf finds the centre of runs, each with its samples. The interval is Student's on the logarithms of the
// runs' medians (on the values where one is not positive), as in Compare, wider by the square root of pi/2
// because it is the median that is told: its variance is at most so many times the mean's.
func CentreOf(runs [][]float64) Centre {
	runs = measured(runs)
	values := medians(runs)
	c := Centre{Runs: len(values), Low: math.Inf(-1), High: math.Inf(1)}
	if len(values) == 0 {
		c.Warnings = []string{"nothing was measured"}
		return c
	}
	c.Median, c.Modes = median(values), modesOf(values, runs)
	e := Effect{positive: positive(values, runs)}
	scaled := e.scale(values)
	var spread estimate
	if n := float64(len(scaled)); n > 1 {
		m, ss := mean(scaled), 0.0
		for _, x := range scaled {
			ss += (x - m) * (x - m)
		}
		spread = estimate{math.Pi / 2 * ss / (n - 1) / n, n - 1}
		c.SD = math.Sqrt(ss / (n - 1))
		if !e.positive && c.Median != 0 {
			c.SD /= math.Abs(c.Median)
		}
	} else {
		c.OfSteps = true
		c.Warnings = append(c.Warnings, "one run: the interval is over its steps, and modes between runs are "+
			"not in it")
		spread = ofSteps(e.scale(runs[0]))
	}
	if half := quantileT(1-intervalTail, spread.df) * math.Sqrt(spread.variance); !math.IsInf(half, 1) &&
		!math.IsNaN(half) {
		if e.positive {
			c.Low, c.High = c.Median*math.Exp(-half), c.Median*math.Exp(half)
		} else {
			c.Low, c.High = c.Median-half, c.Median+half
		}
	}
	if c.Modes != nil {
		of := "runs"
		if c.Runs == 1 {
			of = "steps"
		}
		c.Warnings = append(c.Warnings, fmt.Sprintf(
			"two modes among the %s, at %.4g and %.4g: a median says little of either", of, c.Modes[0], c.Modes[1]))
	}
	return c
}
