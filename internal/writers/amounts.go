package writers

import (
	"math"
	"strings"

	"lacuna/internal/unit"
)

// quantity is a value of a measure with its unit.
func quantity(x float64, symbol string) string {
	switch symbol {
	case "ms", "us":
		return someMs(x) + " " + symbol
	case "bytes":
		if math.Abs(x) < 1<<62 {
			return unit.FormatBytes(int64(math.Round(x)))
		}
	case "share":
		return short(100*x) + " %"
	case "%":
		return short(x) + " %"
	case "count":
		return tally(x)
	}
	return strings.TrimSpace(about(x) + " " + Printable(symbol))
}

// someMs is a time in ms, 0 for none.
func someMs(x float64) string {
	if x == 0 {
		return "0"
	}
	return about(x)
}

// tally is a count, which is a mean over steps: without decimals where it is whole.
func tally(x float64) string {
	if math.Abs(x-math.Round(x)) < 0.005 {
		return fixed(x, 0)
	}
	return short(x)
}

// short is a number with two or three digits.
func short(x float64) string {
	switch a := math.Abs(x); {
	case a >= 9.95:
		return fixed(x, 0)
	case a >= 0.995 || a == 0:
		return fixed(x, 1)
	}
	return fixed(x, 2)
}

// counted is a number with its noun.
func counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return unit.FormatCount(int64(n)) + " " + many
}

// plural is a number with a noun whose plural ends in s.
func plural(n int, noun string) string { return counted(n, noun, noun+"s") }
