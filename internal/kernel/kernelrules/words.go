package kernelrules

import (
	"fmt"
	"math"
	"strconv"
)

// percent is a share as people read it.
func percent(share float64) string {
	if math.IsNaN(share) || math.IsInf(share, 0) {
		return "an unknown part"
	}
	if p := 100 * share; p != 0 && math.Abs(p) < 0.95 {
		return fmt.Sprintf("%.1f %%", p)
	}
	return fmt.Sprintf("%.0f %%", 100*share)
}

// digits is a number with three digits or so.
func digits(v float64) string {
	switch a := math.Abs(v); {
	case math.IsNaN(v) || math.IsInf(v, 0):
		return "an unknown number of"
	case a == math.Trunc(a) && a < 10:
		return fmt.Sprintf("%.0f", v)
	case a < 10:
		return strconv.FormatFloat(v, 'f', 1, 64)
	case a >= 1e9:
		return strconv.FormatFloat(v/1e9, 'f', 1, 64) + " billion"
	case a >= 1e6:
		return strconv.FormatFloat(v/1e6, 'f', 1, 64) + " million"
	}
	return strconv.FormatFloat(v, 'f', 0, 64)
}

// several is a number of things.
func several(n float64, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return digits(n) + " " + thing + "s"
}

// bytesText is an amount of memory in decimal units, as bandwidths are.
func bytesText(v float64) string {
	switch {
	case math.IsNaN(v) || math.IsInf(v, 0):
		return "an unknown amount"
	case v >= 1e9:
		return strconv.FormatFloat(v/1e9, 'f', 2, 64) + " GB"
	case v >= 1e6:
		return strconv.FormatFloat(v/1e6, 'f', 0, 64) + " MB"
	case v >= 1e3:
		return strconv.FormatFloat(v/1e3, 'f', 0, 64) + " kB"
	}
	return strconv.FormatFloat(v, 'f', 0, 64) + " bytes"
}

// usText is a duration given in us.
func usText(v float64) string {
	if v >= 1000 {
		return strconv.FormatFloat(v/1000, 'f', 2, 64) + " ms"
	}
	return digits(v) + " µs"
}
