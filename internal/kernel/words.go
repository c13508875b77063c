package kernel

import (
	"math"
	"strconv"
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
