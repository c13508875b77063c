package unit

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Fixed is v with a number of decimals, and "-" for what is not a number. Whole thousands are set apart.
func Fixed(v float64, digits int) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return "-"
	}
	if digits == 0 && math.Abs(v) >= 1e4 && math.Abs(v) < 1e15 {
		return FormatCount(int64(math.Round(v)))
	}
	return strconv.FormatFloat(v, 'f', digits, 64)
}

// Percent is a ratio in percent with two or three digits, never "100" or "0" for what only rounds to it.
func Percent(ratio float64) string {
	v := 100 * ratio
	switch {
	case v > 0 && v < 0.1:
		return "<0.1"
	case v > 99.9 && v < 100:
		return ">99.9"
	case v >= 99.95 || v == 0:
		return Fixed(v, 0)
	}
	return Fixed(v, 1)
}

// PerStep is a mean count over steps: without decimals where it is whole.
func PerStep(v float64) string {
	switch {
	case v == math.Trunc(v) && math.Abs(v) < 1e15:
		return FormatCount(int64(v))
	case v > 0 && v < 0.01:
		return "<0.01"
	case v < 1:
		return Fixed(v, 2)
	}
	return Fixed(v, 1)
}

// MsDigits is how many decimals the parts of a step in ms have.
func MsDigits(stepMs float64) int {
	switch {
	case stepMs >= 1000:
		return 0
	case stepMs >= 100:
		return 1
	case stepMs >= 10:
		return 2
	case stepMs >= 0.1 || !(stepMs > 0):
		return 3
	case stepMs >= 0.01:
		return 4
	case stepMs >= 0.001:
		return 5
	}
	return 6
}

// TableDigits is MsDigits for a table whose largest row may be far below the step.
func TableDigits(stepMs, largestMs float64) int {
	if !(largestMs > 0) {
		return MsDigits(stepMs)
	}
	return max(MsDigits(stepMs), MsDigits(largestMs)-1)
}

// AboutDigits is how many decimals an estimate in ms has: three digits are more than it is known to.
func AboutDigits(ms float64) int {
	switch a := math.Abs(ms); {
	case a >= 99.95:
		return 0
	case a >= 9.995:
		return 1
	case a >= 0.9995:
		return 2
	case a >= 0.09995 || a == 0:
		return 3
	}
	return 4
}

// About is an estimate in ms.
func About(ms float64) string { return Fixed(ms, AboutDigits(ms)) }

// Bounds is the range of an estimate in ms, as exact as the estimate itself: "8.2-16.2 ms".
func Bounds(ms, low, high float64) string {
	d := AboutDigits(ms)
	to := "-"
	if low < 0 || high < 0 {
		to = " to "
	}
	return Fixed(low, d) + to + Fixed(high, d) + " ms"
}

// Three is v with three significant digits, more before the point.
func Three(v float64) string {
	switch a := math.Abs(v); {
	case a >= 99.95:
		return Fixed(v, 0)
	case a >= 9.995:
		return Fixed(v, 1)
	case a >= 0.9995 || a == 0:
		return Fixed(v, 2)
	case a >= 0.09995:
		return Fixed(v, 3)
	}
	return Fixed(v, 4)
}

// SI is a large number with its prefix, to be followed by its unit: "4.81 T".
func SI(v float64) string {
	if v == 0 {
		return "0 "
	}
	for _, x := range []struct {
		from   float64
		symbol string
	}{{999.5e12, "P"}, {999.5e9, "T"}, {999.5e6, "G"}, {999.5e3, "M"}, {999.5, "k"}} {
		if v >= x.from {
			return Three(v/x.from*0.9995) + " " + x.symbol
		}
	}
	return Three(v) + " "
}

// A TimeScale is the unit in which the durations of one sentence are written.
type TimeScale struct {
	PerUs  float64
	Symbol string
}

// ScaleOfUs is the unit for durations up to us microseconds.
func ScaleOfUs(us float64) TimeScale {
	switch {
	case us >= 999.5e3:
		return TimeScale{1e-6, "s"}
	case us >= 999.5:
		return TimeScale{1e-3, "ms"}
	}
	return TimeScale{1, "µs"}
}

// Number is a duration with three digits, without its unit.
func (s TimeScale) Number(us float64) string { return Three(us * s.PerUs) }

// Micros is a duration given in microseconds, with its unit.
func Micros(us float64) string {
	s := ScaleOfUs(us)
	return s.Number(us) + " " + s.Symbol
}

// Short is a number with two or three digits.
func Short(x float64) string {
	switch a := math.Abs(x); {
	case a >= 9.95:
		return Fixed(x, 0)
	case a >= 0.995 || a == 0:
		return Fixed(x, 1)
	}
	return Fixed(x, 2)
}

// Signed is a percentage with its sign, as exact as it is large.
func Signed(pct float64) string { return signed(pct, Short) }

// SignedMs is a change in ms with its sign.
func SignedMs(ms float64) string { return signed(ms, About) }

func signed(x float64, format func(float64) string) string {
	text := format(math.Abs(x))
	switch {
	case strings.Trim(text, "0.") == "":
		return "0"
	case x < 0:
		return "-" + text
	}
	return "+" + text
}

// SomeMs is a time in ms, 0 for none.
func SomeMs(x float64) string {
	if x == 0 {
		return "0"
	}
	return About(x)
}

// Tally is a count, which is a mean over steps: without decimals where it is whole.
func Tally(x float64) string {
	if math.Abs(x-math.Round(x)) < 0.005 {
		return Fixed(x, 0)
	}
	return Short(x)
}

// FormatMeasure is a value of a measure with its unit, which is one of package measure's or the user's own.
func FormatMeasure(x float64, symbol string) string {
	switch symbol {
	case "ms":
		return SomeMs(x) + " ms"
	case "us":
		if x == 0 {
			return "0 µs"
		}
		return Micros(x)
	case "bytes":
		if math.Abs(x) < 1<<62 {
			return FormatBytes(int64(math.Round(x)))
		}
	case "share":
		return Short(100*x) + " %"
	case "%":
		return Short(x) + " %"
	case "count":
		return Tally(x)
	}
	return strings.TrimSpace(About(x) + " " + symbol)
}

// Counted is a number with its noun.
func Counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return FormatCount(int64(n)) + " " + many
}

// Plural is a number with a noun whose plural ends in s.
func Plural(n int, noun string) string { return Counted(n, noun, noun+"s") }

// List is words as "a, b and c".
func List(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return fmt.Sprintf("%s and %s", strings.Join(words[:len(words)-1], ", "), words[len(words)-1])
}
