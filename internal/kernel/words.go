package kernel

import (
	"math"
	"strconv"
	"strings"
)

// percentText is a share as people read it: "62 %", "0.4 %".
func percentText(share float64) string {
	p := share * 100
	switch {
	case p != 0 && math.Abs(p) < 0.95:
		return strconv.FormatFloat(p, 'f', 1, 64) + " %"
	default:
		return strconv.FormatFloat(p, 'f', 0, 64) + " %"
	}
}

// timeText is a duration given in µs.
func timeText(us float64) string {
	switch {
	case us >= 1e6:
		return few(us/1e6) + " s"
	case us >= 1000:
		return few(us/1000) + " ms"
	}
	return few(us) + " µs"
}

// few is a number with three significant digits and no exponent: "280", "1.56", "32".
func few(v float64) string {
	digits := 2
	for limit := 10.0; v >= limit-0.005 && digits > 0; limit *= 10 {
		digits--
	}
	text := strconv.FormatFloat(v, 'f', digits, 64)
	if digits > 0 {
		text = strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
	}
	return text
}
